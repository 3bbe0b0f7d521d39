//! Where in a text a secret is: shapes of known tokens, and values that follow a name of a secret.
//!
//! What surrounds a secret stays: a command with a token in it is read by whoever approves it.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use regex::Regex;

use super::commands::credentials;
use super::lines;
use super::names::{is_maybe_secret_key, is_plain_seed, is_random, is_secret_key};
use super::tokens::tokens;

/// A line each: words without which there is none, ` = `, and a shape whose group `s` is the secret: where there is a
/// group `k`, if that is the name of one; `r`, if it looks random.
const SURROUNDED: &str = include_str!("surrounded.txt");

/// Words between `Authorization:` and the secret.
const SCHEMES: &[&str] = &["apikey", "basic", "bearer", "bot", "digest", "token"];

/// Values that are never a secret.
const NOTHING: &[&str] = &["true", "false", "yes", "no", "null", "none", "undefined"];

struct Shapes {
    words: AhoCorasick,
    /// The shape of each word.
    of_word: Vec<usize>,
    shapes: Vec<(&'static str, Regex)>,
}

// The patterns are constants; a test compiles every one.
static SHAPES: LazyLock<Option<Shapes>> = LazyLock::new(|| {
    let (mut words, mut of_word, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
    for (needed, shape) in lines(SURROUNDED).filter_map(|line| line.split_once(" = ")) {
        for word in needed.split(' ') {
            words.push(word);
            of_word.push(shapes.len());
        }
        shapes.push((needed, Regex::new(shape).ok()?));
    }
    Some(Shapes {
        words: finder(&words)?,
        of_word,
        shapes,
    })
});

/// Finds any of these words in one pass, whether in capitals or not.
fn finder(words: &[&str]) -> Option<AhoCorasick> {
    AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .match_kind(MatchKind::LeftmostLongest)
        .ascii_case_insensitive(true)
        .build(words)
        .ok()
}

/// Where in a text secrets are, in bytes: in order, not empty and apart from each other.
pub fn secret_spans(text: &str) -> Vec<Range<usize>> {
    let mut found = tokens(text);
    found.extend(credentials(text));
    surrounded(text, &mut found);
    // An option that holds a secret itself, such as `-pHunter2secret`, is not the name of one.
    found.sort_unstable_by_key(|secret| secret.start);
    let known = found.clone();
    let holds_one = |option: &Range<usize>| {
        let after = known.partition_point(|secret| secret.start <= option.start);
        known
            .get(after)
            .is_some_and(|secret| secret.start < option.end)
    };
    let mut named = |name: Range<usize>, at: usize| {
        let word = &text[name.clone()];
        let is_option = word == "value" && text[..name.start].ends_with("--");
        let sure = names_secret(text, name);
        if sure || is_maybe_secret_key(word) || is_option {
            let value = value_at(text, at).filter(|at| match sure {
                true => !is_plain_seed(word, &text[at.clone()]),
                false => is_random(&text[at.clone()]),
            });
            found.extend(value);
        }
    };
    let mut keys = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'=' | b':' => {
                let Some(name) = name_before(text, at) else {
                    continue;
                };
                let rest = &text[at + 1..];
                let arrow = if byte == b'=' { '>' } else { '=' };
                let rest = rest.strip_prefix(arrow).unwrap_or(rest);
                named(name, text.len() - rest.trim_start_matches(BLANKS).len());
            }
            b'-' => {
                keys.extend(mailgun_key(text, at));
                let Some(name) = option_at(text, at) else {
                    continue;
                };
                // Where another option follows, this one is a switch.
                let rest = text[name.end..].trim_start_matches(BLANKS);
                let value = text.len() - rest.len();
                if value > name.end && option_at(text, value).is_none() && !holds_one(&name) {
                    named(name, value);
                }
            }
            _ => {}
        }
    }
    found.extend(keys);
    joined(found)
}

fn surrounded(text: &str, found: &mut Vec<Range<usize>>) {
    let Some(all) = &*SHAPES else { return };
    let mut looked_for = 0_u32;
    for hit in all.words.find_iter(text) {
        looked_for |= 1 << all.of_word[hit.pattern().as_usize()];
    }
    for (number, (needed, shape)) in all.shapes.iter().enumerate() {
        if looked_for & (1 << number) == 0 {
            continue;
        }
        let hits = shape.captures_iter(text).filter_map(|hit| {
            let named = hit
                .name("k")
                .is_none_or(|name| is_secret_key(name.as_str()));
            let random = hit.name("r").filter(|value| is_random(value.as_str()));
            hit.name("s").filter(|_| named).or(random)
        });
        let hits = hits.filter(|hit| *needed != "basic" || is_login(hit.as_str()));
        found.extend(hits.map(|hit| hit.range()));
    }
}

const BLANKS: [char; 2] = [' ', '\t'];
/// Characters of a name.
const NAME: usize = 64;

/// The name before this sign: `name=`, `"name": `, `name => `, `["name"] =`.
fn name_before(text: &str, at: usize) -> Option<Range<usize>> {
    let before = text[..at].trim_end_matches(BLANKS);
    // `os.environ['API_KEY'] = …`
    let before = before.strip_suffix(']').map_or(before, str::trim_end);
    let before = before
        .strip_suffix(['"', '\''])
        .map_or(before, |before| before.strip_suffix('\\').unwrap_or(before));
    let bytes = before.as_bytes();
    let long = bytes
        .iter()
        .rev()
        .take(NAME)
        .take_while(|byte| is_of_name(**byte) || **byte == b'.');
    let begin = bytes.len() - long.count();
    let skipped = bytes[begin..].iter().position(u8::is_ascii_alphabetic)?;
    let name = begin + skipped..bytes.len();
    (name.len() > 1).then_some(name)
}

/// The name of the option that begins here: `--name`.
fn option_at(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let first = at == 0 || bytes[at - 1].is_ascii_whitespace();
    let dashes = bytes[at..]
        .iter()
        .take(2)
        .take_while(|byte| **byte == b'-')
        .count();
    let begin = at + dashes;
    let length = bytes[begin..]
        .iter()
        .take(NAME)
        .take_while(|byte| is_of_name(**byte))
        .count();
    let named = bytes.get(begin).is_some_and(u8::is_ascii_alphabetic);
    (first && dashes > 0 && named && length > 1).then_some(begin..begin + length)
}

/// Mailgun's second form, around its first hyphen: 32, 8 and 8 hexadecimal digits.
fn mailgun_key(text: &str, at: usize) -> Option<Range<usize>> {
    let key = at.checked_sub(32)?..at + 18;
    let bytes = text.as_bytes();
    let fits = bytes
        .get(key.clone())?
        .iter()
        .enumerate()
        .all(|(place, byte)| match place {
            32 | 41 => *byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        });
    let apart = |byte: Option<&u8>| byte.is_none_or(|byte| !is_of_name(*byte));
    let alone = (key.start == 0 || apart(bytes.get(key.start - 1))) && apart(bytes.get(key.end));
    (fits && alone).then_some(key)
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Whether a text holds anything that looks like a secret.
pub fn is_secret_value(text: &str) -> bool {
    !secret_spans(text).is_empty()
}

/// Whether a name is a secret's. In a text with escapes the letter of one may precede it: `\npassword`.
fn names_secret(text: &str, at: Range<usize>) -> bool {
    let name = &text[at.clone()];
    let after_escape = text[..at.start].ends_with('\\') && name.starts_with(['n', 'r', 't']);
    is_secret_key(name) || (after_escape && is_secret_key(&name[1..]))
}

/// Whether this is base64 of `user:password`.
fn is_login(text: &str) -> bool {
    let bytes = STANDARD
        .decode(text)
        .or_else(|_| STANDARD_NO_PAD.decode(text));
    bytes.is_ok_and(|bytes| bytes.contains(&b':'))
}

/// The value that is assigned at this place.
fn value_at(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    let range = match rest.as_bytes().first()? {
        b'"' | b'\'' => quoted(rest, &rest[..1]),
        b'\\' if rest[1..].starts_with(['"', '\'']) => quoted(rest, &rest[..2]),
        b'{' | b'[' => container(rest),
        // A comparison, a path of a module, a variable.
        b'=' | b':' | b'$' => return None,
        _ => word(rest)?,
    };
    (!range.is_empty()).then(|| at + range.start..at + range.end)
}

/// The text between two quotes; to the end where the second one is missing.
pub(super) fn quoted(rest: &str, quote: &str) -> Range<usize> {
    let start = quote.len();
    let mut from = start;
    while let Some(found) = rest[from..].find(quote) {
        let end = from + found;
        // A quote after an odd number of backslashes belongs to the value; where the quotes are escaped themselves,
        // each backslash is doubled.
        let backslashes = rest[start..end]
            .bytes()
            .rev()
            .take_while(|b| *b == b'\\')
            .count();
        if (backslashes / quote.len()).is_multiple_of(2) {
            return start..end;
        }
        from = end + quote.len();
    }
    start..rest.len()
}

/// A list or an object, to its closing bracket; to the end where that is missing.
fn container(rest: &str) -> Range<usize> {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => {
                depth -= 1;
                if depth == 0 {
                    return 0..at + 1;
                }
            }
            _ => {}
        }
    }
    0..rest.len()
}

/// A word without quotes: it ends where a shell or a list ends it. None where it is a call or means nothing.
fn word(rest: &str) -> Option<Range<usize>> {
    let ends = |c: char| c.is_whitespace() || "\"'`;&|<>()\\".contains(c);
    let long = rest.find(ends).unwrap_or(rest.len());
    let word = rest[..long].trim_end_matches([',', '}', ']', '.']);
    let lower = word.to_ascii_lowercase();
    if SCHEMES.contains(&lower.as_str()) {
        let blanks = rest[long..].len() - rest[long..].trim_start_matches([' ', '\t']).len();
        let next = (blanks > 0)
            .then(|| value_at(rest, long + blanks))
            .flatten();
        return next;
    }
    let call = rest[long..].starts_with('(');
    (!call && !means_nothing(word)).then_some(0..word.len())
}

/// Whether this is not the value of a secret: nothing, or where one is read from, as OpenSSL writes it.
pub(super) fn means_nothing(value: &str) -> bool {
    NOTHING.iter().any(|word| value.eq_ignore_ascii_case(word))
        || ["env:", "file:", "fd:"]
            .iter()
            .any(|source| value.starts_with(source))
}

fn joined(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.retain(|at| !at.is_empty());
    found.sort_by_key(|at| (at.start, at.end));
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for at in found {
        match joined.last_mut() {
            Some(last) if at.start < last.end => last.end = last.end.max(at.end),
            _ => joined.push(at),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_looked_for() {
        assert!(SHAPES.is_some());
    }
}
