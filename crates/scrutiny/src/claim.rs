//! The agent says something else than the arguments.

use crate::call::Call;
use crate::cell::{Cell, What};
use crate::cells;
use crate::edit;
use crate::finding::{Code, Finding, Weight};
use crate::inner;
use crate::leaf::{Leaf, among};
use crate::role::{Role, role};
use crate::shown::shown;

/// Environments that are not the real one, with what they are called in names.
const SAFE: &str = "staging stage stg dev development test testing sandbox qa preprod";

pub(crate) fn found(call: &Call<'_>) -> Vec<Finding> {
    let explains = |leaf: &&Leaf<'_>| {
        leaf.named("description justification reason rationale explanation purpose")
    };
    let own = call.leaves.iter().filter(explains).filter_map(Leaf::text);
    let said: Vec<&str> = call.said.iter().copied().chain(own).collect();
    let found = said.iter().find_map(|said| {
        place(said, call)
            .or_else(|| reads(said, call))
            .or_else(|| sum(said, call))
            .or_else(|| comments(said, call))
    });
    let finding = |(at, message): (String, String)| Finding {
        code: Code::ClaimDiffers,
        weight: Weight::Look,
        at,
        message,
    };
    found.map(finding).into_iter().collect()
}

fn words(text: &str) -> Vec<String> {
    let words = text
        .split(|at: char| !at.is_alphanumeric() && !"-.".contains(at))
        .map(|word| word.trim_matches(['.', '-']).to_lowercase());
    words.filter(|word| !word.is_empty()).collect()
}

/// It says that it is on staging, and each place is another.
fn place(said: &str, call: &Call<'_>) -> Option<(String, String)> {
    let words = words(said);
    let past = words.iter().any(|word| {
        among(
            "tried tested ran after not like before from verified checked",
            word,
        )
    });
    let at = words.windows(3).find_map(|of| {
        let then = if of[1] == "the" || of[1] == "our" {
            &of[2]
        } else {
            &of[1]
        };
        (among("on in to against at", &of[0]) && among(SAFE, then)).then(|| then.clone())
    });
    let at = at.or_else(|| {
        words
            .windows(2)
            .find(|of| among("on in to against at", &of[0]) && among(SAFE, &of[1]))
            .map(|of| of[1].clone())
    })?;
    // "to test whether", "in test mode".
    let next = words
        .iter()
        .skip_while(|word| **word != at)
        .nth(1)
        .map(String::as_str)
        .unwrap_or_default();
    if past
        || (at.starts_with("test")
            && !next.is_empty()
            && !among("and only first then so before", next))
    {
        return None;
    }
    let places: Vec<&Leaf<'_>> = inner::values(call).filter(|leaf| matches!(role(leaf, call), Some(Role::Where(_))) && leaf.has_word("environment env context cluster database db connection stage target workspace project")).collect();
    let stem = at.get(..3).unwrap_or(&at).replace("sta", "st");
    let of = |leaf: &Leaf<'_>| leaf.text().unwrap_or_default().to_lowercase();
    let safe = |leaf: &&Leaf<'_>| {
        of(leaf)
            .split(|at: char| !at.is_alphanumeric())
            .any(|word| among(SAFE, word) || word.starts_with(&stem))
    };
    let first = places.first()?;
    let named = said.to_lowercase().contains(&of(first)) || said.to_lowercase().contains("prod");
    let graver = places
        .iter()
        .any(|leaf| crate::production::is_production(&of(leaf)));
    (!places.iter().any(safe) && !named && graver).then(|| {
        (
            first.at.clone(),
            format!(
                "The agent says {at}, and {} is {}.",
                first.name,
                shown(first.text().unwrap_or_default())
            ),
        )
    })
}

/// It says that it only reads, and the call writes or gives more.
fn reads(said: &str, call: &Call<'_>) -> Option<(String, String)> {
    let lower = said.to_lowercase();
    let only = [
        "read-only",
        "read only",
        "dry run",
        "dry-run",
        "preview only",
        "only a preview",
    ]
    .iter()
    .find(|word| lower.contains(**word))
    .copied();
    let words = words(said);
    let first = words.first().map(String::as_str).unwrap_or_default();
    let verbs = "and then remove delete update change set send restart fix clean write apply add grant move";
    let shows = among(
        "list show check read count lists shows checks reads counts look looks inspect",
        first,
    ) && !words.iter().any(|word| among(verbs, word));
    if words
        .iter()
        .any(|word| among("tried tested ran after not like instead longer more", word))
    {
        return None;
    }
    let what = only.or_else(|| shows.then_some(first))?;
    let cells = cells::of(call);
    let gives = cells.iter().find(|cell| {
        cell.has_word("permission role access scope privilege level")
            && among(
                "edit editor write writer owner admin full manage manager root",
                &cell.form,
            )
    });
    if let Some(cell) = gives.filter(|_| only.is_some_and(|word| word.starts_with("read"))) {
        return Some((
            cell.at.clone(),
            format!(
                "The agent says {what}, and {} is {}.",
                cell.name,
                shown(&cell.text)
            ),
        ));
    }
    let dry = only.is_some_and(|word| word.starts_with("dry") || word.contains("preview"));
    let off = cells
        .iter()
        .find(|cell| cell.what == What::Flag(false) && (cell.has_word("dry dryrun preview")));
    if let Some(cell) = off.filter(|_| dry) {
        return Some((
            cell.at.clone(),
            format!("The agent says {what}, and {} is false.", cell.name),
        ));
    }
    let sql = cells.iter().find(|cell| {
        let verb = cell
            .text
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_lowercase();
        crate::role::is_sql_name_of(&cell.name, &cell.words)
            && among("delete update insert drop truncate alter grant", &verb)
    });
    if let Some(cell) = sql {
        let verb = cell.text.split_whitespace().next().unwrap_or_default();
        return Some((
            cell.at.clone(),
            format!(
                "The agent says {what}, and the statement is {}.",
                shown(verb)
            ),
        ));
    }
    crate::command::scripts::scripts(call).find_map(|(_, at, script)| {
        let lines = crate::command::line::lines(script);
        let writes = lines.iter().find_map(|line| {
            let sub = line.texts().first().copied().unwrap_or_default().to_owned();
            let grave = line.is("rm mv dd truncate kill reboot shutdown chmod chown") || among("delete apply destroy drop rm push restart scale uninstall upgrade install rollout patch set", &sub);
            (grave && !crate::direction::is_dry(line)).then(|| line.shown())
        })?;
        Some((at.to_owned(), format!("The agent says {what}, and the command is {writes}.")))
    })
}

/// Its only sum is that of an argument with swapped digits, or ten or a hundred times it.
fn sum(said: &str, call: &Call<'_>) -> Option<(String, String)> {
    let number = |word: &str| {
        let word = word.trim_matches(|at: char| !at.is_ascii_digit());
        let plain = word.replace(',', "");
        (word.contains(['.', ',']) || plain.len() > 1)
            .then(|| plain.parse::<f64>().ok())
            .flatten()
            .map(|of| (word.to_owned(), of))
    };
    let money = [
        "EUR", "USD", "GBP", "SEK", "NOK", "DKK", "CHF", "PLN", "€", "$", "£",
    ];
    let tokens: Vec<&str> = said.split_whitespace().collect();
    let sums: Vec<(String, f64)> = tokens
        .iter()
        .enumerate()
        .filter(|(place, word)| {
            let beside = tokens.get(place + 1).copied().unwrap_or_default();
            let before = place.checked_sub(1).map_or("", |place| tokens[place]);
            money.iter().any(|sign| {
                word.contains(sign) || beside.trim_matches(['.', ',']) == *sign || before == *sign
            })
        })
        .filter_map(|(_, word)| number(word))
        .collect();
    let [(written, said)] = sums.as_slice() else {
        return None;
    };
    let amounts: Vec<&Cell> = cells::of(call)
        .iter()
        .filter(|cell| {
            cell.number().is_some() && cell.unit != "entries" && !cell.has_word("id year day")
        })
        .collect();
    let same = |cell: &&&Cell| cell.number().is_some_and(|of| (of - said).abs() < 0.005);
    if amounts.iter().any(|cell| same(&cell)) {
        return None;
    }
    let digits = |number: f64| {
        let mut digits: Vec<char> = format!("{number:.2}")
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        digits.sort_unstable();
        digits
    };
    let near = amounts.iter().find(|cell| {
        let of = cell.number().unwrap_or_default();
        let times = [10.0, 100.0, 0.1, 0.01]
            .iter()
            .any(|times| (of - said * times).abs() < 0.005);
        let swapped =
            format!("{of:.2}").len() == format!("{said:.2}").len() && digits(of) == digits(*said);
        times || swapped
    })?;
    Some((
        near.at.clone(),
        format!(
            "The agent says {written}, and {} is {}.",
            near.name,
            crate::written::written(near.number().unwrap_or_default(), true)
        ),
    ))
}

/// It says that only comments, spelling or formatting change, and words of code do.
fn comments(said: &str, call: &Call<'_>) -> Option<(String, String)> {
    let lower = said.to_lowercase();
    let what = [
        "comment",
        "spelling",
        "typo",
        "formatting",
        "whitespace",
        "indentation",
    ]
    .iter()
    .find(|word| lower.contains(**word))?;
    if ["also", "and fix", "and add", "and change", "as well"]
        .iter()
        .any(|more| lower.contains(more))
    {
        return None;
    }
    edit::of(call).iter().find_map(|edit| {
        let code = |lines: Vec<&str>| -> Vec<String> {
            let bare = lines.into_iter().map(|line| {
                line.split("//")
                    .next()
                    .unwrap_or_default()
                    .split(" #")
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            });
            let bare = bare.filter(|line| !line.trim_start().starts_with(['#', '*', '/']));
            bare.flat_map(|line| words(&line)).collect()
        };
        let (old, new) = (code(edit.removed()), code(edit.added()));
        // A word that is spelled otherwise is near to the old one.
        let spelled = matches!(*what, "spelling" | "typo");
        let changed: Vec<(&String, &String)> = old
            .iter()
            .zip(&new)
            .filter(|(one, other)| one != other)
            .collect();
        let far = |one: &str, other: &str| {
            !spelled
                || crate::near::distance(one, other, 2).is_none()
                || one.chars().any(|at| at.is_ascii_digit())
        };
        let differs = old.len() != new.len() || changed.iter().any(|(one, other)| far(one, other));
        let first = edit.added().first().copied().unwrap_or("a line").to_owned();
        differs.then(|| {
            (
                edit.at.to_owned(),
                format!(
                    "The agent says {what}, and code changes: {}.",
                    shown(&first)
                ),
            )
        })
    })
}
