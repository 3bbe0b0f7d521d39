//! Bytes as received, for the eye.

use crate::RawChunk;
use countersign_wire::{Segment, Shown, escape_lines};

/// Bytes of one part.
const PART: usize = 64 * 1024;
const HEX_LINE: usize = 32;

/// The part that begins at `offset`; none beyond the end.
pub fn raw_chunk(bytes: &[u8], offset: u64) -> Option<RawChunk> {
    let start = usize::try_from(offset)
        .ok()
        .filter(|start| *start <= bytes.len())?;
    let end = boundary(bytes, start.saturating_add(PART).min(bytes.len()), start);
    let part = &bytes[start..end];
    Some(RawChunk {
        offset,
        total: u64::try_from(bytes.len()).ok()?,
        next: (end < bytes.len())
            .then(|| u64::try_from(end).ok())
            .flatten(),
        text: shown(part),
        hex: part
            .chunks(HEX_LINE)
            .map(hex_line)
            .collect::<Vec<_>>()
            .join("\n"),
    })
}

/// Moves the end of a part back so that it cuts no character.
fn boundary(bytes: &[u8], end: usize, start: usize) -> usize {
    let inside = |at: usize| at < bytes.len() && bytes[at] & 0xc0 == 0x80;
    let back = (0..4)
        .map(|step| end - step.min(end - start))
        .find(|at| !inside(*at));
    back.filter(|at| *at > start).unwrap_or(end)
}

fn shown(bytes: &[u8]) -> Shown {
    let mut segments = Vec::new();
    for chunk in bytes.utf8_chunks() {
        segments.extend(escape_lines(chunk.valid()).0);
        segments.extend(chunk.invalid().iter().map(|byte| Segment::Mark {
            code: format!("0x{byte:02X}"),
            name: Some("byte that is not UTF-8".to_owned()),
        }));
    }
    Shown(segments)
}

fn hex_line(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn parts_join_to_the_whole_and_cut_no_character() {
        let bytes = "é".repeat(PART).into_bytes();
        let (mut offset, mut text, mut parts) = (0, String::new(), 0);
        loop {
            let chunk = raw_chunk(&bytes, offset).unwrap();
            assert_eq!(chunk.text.marks(), 0);
            text.push_str(&chunk.text.plain());
            parts += 1;
            match chunk.next {
                Some(next) => offset = next,
                None => break,
            }
        }
        assert_eq!((text.into_bytes(), parts), (bytes, 2));
        assert!(raw_chunk(b"abc", 4).is_none());
    }

    #[test]
    fn bytes_that_are_no_text_are_marked() {
        let chunk = raw_chunk(b"a\xffb\x1b", 0).unwrap();
        assert_eq!(chunk.text.plain(), "a⟨0xFF⟩b⟨U+001B⟩");
        assert_eq!(chunk.hex, "61 ff 62 1b");
    }
}
