//! Plain text that holds escaped values, read back into segments.

use super::{Segment, Shown, class, escape};

/// Reads a sentence around values that [`Shown::plain`] wrote: each `⟨U+202E⟩` is a mark again, so that nothing is
/// escaped twice. Everything else is as in [`escape`].
#[must_use]
pub fn read_plain(text: &str) -> Shown {
    let mut segments = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(at) = rest[from..].find('⟨').map(|at| from + at) {
        let Some((character, len)) = mark(&rest[at..]) else {
            from = at + '⟨'.len_utf8();
            continue;
        };
        segments.extend(escape(&rest[..at]).0);
        segments.push(Segment::Mark {
            code: format!("U+{:04X}", u32::from(character)),
            name: class::name(character).map(str::to_owned),
        });
        rest = &rest[at + len..];
        from = 0;
    }
    segments.extend(escape(rest).0);
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
