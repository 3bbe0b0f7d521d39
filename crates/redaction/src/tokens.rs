//! Tokens by what they begin with, as their issuers document them.
//!
//! The list of issuers was compared with the rules of gitleaks. Those are for files and want a token whole;
//! here a token that was cut or has another length is hidden too.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::Regex;

use super::lines;

/// A line each: beginnings, ` = `, and what follows them.
const TOKENS: &str = include_str!("tokens.txt");

struct Tokens {
    beginnings: AhoCorasick,
    /// What follows a beginning, by its number.
    rests: Vec<usize>,
    patterns: Vec<Regex>,
}

// The patterns are constants; a test compiles every one.
static SHAPES: LazyLock<Option<Tokens>> = LazyLock::new(|| {
    let (mut beginnings, mut rests, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
    for (words, rest) in lines(TOKENS).filter_map(|line| line.split_once(" = ")) {
        for word in words.split_whitespace() {
            beginnings.push(word);
            rests.push(patterns.len());
        }
        patterns.push(Regex::new(&format!("^{rest}")).ok()?);
    }
    let beginnings = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .match_kind(MatchKind::LeftmostLongest)
        .build(beginnings)
        .ok()?;
    Some(Tokens {
        beginnings,
        rests,
        patterns,
    })
});

/// Where a text has tokens.
pub(super) fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let Some(shapes) = &*SHAPES else {
        return found;
    };
    let mut passed = 0;
    for hit in shapes.beginnings.find_iter(text) {
        if hit.start() < passed || !begins_here(text, hit.start()) {
            continue;
        }
        let pattern = &shapes.patterns[shapes.rests[hit.pattern().as_usize()]];
        if let Some(rest) = pattern.find(&text[hit.end()..]) {
            passed = hit.end() + rest.end();
            if is_random(rest.as_str()) {
                found.push(hit.start()..passed);
            }
        }
    }
    found
}

/// Whether a token may begin here: after no letter or digit of a longer word, but after the letter of an
/// escape such as `\n`.
pub(super) fn begins_here(text: &str, at: usize) -> bool {
    match text.as_bytes()[..at] {
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., last] => !last.is_ascii_alphanumeric(),
        [] => true,
    }
}

/// Whether this is not a name of several plain words, such as `sk-folding-cube`.
fn is_random(rest: &str) -> bool {
    rest.contains(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase())
        || rest.split(['-', '_', '.']).any(|run| run.len() >= 12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_looked_for() {
        assert!(SHAPES.is_some());
    }
}
