//! Strings of a message, by their bytes.
//!
//! Raw control characters and unknown escapes are rejected, as in JSON.

use std::borrow::Cow;

use super::scan::NotJson;

/// A string that was passed.
pub(super) struct Passed<'a> {
    /// The text in UTF-8. A lone surrogate is kept as its three generalised UTF-8 bytes, so that different ones stay
    /// different.
    pub(super) decoded: Cow<'a, [u8]>,
    /// Whether an escape names half of a surrogate pair.
    pub(super) lone_surrogate: bool,
}

/// Passes the string whose opening quote is at `at`; leaves `at` behind the closing one.
pub(super) fn string<'a>(bytes: &'a [u8], at: &mut usize) -> Result<Passed<'a>, NotJson> {
    *at += 1;
    let start = *at;
    let plain = plain_run(bytes, at);
    if bytes.get(*at) == Some(&b'"') {
        *at += 1;
        return Ok(Passed {
            decoded: Cow::Borrowed(plain),
            lone_surrogate: false,
        });
    }
    let mut decoded = bytes[start..*at].to_vec();
    let mut lone_surrogate = false;
    loop {
        match bytes.get(*at) {
            Some(b'"') => {
                *at += 1;
                return Ok(Passed {
                    decoded: Cow::Owned(decoded),
                    lone_surrogate,
                });
            }
            Some(b'\\') => {
                *at += 1;
                lone_surrogate |= escape(bytes, at, &mut decoded)?;
            }
            _ => return Err(NotJson),
        }
        decoded.extend_from_slice(plain_run(bytes, at));
    }
}

fn plain_run<'a>(bytes: &'a [u8], at: &mut usize) -> &'a [u8] {
    let rest = &bytes[*at..];
    let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    let length = rest.iter().position(ends).unwrap_or(rest.len());
    *at += length;
    &rest[..length]
}

/// Decodes what follows a backslash; true when it is a lone surrogate.
fn escape(bytes: &[u8], at: &mut usize, to: &mut Vec<u8>) -> Result<bool, NotJson> {
    let letter = *bytes.get(*at).ok_or(NotJson)?;
    let plain = match letter {
        b'"' | b'\\' | b'/' => letter,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unicode(bytes, at, to),
        _ => return Err(NotJson),
    };
    to.push(plain);
    *at += 1;
    Ok(false)
}

fn unicode(bytes: &[u8], at: &mut usize, to: &mut Vec<u8>) -> Result<bool, NotJson> {
    let first = hex4(bytes, *at + 1)?;
    *at += 5;
    let mut code = first;
    if (0xd800..0xdc00).contains(&first)
        && bytes[*at..].starts_with(b"\\u")
        && let second @ 0xdc00..0xe000 = hex4(bytes, *at + 2)?
    {
        *at += 6;
        code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    }
    match char::from_u32(code) {
        Some(character) => {
            to.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            Ok(false)
        }
        None => {
            let tail = |shift: u32| 0x80 | u8::try_from((code >> shift) & 0x3f).unwrap_or_default();
            to.extend_from_slice(&[0xed, tail(6), tail(0)]);
            Ok(true)
        }
    }
}

fn hex4(bytes: &[u8], from: usize) -> Result<u32, NotJson> {
    let digits = bytes.get(from..from + 4).ok_or(NotJson)?;
    digits.iter().try_fold(0, |value, digit| {
        let digit = char::from(*digit).to_digit(16).ok_or(NotJson)?;
        Ok(value << 4 | digit)
    })
}
