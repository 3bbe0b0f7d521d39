//! Which values look like secrets, for display (the operator's desk, "Text from agents is hostile").
//!
//! Refuses to be a filter for safety: it hides values from shoulders and
//! screenshots. What runs is always the unchanged value.

use hmac::{Hmac, KeyInit as _, Mac as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use ts_rs::TS;

/// Words that mark a key as secret when they stand as a word of the key.
const SECRET_WORDS: &[&str] = &[
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "creds",
    "jwt",
    "otp",
    "passphrase",
    "passwd",
    "password",
    "pin",
    "pwd",
    "secret",
    "secrets",
    "seed",
    "token",
    "tokens",
];

/// Pairs of words that mark a key as secret together.
const SECRET_PAIRS: &[(&str, &str)] = &[
    ("access", "key"),
    ("account", "key"),
    ("api", "key"),
    ("client", "key"),
    ("connection", "string"),
    ("encryption", "key"),
    ("license", "key"),
    ("master", "key"),
    ("private", "key"),
    ("session", "id"),
    ("shared", "key"),
    ("signing", "key"),
    ("ssh", "key"),
];

/// Beginnings of tokens that are known to be secret.
const TOKEN_STARTS: &[&str] = &[
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "pk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxs-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "hf_",
    "npm_",
    "pypi-",
    "SG.",
    "shpat_",
    "dop_v1_",
    "eyJ",
    "Bearer ",
    "Basic ",
];

/// The first line of a private key in PEM, after the kind of key.
const PRIVATE_KEY_START: &str = "PRIVATE KEY-----";

/// The words of a key that mean a count or a limit when they follow `token`.
const COUNT_WORDS: &[&str] = &[
    "count", "limit", "max", "min", "num", "total", "usage", "used", "budget",
];

/// A hidden value: how long it is, and 8 hexadecimal digits which tell equal
/// values from different ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Redacted {
    /// Characters of the value.
    #[ts(type = "number")]
    pub length: usize,
    /// 8 hexadecimal digits of a digest under a key that only this console has.
    pub keyed_digest: String,
}

impl Redacted {
    /// Hides a value. `key` is secret and the console's own, so that the
    /// digits cannot be tried out elsewhere (HMAC-SHA-256, cut).
    pub fn of(value: &str, key: &[u8; 32]) -> Self {
        // A key shorter than a block is padded with zeros (RFC 2104).
        let mut block = [0; 64];
        block[..key.len()].copy_from_slice(key);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(value.as_bytes());
        let digest = mac.finalize().into_bytes();
        let keyed_digest = digest[..4]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self {
            length: value.chars().count(),
            keyed_digest,
        }
    }
}

impl std::fmt::Display for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "hidden: {} characters, {}",
            self.length, self.keyed_digest
        )
    }
}

/// Whether a key's name says that its value is secret: `api_key`,
/// `clientSecret`, `X-Auth-Token`, but not `max_tokens`, `token_count` or `keyboard`.
pub fn is_secret_key(name: &str) -> bool {
    let words = words(name);
    let counts = words
        .iter()
        .any(|word| COUNT_WORDS.contains(&word.as_str()));
    let secret = |word: &String| match word.as_str() {
        "token" | "tokens" if counts => false,
        word => SECRET_WORDS.contains(&word),
    };
    words.iter().any(secret)
        || words
            .windows(2)
            .any(|pair| SECRET_PAIRS.contains(&(&pair[0], &pair[1])))
}

/// Whether a value looks like a token: a known beginning of 12 characters or
/// more without a blank, a private key, or a password inside a URL.
pub fn is_secret_value(value: &str) -> bool {
    let known = |start: &&str| {
        let rest = value.strip_prefix(*start).unwrap_or_default();
        rest.bytes()
            .take_while(|byte| !byte.is_ascii_whitespace())
            .count()
            >= 12
    };
    value.contains(PRIVATE_KEY_START) || TOKEN_STARTS.iter().any(known) || has_url_password(value)
}

fn has_url_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority = rest
            .split(['/', '?', '#', ' ', '"', '\''])
            .next()
            .unwrap_or_default();
        authority
            .rsplit_once('@')
            .and_then(|(user, _)| user.split_once(':'))
            .is_some_and(|(_, password)| !password.is_empty())
    })
}

/// The words of a name in lower case: cut at punctuation and at a change to capitals.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower_before = false;
    for character in name.chars() {
        let cut = !character.is_alphanumeric() || (lower_before && character.is_uppercase());
        if cut && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if character.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(character.to_lowercase());
        }
        lower_before = character.is_lowercase() || character.is_ascii_digit();
    }
    words
}
