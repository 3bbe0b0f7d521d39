//! Which keys name secrets.
//!
//! Refuses to ask for an exact name: a key is cut into words, however it is written.

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
    "mnemonic",
    "otp",
    "pass",
    "passcode",
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

/// The words of a key that mean a model's usage when they stand beside `tokens`, as OpenTelemetry's GenAI
/// conventions and the protocol's `usage` write it.
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

/// Whether a key's name says that its value is secret: `api_key`,
/// `clientSecret`, `X-Auth-Token`, but not `max_tokens`, `input_tokens`, `token_count` or `keyboard`.
pub fn is_secret_key(name: &str) -> bool {
    let words = words(name);
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
    words.iter().any(secret)
        || words
            .windows(2)
            .any(|pair| SECRET_PAIRS.contains(&(&pair[0], &pair[1])))
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
