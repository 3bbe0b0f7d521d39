//! Plain text that holds escaped values, read back into segments.

use super::{Segment, Shown, escape};

/// Reads a sentence around values that [`Shown::plain`] wrote: each `⟨U+202E⟩` is a mark again, so that nothing is
/// escaped twice. Everything else is as in [`escape`].
#[must_use]
pub fn read_plain(text: &str) -> Shown {
    let mut segments = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices('⟨') {
        if let Some((character, len)) = mark(&text[at..]) {
            segments.extend(escape(&text[start..at]).0);
            segments.push(Segment::mark(character));
            start = at + len;
        }
    }
    segments.extend(escape(&text[start..]).0);
    Shown(segments)
}

/// The character of the mark at the beginning of the text, and how long the mark is in bytes.
fn mark(text: &str) -> Option<(char, usize)> {
    let inner = text.strip_prefix("⟨U+")?;
    let (code, _) = inner.split_once('⟩')?;
    let character = char::from_u32(u32::from_str_radix(code, 16).ok()?)?;
    let len = "⟨U+".len() + code.len() + "⟩".len();
    Some((character, len))
}
