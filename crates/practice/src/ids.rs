//! Ids that look like others.

use rand::RngExt;
use rand::rngs::StdRng;

/// With fewer characters that are drawn, an id could be that of a request.
const DRAWN: usize = 12;

/// Another id of the same shape: digits become other digits, hexadecimal letters stay hexadecimal. A short one becomes
/// longer: no request has it, now or later.
pub(crate) fn another(id: &str, rng: &mut StdRng) -> String {
    let drawn = id.chars().filter(char::is_ascii_hexdigit).count();
    let mut made: String = id.chars().map(|at| like(at, rng)).collect();
    if drawn < DRAWN {
        made.push('-');
        made.extend("0a0a0a0a0a0a".chars().map(|at| like(at, rng)));
    }
    made
}

fn like(at: char, rng: &mut StdRng) -> char {
    let first = match at {
        '0'..='9' => b'0',
        'a'..='f' => b'a',
        'A'..='F' => b'A',
        _ => return at,
    };
    let many = if first == b'0' { 10 } else { 6 };
    char::from(first + rng.random_range(0..many))
}
