//! Accounts.

use rand::RngExt;
use rand::rngs::StdRng;

/// Another account of the same form; an IBAN's check digits are right.
pub(super) fn other(text: &str, rng: &mut StdRng) -> Option<String> {
    // Not in the country and the check digits, and near the end: the bank stays the same.
    let digits: Vec<usize> = text
        .char_indices()
        .skip(4)
        .filter(|(_, at)| at.is_ascii_digit())
        .map(|(at, _)| at)
        .collect();
    let last = digits.get(digits.len().checked_sub(4)?..)?;
    let mut made = text.as_bytes().to_vec();
    for place in last {
        made[*place] = b'0' + (made[*place] - b'0' + rng.random_range(1..10)) % 10;
    }
    let made = String::from_utf8(made).ok()?;
    Some(with_check_digits(text, &made).unwrap_or(made))
}

/// The check digits of an IBAN (ISO 13616: modulo 97), where the account had right ones.
fn with_check_digits(was: &str, made: &str) -> Option<String> {
    (remainder(was)? == 1).then_some(())?;
    let zeros = format!("{}00{}", made.get(..2)?, made.get(4..)?);
    let check = 98 - remainder(&zeros)?;
    Some(format!("{}{check:02}{}", made.get(..2)?, made.get(4..)?))
}

fn remainder(iban: &str) -> Option<u32> {
    let plain: Vec<char> = iban.chars().filter(|at| *at != ' ').collect();
    let (head, tail) = plain.split_at_checked(4)?;
    tail.iter().chain(head).try_fold(0, |sum, at| {
        let value = at.to_digit(36)?;
        let width = if value < 10 { 10 } else { 100 };
        Some((sum * width + value) % 97)
    })
}
