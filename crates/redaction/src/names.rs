//! Which keys name secrets.
//!
//! Names need not be exact: a key is cut into words, however it is written.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Words that mark a key as secret when the key contains them as a word.
const SECRET_WORDS: &[&str] = &[
    "apikey",
    "auth",
    "authkey",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "creds",
    "jwt",
    "keypass",
    "mnemonic",
    "otp",
    "pass",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "pin",
    "psk",
    "pwd",
    "secret",
    "secrets",
    "seed",
    "storepass",
    "token",
    "tokens",
];

/// Ends of a word that mark it as secret: `dbpassword`, `authtoken`.
const SECRET_ENDS: &[&str] = &[
    "accesskey",
    "apikey",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "secretkey",
    "token",
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
    ("secret", "key"),
    ("session", "id"),
    ("shared", "key"),
    ("signing", "key"),
    ("ssh", "key"),
];

/// The words of a key that mean a count or a limit when they follow `token`.
const COUNT_WORDS: &[&str] = &[
    "count", "limit", "max", "min", "num", "total", "usage", "used", "budget",
];

/// The words of a key that mean a model's usage beside `tokens`, as OpenTelemetry's GenAI conventions and the
/// protocol's `usage` write it.
const USAGE_WORDS: &[&str] = &[
    "cache",
    "cached",
    "charged",
    "completion",
    "input",
    "output",
    "prompt",
    "reasoning",
];

/// Last words of a key that say where a secret is, or what it is like, and not the secret itself.
const ABOUT_WORDS: &[&str] = &[
    "dir", "endpoint", "expires", "expiry", "file", "helper", "length", "method", "mode", "name",
    "path", "policy", "ref", "stdin", "ttl", "type", "uri", "url",
];

/// A secret's name contains one of these pieces: most names need no closer look.
const STEMS: [&str; 18] = [
    "auth",
    "bearer",
    "connection",
    "cookie",
    "cred",
    "jwt",
    "key",
    "mnemonic",
    "otp",
    "pass",
    "pat",
    "pin",
    "psk",
    "pwd",
    "secret",
    "seed",
    "session",
    "token",
];

static ANY_STEM: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).build(STEMS).ok()
});

/// Whether a key's name says that its value is secret: `api_key`,
/// `clientSecret`, `X-Auth-Token`, but not `max_tokens`, `input_tokens`, `token_count`,
/// `password_file` or `keyboard`.
pub fn is_secret_key(name: &str) -> bool {
    if ANY_STEM.as_ref().is_some_and(|stems| !stems.is_match(name)) {
        return false;
    }
    let words = words(name);
    let about = words
        .last()
        .is_some_and(|last| ABOUT_WORDS.contains(&last.as_str()));
    if words.len() > 1 && (about || words[0] == "no") {
        return false;
    }
    let counts = words
        .iter()
        .any(|word| COUNT_WORDS.contains(&word.as_str()));
    let usage = words
        .iter()
        .any(|word| USAGE_WORDS.contains(&word.as_str()));
    let secret = |word: &String| match word.as_str() {
        "token" | "tokens" if counts => false,
        "tokens" if usage => false,
        word => SECRET_WORDS.contains(&word) || SECRET_ENDS.iter().any(|end| word.ends_with(end)),
    };
    // `GH_PAT` is a personal access token, `pat` alone a pattern.
    (words.len() > 1 && words.last().is_some_and(|last| last == "pat"))
        || words.iter().any(secret)
        || words
            .windows(2)
            .any(|pair| SECRET_PAIRS.contains(&(&pair[0], &pair[1])))
}

/// Whether a value under this name is secret where it looks random: `KEY`, `OPENROUTER_KEY`.
pub(super) fn is_maybe_secret_key(name: &str) -> bool {
    words(name)
        .last()
        .is_some_and(|last| last == "key" || last == "pat")
}

/// Whether a value looks random: a piece of 16 letters and digits or more that changes between small letters, capitals
/// and digits all the time. Commits, checksums, UUIDs and what an address or a digest holds do not.
pub(super) fn is_random(value: &str) -> bool {
    let digest = value.match_indices("sha").find(|(at, _)| {
        let behind = value[at + 3..].trim_start_matches(|c: char| c.is_ascii_digit());
        behind.starts_with([':', '-'])
    });
    let data = value.match_indices("data:").next();
    let end = digest.into_iter().chain(data).map(|(at, _)| at).min();
    let open = &value[..end.unwrap_or(value.len())];
    open.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|piece| {
            let class = |byte: &u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
            let pairs = || piece.as_bytes().windows(2);
            let changes = pairs().filter(|pair| class(&pair[0]) != class(&pair[1]));
            let digits = |c: char| !c.is_ascii_digit();
            let runs = piece.split(digits).filter(|run| !run.is_empty());
            let hex = [24, 32, 40, 64, 128].contains(&piece.len())
                && piece.bytes().all(|byte| byte.is_ascii_hexdigit());
            piece.len() >= 16 && !hex && runs.count() >= 2 && changes.count() * 4 >= piece.len()
        })
}

/// Whether a number under this name starts a generator of random numbers: `--seed 42`.
pub(super) fn is_plain_seed(name: &str, value: &str) -> bool {
    name.to_ascii_lowercase().ends_with("seed") && value.bytes().all(|byte| byte.is_ascii_digit())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_a_stem() {
        let pairs = SECRET_PAIRS
            .iter()
            .map(|(one, other)| format!("{one}_{other}"));
        let words = SECRET_WORDS
            .iter()
            .chain(SECRET_ENDS)
            .map(|word| (*word).to_owned());
        for name in words.chain(pairs) {
            assert!(is_secret_key(&name), "{name}");
        }
    }
}
