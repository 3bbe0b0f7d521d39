//! The letters of a value that a finding is about.

use std::ops::Range;

use countersign_scrutiny::Finding;
use similar::{ChangeTag, TextDiff};

/// Longer values are marked whole: nobody looks for letters there.
const LONGEST: usize = 20_000;
/// Words of a sentence that are looked for in a value.
const WORDS: usize = 40;
/// Fewer characters are found anywhere by chance.
const SHORTEST: usize = 5;

/// Byte ranges of the letters concerned; none where the whole value is.
pub(super) fn letters(finding: &Finding, value: &str) -> Vec<Range<usize>> {
    if value.len() > LONGEST {
        return Vec::new();
    }
    match near(&finding.message) {
        Some((new, known)) => slip(value, new, known),
        None => named(&finding.message, value).into_iter().collect(),
    }
}

/// What is nearly a known one, and the known one, as the sentence names them.
fn near(message: &str) -> Option<(&str, &str)> {
    let (both, _) = message.rsplit_once(", used in ")?;
    let (new, rest) = both.split_once(' ')?;
    let (how, known) = rest.rsplit_once(' ')?;
    (how.starts_with("is ") || how == "looks like").then_some((new, known))
}

/// Where `new` is in the value, only its letters that `known` has otherwise. A missing one marks its neighbours.
fn slip(value: &str, new: &str, known: &str) -> Vec<Range<usize>> {
    // An account may be written in groups.
    let kept: Vec<(usize, char)> = value
        .char_indices()
        .filter(|(_, letter)| !letter.is_whitespace())
        .collect();
    let wanted: Vec<char> = new.chars().collect();
    let alike = |window: &[(usize, char)]| {
        let mut pairs = window.iter().zip(&wanted);
        pairs.all(|((_, have), want)| have.to_lowercase().eq(want.to_lowercase()))
    };
    let place = (!wanted.is_empty())
        .then(|| kept.windows(wanted.len()).position(alike))
        .flatten();
    let Some(start) = place else {
        return Vec::new();
    };
    let one = |at: usize| {
        let (byte, letter) = kept[start + at];
        byte..byte + letter.len_utf8()
    };
    let letters = differing(known, new).into_iter().flatten().map(one);
    joined(letters.collect())
}

/// The letters of `new` that are not those of `old`, as ranges of characters.
fn differing(old: &str, new: &str) -> Vec<Range<usize>> {
    let (old, new) = (old.to_lowercase(), new.to_lowercase());
    let length = new.chars().count();
    let (mut at, mut found) = (0_usize, Vec::new());
    for change in TextDiff::from_chars(&old, &new).iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => at += 1,
            ChangeTag::Insert => {
                found.push(at..at + 1);
                at += 1;
            }
            ChangeTag::Delete => found.push(at.saturating_sub(1)..(at + 1).min(length)),
        }
    }
    merged(found)
}

/// In order and without overlaps; a letter that was replaced is marked alone, not with its neighbours.
fn merged(found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let replaced: Vec<Range<usize>> = found
        .iter()
        .filter(|range| range.len() == 1)
        .cloned()
        .collect();
    let mut ranges = if replaced.is_empty() { found } else { replaced };
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The longest run of the sentence's words that the value holds.
fn named(message: &str, value: &str) -> Option<Range<usize>> {
    let mut words = Vec::new();
    for word in message.split(' ').take(WORDS) {
        let from = word.as_ptr() as usize - message.as_ptr() as usize;
        words.push(from..from + word.len());
    }
    let runs = (0..words.len()).flat_map(|from| (from..words.len()).map(move |to| (from, to)));
    let found = runs.filter_map(|(from, to)| {
        let run = &message[words[from].start..words[to].end];
        let run = run.trim_matches(['.', ',', ':', ';', '"', '(', ')', '…', '“', '”']);
        let said = to > from || run.contains(|letter: char| !letter.is_lowercase());
        let place = value.find(run)?;
        (said && run.chars().count() >= SHORTEST).then(|| place..place + run.len())
    });
    let longest = found.max_by_key(Range::len)?;
    (longest.len() < value.len()).then_some(longest)
}

/// The letters in which two values of one line differ, each as byte ranges; none where nearly all do.
pub(super) fn between(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (mut gone, mut come, mut same) = (Vec::new(), Vec::new(), 0_usize);
    let (mut before, mut after) = (0, 0);
    for change in TextDiff::from_chars(old, new).iter_all_changes() {
        let length = change.value().len();
        match change.tag() {
            ChangeTag::Equal => (before, after, same) = (before + length, after + length, same + 1),
            ChangeTag::Delete => {
                gone.push(before..before + length);
                before += length;
            }
            ChangeTag::Insert => {
                come.push(after..after + length);
                after += length;
            }
        }
    }
    if same * 2 < old.chars().count().max(new.chars().count()) {
        return (Vec::new(), Vec::new());
    }
    (joined(gone), joined(come))
}

fn joined(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_scrutiny::{Code, Weight};

    fn marked(message: &str, value: &str) -> Vec<String> {
        let finding = Finding {
            code: Code::NearMiss,
            weight: Weight::Stop,
            at: "/to".to_owned(),
            message: message.to_owned(),
        };
        let found = letters(&finding, value).into_iter();
        found.map(|range| value[range].to_owned()).collect()
    }

    #[test]
    fn the_letters_concerned_are_marked_and_no_others() {
        let near = |new: &str, known: &str| {
            format!("{new} is one letter from {known}, used in 4 earlier calls.")
        };
        let host = near("nordwind-logistlk.example", "nordwind-logistik.example");
        let account = near("NL91ABNA0417164301", "NL91ABNA0417164300");
        let missing = near("nordwnd.example", "nordwind.example");
        for (message, value, letters) in [
            (
                host.as_str(),
                "Ada <ada@Nordwind-Logistlk.example>",
                vec!["l"],
            ),
            (&account, "NL91 ABNA 0417 1643 01", vec!["1"]),
            (&missing, "nordwnd.example", vec!["wn"]),
            (
                "rnodern.example looks like modern.example, used in 1 earlier call.",
                "x@rnodern.example",
                vec!["rn"],
            ),
            (
                "a hidden value is one letter from a hidden value, used in 1 earlier call.",
                "abc",
                vec![],
            ),
            (
                "The command removes a folder with everything in it: rm -rf \"$X\".",
                "cd /srv && rm -rf \"$X\"; ls",
                vec!["rm -rf \"$X"],
            ),
            (
                "The SQL drops order_events_v1.",
                "CREATE t; DROP TABLE order_events_v1",
                vec!["order_events_v1"],
            ),
            ("12,490.00 EUR is 5 times the largest.", "12490", vec![]),
            (
                "/srv/* covers more than /srv/a of 2 earlier calls.",
                "/srv/*",
                vec![],
            ),
        ] {
            assert_eq!(marked(message, value), letters, "{message}");
        }
    }

    #[test]
    fn two_values_differ_in_their_letters_or_as_wholes() {
        let of = |ranges: Vec<Range<usize>>, text: &str| -> Vec<String> {
            ranges
                .into_iter()
                .map(|range| text[range].to_owned())
                .collect()
        };
        for (old, new, gone, come) in [
            ("DE89 1", "DE89 2", vec!["1"], vec!["2"]),
            ("hallberg.co", "hallberg.com", vec![], vec!["m"]),
            ("northwind", "true", vec![], vec![]),
        ] {
            let (was, is) = between(old, new);
            assert_eq!(
                (of(was, old), of(is, new)),
                (
                    gone.into_iter().map(str::to_owned).collect(),
                    come.into_iter().map(str::to_owned).collect(),
                )
            );
        }
    }
}
