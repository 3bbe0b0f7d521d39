//! What an edit takes out, weakens, or lets run.

use crate::call::Call;
use crate::edit::{self, Edit};
use crate::finding::{Code, Finding, Weight};
use crate::leaf::{Leaf, among};
use crate::safeguard;
use crate::shown::shown;

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

pub(crate) fn found(call: &Call<'_>) -> Vec<Finding> {
    edit::of(call).iter().filter_map(weakened).collect()
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
        && (line.contains("return") || line.contains("throw") || line.ends_with(['{', ':']));
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
