//! The beginning of what is long.

use crate::{ArgEntry, ArgPart};
use countersign_wire::{Segment, Shown, escape_lines, judged};

/// Bytes that are shown of one value.
const BYTES: usize = 64 * 1024;
/// Marks that are shown of one value: each is an element on the page.
const MARKS: usize = 2_000;
/// Entries that are shown of one value.
const ENTRIES: usize = 500;

/// The beginning of a text, escaped, and how many bytes are left out.
pub(super) fn beginning(text: &str) -> (Shown, u64) {
    let mut marks = 0_usize;
    let end = judged(text)
        .find(|(at, character, hostile)| {
            marks += usize::from(*hostile && *character != '\n');
            at + character.len_utf8() > BYTES || marks > MARKS
        })
        .map_or(text.len(), |(at, ..)| at);
    let left = u64::try_from(text.len() - end).unwrap_or(u64::MAX);
    (escape_lines(&text[..end]), left)
}

/// The beginning of entries, and whether something is left out.
pub(super) fn entries(entries: Vec<ArgEntry>) -> (Vec<ArgEntry>, bool) {
    let (mut bytes, mut marks) = (BYTES, MARKS);
    let mut kept = Vec::new();
    for mut entry in entries {
        if kept.len() == ENTRIES || bytes == 0 || marks == 0 {
            return (kept, true);
        }
        let name = entry
            .name
            .take()
            .map(|name| part(name, &mut bytes, &mut marks).0);
        let mut value = Vec::new();
        let mut cut = false;
        for piece in entry.value {
            if cut {
                break;
            }
            value.push(match piece {
                ArgPart::Text { text, mark } => {
                    let (text, more) = part(text, &mut bytes, &mut marks);
                    cut = more;
                    ArgPart::Text { text, mark }
                }
                hidden @ ArgPart::Hidden { .. } => {
                    marks = marks.saturating_sub(1);
                    hidden
                }
            });
        }
        kept.push(ArgEntry { name, value });
        if cut {
            return (kept, true);
        }
    }
    (kept, false)
}

fn part(shown: Shown, bytes: &mut usize, marks: &mut usize) -> (Shown, bool) {
    let mut kept = Vec::new();
    for segment in shown.0 {
        if *bytes == 0 || *marks == 0 {
            return (Shown(kept), true);
        }
        match segment {
            Segment::Text { text } if text.len() > *bytes => {
                let end = text.floor_char_boundary(*bytes);
                *bytes = 0;
                let text = text[..end].to_owned();
                kept.push(Segment::Text { text });
                return (Shown(kept), true);
            }
            Segment::Text { text } => {
                *bytes -= text.len();
                kept.push(Segment::Text { text });
            }
            mark @ Segment::Mark { .. } => {
                *marks -= 1;
                kept.push(mark);
            }
        }
    }
    (Shown(kept), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> ArgEntry {
        ArgEntry {
            name: None,
            value: vec![ArgPart::Text {
                text: escape_lines(text),
                mark: None,
            }],
        }
    }

    fn size(entries: &[ArgEntry]) -> (usize, usize) {
        let shown = entries.iter().flat_map(|entry| &entry.value);
        let shown = shown.filter_map(|part| match part {
            ArgPart::Text { text, .. } => Some(text),
            ArgPart::Hidden { .. } => None,
        });
        shown.fold((0, 0), |(bytes, marks), text| {
            let plain = text.original().unwrap_or_default();
            (bytes + plain.len(), marks + text.marks())
        })
    }

    #[test]
    fn what_is_short_is_whole_and_what_is_long_ends_at_the_limit_and_says_so() {
        let umlauts = "ü".repeat(BYTES);
        let (shown, left) = beginning(&umlauts);
        assert_eq!(
            shown.plain().len() + usize::try_from(left).unwrap_or(0),
            umlauts.len()
        );
        assert_eq!(shown.plain().len(), BYTES);
        assert_eq!(beginning("a\u{202e}b").1, 0);
        let (shown, left) = beginning(&"\u{202e}".repeat(MARKS + 5));
        assert_eq!((shown.marks(), left), (MARKS, 15));
    }

    #[test]
    fn entries_are_cut_by_bytes_by_marks_and_by_number() {
        let (kept, cut) = entries(vec![entry("a"), entry("b")]);
        assert_eq!((kept.len(), cut), (2, false));
        let (kept, cut) = entries(vec![entry(&"ü".repeat(BYTES)), entry("b")]);
        assert_eq!((size(&kept).0, cut), (BYTES, true));
        let (kept, cut) = entries(vec![entry(&"\u{202e}".repeat(MARKS + 1))]);
        assert_eq!((size(&kept).1, cut), (MARKS, true));
        let (kept, cut) = entries(vec![entry("x"); ENTRIES + 1]);
        assert_eq!((kept.len(), cut), (ENTRIES, true));
    }
}
