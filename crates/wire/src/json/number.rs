//! Numbers of a message, by their bytes.
//!
//! A leading zero or plus and a bare point are rejected: JSON does not write them.

use super::{MAX_SAFE_INTEGER, scan::NotJson};
use crate::rejection::RejectionCode;

/// Passes the number that starts at `at`. An integer is a number written
/// without point and exponent; the others only have to be finite.
pub(super) fn number(bytes: &[u8], at: &mut usize) -> Result<Option<RejectionCode>, NotJson> {
    let start = *at;
    if bytes.get(*at) == Some(&b'-') {
        *at += 1;
    }
    let integer = match bytes.get(*at) {
        Some(b'0') => {
            *at += 1;
            &b"0"[..]
        }
        _ => digits(bytes, at)?,
    };
    let mut fractional = false;
    if bytes.get(*at) == Some(&b'.') {
        fractional = true;
        *at += 1;
        digits(bytes, at)?;
    }
    if matches!(bytes.get(*at), Some(b'e' | b'E')) {
        fractional = true;
        *at += 1;
        if matches!(bytes.get(*at), Some(b'+' | b'-')) {
            *at += 1;
        }
        digits(bytes, at)?;
    }
    if fractional {
        let text = std::str::from_utf8(&bytes[start..*at]).map_err(|_| NotJson)?;
        let value: f64 = text.parse().map_err(|_| NotJson)?;
        Ok((!value.is_finite()).then_some(RejectionCode::NonFiniteNumber))
    } else {
        Ok((!is_safe(integer)).then_some(RejectionCode::IntegerOutOfRange))
    }
}

fn digits<'a>(bytes: &'a [u8], at: &mut usize) -> Result<&'a [u8], NotJson> {
    let rest = &bytes[*at..];
    let length = rest
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(rest.len());
    *at += length;
    if length == 0 {
        Err(NotJson)
    } else {
        Ok(&rest[..length])
    }
}

fn is_safe(integer: &[u8]) -> bool {
    integer.len() <= 16
        && integer
            .iter()
            .fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))
            <= MAX_SAFE_INTEGER
}
