//! What an edit takes out, weakens, or lets run.

use crate::call::Call;
use crate::cell::Cell;
use crate::cells;
use crate::finding::{Code, Finding, Weight};
use crate::leaf::{Leaf, among};
use crate::past::Past;
use crate::safeguard;
use crate::shown::shown;

const OLD: &str = "old_string old_str old_text old before search find original";
const NEW: &str = "new_string new_str new_text new after replace replacement revised";
/// Words of a line that guards something.
const GUARDS: &str = "assert expect raise throw throws forbid forbidden unauthorized permission permissions verify validate sanitize escape \
    authenticate authorize authorized csrf require requires required lock transaction allowed isadmin is_admin can";
/// Switches that turn a check off.
const SWITCHES: [&str; 14] = [
    ".skip(",
    "@skip",
    "xfail",
    "|| true",
    "continue-on-error: true",
    "verify=False",
    "InsecureSkipVerify: true",
    "rejectUnauthorized: false",
    "PermitRootLogin yes",
    "strict: false",
    "+all",
    "--no-verify",
    "xdescribe(",
    "xit(",
];
const LIMITS: [&str; 9] = [
    "shall not exceed",
    "shall not be more",
    "prior consent",
    "prior written consent",
    "must not",
    "may not",
    "not exceed",
    "at the latest",
    "no more than",
];

/// The text that an edit replaces, and the one in its stead.
pub(crate) struct Edit<'c> {
    pub(crate) at: &'c str,
    pub(crate) path: &'c str,
    old: &'c str,
    new: &'c str,
}

impl<'c> Edit<'c> {
    fn only<'t>(these: &'t str, those: &str) -> Vec<&'t str> {
        let others: Vec<&str> = those.lines().map(str::trim).collect();
        let lines = these.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.filter(|line| !others.contains(line)).collect()
    }

    /// Lines that are gone.
    pub(crate) fn removed(&self) -> Vec<&'c str> {
        Self::only(self.old, self.new)
    }

    /// Lines that are new.
    pub(crate) fn added(&self) -> Vec<&'c str> {
        Self::only(self.new, self.old)
    }
}

/// The edits of a call.
pub(crate) fn of<'c>(call: &'c Call<'_>) -> Vec<Edit<'c>> {
    let path = call
        .leaves
        .iter()
        .find(|leaf| leaf.has_word("path file filename document"))
        .and_then(Leaf::text);
    let new = call.leaves.iter().filter(|leaf| leaf.named(NEW));
    let edit = |new: &'c Leaf<'_>| {
        let old = call
            .leaves
            .iter()
            .find(|old| old.named(OLD) && old.object == new.object)?;
        Some(Edit {
            at: &new.at,
            path: path.unwrap_or_default(),
            old: old.text()?,
            new: new.text()?,
        })
    };
    new.filter_map(edit).collect()
}

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let mut found: Vec<Finding> = of(call).iter().filter_map(weakened).collect();
    found.extend(records(call, past));
    found.extend(policy(call, past));
    found
}

fn finding(weight: Weight, at: &str, message: String) -> Option<Finding> {
    Some(Finding {
        code: Code::SafeguardOff,
        weight,
        at: at.to_owned(),
        message,
    })
}

fn is_code(line: &str) -> bool {
    let comment = [
        "//", "#", "*", "/*", "--", "<!--", "import ", "from ", "use ", "package ",
    ];
    let imports = line.contains("require(") && line.contains('=');
    !(imports || comment.iter().any(|start| line.starts_with(start)))
}

/// Words of a line, `isAdmin` as one and as two.
fn words(line: &str) -> Vec<String> {
    let parts = line
        .split(|at: char| !at.is_alphanumeric() && at != '_')
        .filter(|part| !part.is_empty());
    parts
        .flat_map(|part| {
            let snake = crate::leaf::snake(part);
            let mut all: Vec<String> = snake.split('_').map(str::to_owned).collect();
            all.push(part.to_lowercase());
            all
        })
        .collect()
}

fn guards(line: &str) -> bool {
    let denies = ["401", "403", "429"]
        .iter()
        .any(|status| line.contains(status));
    let compares = line.starts_with("if")
        && line.contains(['<', '>'])
        && (line.contains("return") || line.contains("throw") || line.ends_with('{'));
    is_code(line) && (denies || compares || words(line).iter().any(|word| among(GUARDS, word)))
}

fn weakened(edit: &Edit<'_>) -> Option<Finding> {
    let (removed, added) = (edit.removed(), edit.added());
    let prose = edit.path.is_empty()
        || !edit.path.contains(['.', '/'])
        || among(
            "md txt rst adoc docx doc odt pdf html",
            edit.path.rsplit('.').next().unwrap_or_default(),
        );
    if prose {
        let limit = |text: &str| {
            LIMITS
                .iter()
                .find(|limit| text.to_lowercase().contains(**limit))
                .copied()
        };
        let gone =
            limit(edit.old).filter(|_| limit(edit.new).is_none() && !edit.new.trim().is_empty())?;
        let from = edit
            .old
            .to_lowercase()
            .find(gone)
            .and_then(|at| edit.old.get(at..))
            .unwrap_or(edit.old);
        return finding(
            Weight::Look,
            edit.at,
            format!(
                "The edit takes out a limit: {}.",
                shown(from.trim_end_matches('.'))
            ),
        );
    }
    let switched = added
        .iter()
        .filter(|line| is_code(line) || line.starts_with('@'))
        .find_map(|line| {
            let switch = SWITCHES
                .iter()
                .find(|switch| line.contains(**switch) && !edit.old.contains(**switch));
            switch
                .map(|switch| switch.trim_matches(['.', '(']).to_owned())
                .or_else(|| undone(line, edit.old))
        });
    if let Some(switch) = switched.or_else(|| turned_off(&removed, &added)) {
        return finding(
            Weight::Stop,
            edit.at,
            format!("The edit switches a check off: {}.", shown(&switch)),
        );
    }
    let letters = |line: &str| -> String {
        line.chars()
            .filter(|at| !at.is_ascii_digit() && !at.is_whitespace() && *at != '.')
            .collect()
    };
    let plain = |line: &str| -> String {
        line.replace(['!', ' '], "")
            .replace("&&", "")
            .replace("||", "")
            .replace("true", "")
            .replace("false", "")
    };
    for old in removed.iter().filter(|line| guards(line)) {
        for new in &added {
            let number = |line: &str| {
                line.split(|at: char| !at.is_ascii_digit() && at != '.')
                    .filter_map(|part| part.parse::<f64>().ok())
                    .collect::<Vec<_>>()
            };
            let loose = letters(old) == letters(new)
                && number(old)
                    .iter()
                    .zip(number(new))
                    .any(|(old, new)| *old > 0.0 && (new >= old * 10.0 || new * 10.0 <= *old));
            let count = |line: &str, sign: &str| line.matches(sign).count();
            let turned = plain(old) == plain(new)
                && ["!", "&&", "||", "true", "false"]
                    .iter()
                    .any(|sign| count(old, sign) != count(new, sign));
            if loose || turned {
                return finding(
                    Weight::Look,
                    edit.at,
                    format!(
                        "The edit weakens a check: {}, before: {}.",
                        shown(new),
                        shown(old)
                    ),
                );
            }
        }
    }
    // A whole function or test that goes takes its checks along.
    let whole = removed.iter().any(|line| {
        [
            "fn ",
            "function ",
            "def ",
            "class ",
            "test(",
            "it(",
            "describe(",
        ]
        .iter()
        .any(|of| line.contains(of))
    });
    let gone = removed
        .iter()
        .find(|line| guards(line) && !line.ends_with('{'))
        .or_else(|| removed.iter().find(|line| guards(line)))?;
    let replaced = added.iter().any(|line| guards(line)) || edit.new.trim().is_empty();
    (!whole && !replaced).then(|| {
        finding(
            Weight::Look,
            edit.at,
            format!("The edit takes out a check: {}.", shown(gone)),
        )
    })?
}

/// A new name that joins a word of undoing with one of a check: `skipAuth`.
fn undone(line: &str, old: &str) -> Option<String> {
    const UNDO: &str = "skip no danger insecure disable disabled bypass ignore without";
    const CHECKS: &str = "auth authentication authorization verify verification tls ssl cert certs certificate csrf mfa signature permission permissions \
        check checks validation sandbox";
    let names = line
        .split(|at: char| !at.is_alphanumeric() && at != '_' && at != '-')
        .filter(|name| !old.contains(name));
    let joins = |name: &&str| {
        let snake = crate::leaf::snake(name);
        let words: Vec<&str> = snake.split('_').collect();
        words.len() > 1
            && among(UNDO, words[0])
            && words[1..].iter().any(|word| among(CHECKS, word))
            || words.len() > 2
                && words
                    .windows(2)
                    .any(|two| among(UNDO, two[0]) && among("invalid unsafe", two[1]))
    };
    let mut names = names.into_iter();
    names
        .find(joins)
        .filter(|_| !line.contains("false"))
        .map(str::to_owned)
}

/// A line `key value` that goes from on to off.
fn turned_off(removed: &[&str], added: &[&str]) -> Option<String> {
    let pair = |line: &str| {
        let (name, value) = line.split_once([':', '=', ' '])?;
        let value = value
            .trim()
            .trim_start_matches(['=', ':', ' '])
            .trim_end_matches([',', ';'])
            .trim_matches(['"', '\'']);
        Some((
            name.trim_matches(['"', ' ', '-']).to_owned(),
            value.to_owned(),
        ))
    };
    added.iter().find_map(|line| {
        let (name, value) = pair(line)?;
        let old = removed
            .iter()
            .filter_map(|line| pair(line))
            .find(|(of, _)| *of == name)?;
        let off = |value: &str| safeguard::is_off(&Leaf::of_line(&name, value));
        (off(&value) == Some(true) && off(&old.1) == Some(false)).then(|| (*line).to_owned())
    })
}

/// A record that loses what the last one about the same thing denied.
fn records(call: &Call<'_>, past: &Past) -> Option<Finding> {
    const DENIES: [&str; 3] = ["-all", "p=reject", "p=quarantine"];
    let has = |text: &str, part: &str| text.split([' ', ';']).any(|word| word == part);
    cells::of(call).iter().find_map(|cell| {
        let same = |of: &Cell| {
            of.place != cell.place
                && of.names()
                && cells::of(call)
                    .iter()
                    .any(|own| own.place == of.place && own.form == of.form)
        };
        let about = |of: &&Cell| of.has_word("name record host") && same(of);
        let (_, last) = past
            .column(&cell.place)
            .filter(|(row, of)| {
                past.rows()[*row].cells.iter().any(|of| about(&of))
                    && of.text.starts_with("v=")
                    && cell.text.starts_with("v=")
            })
            .last()?;
        let lost = DENIES
            .iter()
            .find(|part| has(&last.text, part) && !has(&cell.text, part))?;
        let stricter = *lost == "p=quarantine" && has(&cell.text, "p=reject");
        (!stricter).then(|| {
            finding(
                Weight::Stop,
                &cell.at,
                format!(
                    "The record loses {lost}; the last one was \"{}\".",
                    shown(&last.text)
                ),
            )
        })?
    })
}

/// An Allow that gets a pattern which the last policy of the same name did not have.
fn policy(call: &Call<'_>, past: &Past) -> Option<Finding> {
    let own = cells::of(call);
    let named = own.iter().filter(|cell| {
        cell.names() && !cell.place.contains(['»', '*']) && cell.has_word("role bucket user group")
    });
    let named: Vec<&Cell> = named.collect();
    let same = |cell: &Cell, of: &Cell| of.place == cell.place && of.form == cell.form;
    let last = past.rows().iter().rev().find(|row| {
        named
            .iter()
            .any(|cell| row.cells.iter().any(|of| same(cell, of)))
    })?;
    let grants = |cell: &&Cell| {
        let part = ["/Action", "/Resource", "/Principal"]
            .iter()
            .any(|of| cell.place.contains(of));
        cell.place.contains("Statement") && part
    };
    let known: Vec<&str> = last
        .cells
        .iter()
        .filter(grants)
        .map(|cell| cell.text.as_str())
        .collect();
    let denies = own
        .iter()
        .any(|cell| cell.place.contains("Statement") && cell.text == "Deny");
    let covered = |text: &str| {
        known.iter().any(|of| {
            *of == text
                || of
                    .strip_suffix('*')
                    .is_some_and(|start| text.starts_with(start))
        })
    };
    let new: Vec<&Cell> = own
        .iter()
        .filter(grants)
        .filter(|cell| {
            cell.text
                .strip_suffix('*')
                .is_some_and(|start| start.is_empty() || start.ends_with(':'))
                && !covered(&cell.text)
        })
        .collect();
    let (first, name) = (new.first()?, named.first()?);
    if known.is_empty() || denies {
        return None;
    }
    let list = |texts: &[&str]| {
        texts
            .iter()
            .take(3)
            .map(|text| shown(text))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let grown: Vec<&str> = new.iter().map(|cell| cell.text.as_str()).collect();
    let message = format!(
        "The policy of {} grows: {}; the last one had {}.",
        shown(&name.text),
        list(&grown),
        list(&known)
    );
    Some(Finding {
        code: Code::OpensRights,
        weight: Weight::Stop,
        at: first.at.clone(),
        message,
    })
}
