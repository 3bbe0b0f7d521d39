//! Where in a text a secret stands: shapes of known tokens, and values that follow a name of a secret.
//!
//! Refuses to hide what surrounds it: a command with a token in it is read by whoever approves it.

use std::ops::Range;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use regex::Regex;

use super::names::is_secret_key;

/// What may stand before a token: no letter or digit of a longer word, or the letter of an escape such as `\n`.
const BEFORE: &str = r"(?:(?-u:\b)|_|\\[nrtbf])";

/// Shapes of tokens by their beginning, as their makers document them.
const TOKENS: &[&str] = &[
    // Seeds of nkeys.
    r"S[ACNOUX][A-Z2-7]{56}",
    // JSON Web Tokens, and whatever else is base64 of `{"`.
    r"eyJ[A-Za-z0-9_\-]{9,}(?:\.[A-Za-z0-9_\-=]*)*",
    // Amazon.
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}",
    // GitHub and GitLab.
    r"(?:gh[oprsu]_|github_pat_)[A-Za-z0-9_]{12,}",
    r"gl(?:pat|dt|rt|ptt|soat)-[A-Za-z0-9_\-]{12,}",
    // Slack.
    r"(?:xox[a-z]|xapp)-[A-Za-z0-9\-]{10,}",
    r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{12,}",
    // Models: OpenAI, Anthropic, Hugging Face.
    r"sk-[A-Za-z0-9_\-]{12,}",
    r"hf_[A-Za-z0-9]{12,}",
    // Stripe.
    r"[srp]k_(?:live|test)_[A-Za-z0-9]{8,}",
    // Google, SendGrid, Shopify, DigitalOcean, npm, PyPI.
    r"AIza[A-Za-z0-9_\-]{12,}",
    r"ya29\.[A-Za-z0-9_\-.]{12,}",
    r"SG\.[A-Za-z0-9_\-.]{12,}",
    r"(?:shpat_|shpss_|dop_v1_|doo_v1_|npm_)[A-Za-z0-9]{12,}",
    r"pypi-[A-Za-z0-9_\-]{12,}",
    // Telegram bots.
    r"[0-9]{8,10}:[A-Za-z0-9_\-]{35}",
];

/// Shapes that need what stands around them; the group is the secret.
const SURROUNDED: &[&str] = &[
    // A private key in PEM, to its last line or to the end of what there is.
    r"(?s)(?P<s>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----|\z))",
    // The password of a URL. One that holds a slash is no URL any more, but a password still; `:8080/` is a port.
    r#"://[^\s/?#"':@\[]*:(?P<s>[^\s/?#"']+)@"#,
    r#"://[^\s/?#"':@\[]*:(?P<s>[0-9]*[^\s"'/?#0-9@][^\s"'/?#@]*[/?#][^\s"']*)@"#,
    r"(?i)(?-u:\b)bearer\s+(?P<s>[A-Za-z0-9\-._~+/]{12,}=*)",
];

/// `Basic`, and what may be base64 of `user:password`.
const BASIC: &str = r"(?i)(?-u:\b)basic\s+(?P<s>[A-Za-z0-9+/]{6,}={0,2})";

/// A name and the sign after it: `name=`, `"name": `, `name: `, `name => `.
const ASSIGNED: &str =
    r#"(?P<name>[A-Za-z][A-Za-z0-9_.\-]{1,63})(?:\\?["'])?[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}"#;

/// An option of a command: `--name `.
const OPTION: &str = r"(?:^|\s)--?(?P<name>[A-Za-z][A-Za-z0-9_\-]{1,63})[ \t]+";

/// Words that stand between `Authorization:` and the secret.
const SCHEMES: &[&str] = &["basic", "bearer", "digest", "token"];

/// What is no value of a secret.
const NOTHING: &[&str] = &["true", "false", "null", "none", "undefined"];

struct Shapes {
    /// All tokens in one, then each of what is surrounded.
    shapes: Vec<Regex>,
    basic: Option<Regex>,
    names: Vec<Regex>,
}

// The patterns are constants; a test compiles every one.
static SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    let tokens = format!("{BEFORE}(?P<s>{})", TOKENS.join("|"));
    let shapes = [tokens.as_str()].into_iter().chain(SURROUNDED.to_vec());
    Shapes {
        shapes: shapes.filter_map(|shape| Regex::new(shape).ok()).collect(),
        basic: Regex::new(BASIC).ok(),
        names: [ASSIGNED, OPTION]
            .iter()
            .filter_map(|shape| Regex::new(shape).ok())
            .collect(),
    }
});

/// Where in a text secrets stand, in bytes: in order, not empty and apart from each other.
pub fn secret_spans(text: &str) -> Vec<Range<usize>> {
    let shapes = &*SHAPES;
    let mut found = Vec::new();
    let in_group = |shape: &Regex, found: &mut Vec<Range<usize>>| {
        let captures = shape.captures_iter(text);
        found.extend(captures.filter_map(|hit| hit.name("s").map(|secret| secret.range())));
    };
    for shape in &shapes.shapes {
        in_group(shape, &mut found);
    }
    if let Some(basic) = &shapes.basic {
        let mut maybe = Vec::new();
        in_group(basic, &mut maybe);
        found.extend(maybe.into_iter().filter(|at| is_login(&text[at.clone()])));
    }
    for shape in &shapes.names {
        for hit in shape.captures_iter(text) {
            let (Some(whole), Some(name)) = (hit.get(0), hit.name("name")) else {
                continue;
            };
            if names_secret(text, name.range()) {
                found.extend(value_at(text, whole.end()));
            }
        }
    }
    joined(found)
}

/// Whether a text holds anything that looks like a secret.
pub fn is_secret_value(text: &str) -> bool {
    !secret_spans(text).is_empty()
}

/// Whether a name is a secret's. In a text with escapes the letter of one may stand before it: `\npassword`.
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

/// What stands between two quotes; to the end where the second one is missing.
fn quoted(rest: &str, quote: &str) -> Range<usize> {
    let start = quote.len();
    let mut from = start;
    while let Some(found) = rest[from..].find(quote) {
        let end = from + found;
        // A quote after an odd number of backslashes belongs to the value; where the quotes are escaped
        // themselves, each of those stands twice.
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
    (!call && !NOTHING.contains(&lower.as_str())).then_some(0..word.len())
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
        assert_eq!(SHAPES.shapes.len(), 1 + SURROUNDED.len());
        assert!(SHAPES.basic.is_some());
        assert_eq!(SHAPES.names.len(), 2);
    }
}
