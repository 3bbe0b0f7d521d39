//! A value that is a known one but for one word.

use crate::call::Call;
use crate::cell::{Cell, SHORT, What};
use crate::cells;
use crate::finding::{Code, Finding, Weight};
use crate::leaf::among;
use crate::past::Past;

/// Earlier calls with the known value's place.
const ENOUGH: usize = 4;
/// Words of environment, tier and right.
const GRAVE: &str = "dev development stg stage staging prod prd production sandbox canary live test qa uat preprod admin owner write root \
    full superuser";
const REGIONS: &str = "eu us emea apac east west north south central";

pub(crate) fn found(call: &Call<'_>, past: &Past) -> Vec<Finding> {
    let cells = cells::of(call)
        .iter()
        .filter(|cell| cell.what == What::Name && cell.text.len() <= SHORT);
    let named = cells.filter(|cell| {
        !cell.place.ends_with('*') && !cell.has_word("title subject id version name date")
    });
    named.filter_map(|cell| of(cell, past)).collect()
}

/// Words of a value; what only counts is none.
fn words(text: &str) -> Vec<String> {
    let snake = crate::leaf::snake(text);
    let words = snake.split('_').filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

fn of(cell: &Cell, past: &Past) -> Option<Finding> {
    let known = past.forms(&cell.place);
    let calls: usize = known.values().sum();
    if calls < ENOUGH || known.contains_key(cell.form.as_str()) || known.len() > 3.max(calls / 3) {
        return None;
    }
    let mine = words(&cell.text);
    let counts = |word: &str| !word.contains(|at: char| at.is_ascii_digit()) && word.len() > 1;
    let mut best: Option<(Weight, usize, &str, String)> = None;
    for (form, times) in known {
        let text = past
            .column(&cell.place)
            .find(|(_, of)| of.form == *form)
            .map_or(form.as_str(), |(_, of)| of.text.as_str());
        let theirs = words(text);
        let gone: Vec<&String> = theirs.iter().filter(|word| !mine.contains(word)).collect();
        let new: Vec<&String> = mine.iter().filter(|word| !theirs.contains(word)).collect();
        // A word in which the known ones differ is a choice.
        let varies = |word: &str| {
            known.len() > 1
                && known
                    .keys()
                    .any(|other| !words(other).iter().any(|of| of == word))
        };
        let shown = past.shown(text);
        let (word, how) = match (gone.as_slice(), new.as_slice()) {
            ([gone], []) if !varies(gone) && !mine.is_empty() => {
                (*gone, format!("is {shown} without \"{gone}\""))
            }
            ([], [new]) => (*new, format!("is {shown} with \"{new}\"")),
            ([gone], [new]) if theirs.len() > 1 && !varies(gone) => {
                (*new, format!("is {shown} with \"{new}\" for \"{gone}\""))
            }
            _ => continue,
        };
        let grave = among(GRAVE, word)
            || gone
                .first()
                .is_some_and(|word| among(GRAVE, word) && !new.is_empty());
        let region = among(REGIONS, word);
        if !counts(word) || (!new.is_empty() && !grave && !region) {
            continue;
        }
        let weight = if grave { Weight::Stop } else { Weight::Look };
        if best.as_ref().is_none_or(|(_, most, ..)| times > most) {
            best = Some((weight, *times, text, how));
        }
    }
    let (weight, times, text, how) = best?;
    Some(Finding {
        code: Code::NearMiss,
        weight,
        at: cell.at.clone(),
        message: format!(
            "{} {how}; {times} of {calls} earlier calls had {}.",
            past.shown(&cell.text),
            past.shown(text)
        ),
    })
}
