//! Ids that look like others.

use rand::RngExt;
use rand::rngs::StdRng;

/// Another id of the same shape: digits become other digits, hexadecimal letters stay hexadecimal. Never the same one.
#[must_use]
pub fn another(id: &str, rng: &mut StdRng) -> String {
    let mut made: String = id.chars().map(|at| like(at, rng)).collect();
    if made == id {
        made.push(char::from(b'2' + rng.random_range(0..8)));
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
