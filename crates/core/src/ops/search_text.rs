//! The words by which a request is found: tool, arguments, the agent's words, messages, and the operator's message to
//! the agent.
//!
//! What looks like a secret is left out, and the number of words is limited.

use countersign_redaction::{is_secret_key, secret_spans};
use countersign_wire::request_fields;
use serde_json::Value;

use crate::domain::search::{is_unspaced_word, plain_words};

/// Bytes of a request's words, before those without blanks are cut into pairs.
const LONGEST: usize = 8 * 1024;
/// Bytes of the words of a decision's message, beside those.
const LONGEST_MESSAGE: usize = 2 * 1024;
/// Characters of a word: what is longer is data, such as a picture.
const WORD: usize = 64;

/// The words of a request as received, and of the message of its decision.
pub(super) fn of_request(raw: &[u8], message: Option<&str>) -> String {
    let mut words = Words::new(LONGEST);
    if let Some(request) = request_fields(raw) {
        words.request(&request);
    }
    let mut hay = words.text;
    if let Some(message) = message {
        add_message(&mut hay, message);
    }
    hay
}

/// Adds the words of a message that came later; false when they are there already.
pub(super) fn add_message(hay: &mut String, message: &str) -> bool {
    let mut words = Words::new(LONGEST_MESSAGE);
    words.prose(message);
    if words.text.is_empty() || hay.ends_with(&words.text) {
        return false;
    }
    if !hay.is_empty() {
        hay.push(' ');
    }
    hay.push_str(&words.text);
    true
}

/// Bytes of one text that are looked at.
const LOOKED_AT: usize = 32 * 1024;

struct Words {
    text: String,
    /// Bytes that there is room for.
    room: usize,
}

impl Words {
    fn new(room: usize) -> Self {
        Self {
            text: String::new(),
            room,
        }
    }

    fn request(&mut self, request: &Value) {
        let tool = &request["tool"];
        for field in [&tool["name"], &request["title"], &request["reason"]] {
            self.value(None, field);
        }
        self.value(None, &request["args"]);
        let confirm = &request["confirm"];
        for field in ["explanation", "command"] {
            self.value(None, &confirm[field]);
        }
        self.value(None, &request["preview"]);
        let question = &request["question"];
        for field in ["text", "context"] {
            self.value(None, &question[field]);
        }
        for option in items(&question["options"]) {
            self.value(None, &option["label"]);
            self.value(None, &option["description"]);
        }
        // What was said last led here.
        for said in items(&request["history"]).iter().rev() {
            self.value(None, &said["content"]);
        }
    }

    /// A value under a name, with the names inside it.
    fn value(&mut self, name: Option<&str>, value: &Value) {
        if name.is_some_and(is_secret_key) {
            return;
        }
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => self.word(&number.to_string()),
            Value::String(text) => self.prose(text),
            Value::Array(items) => items.iter().for_each(|item| self.value(name, item)),
            Value::Object(map) => {
                for (name, value) in map {
                    self.word(name);
                    self.value(Some(name), value);
                }
            }
        }
    }

    /// Free text, without the secrets in it. Beside what the screens hide, whatever follows a secret's name is left out
    /// (`--token …`, `password: …`), however short it is.
    fn prose(&mut self, text: &str) {
        let text = beginning(text, LOOKED_AT);
        let mut place = 0;
        for secret in secret_spans(text) {
            self.pieces(text.get(place..secret.start).unwrap_or_default());
            place = secret.end;
        }
        self.pieces(text.get(place..).unwrap_or_default());
    }

    fn pieces(&mut self, text: &str) {
        // Of a private key nothing after its beginning is a word.
        let text = text.split("-----BEGIN").next().unwrap_or_default();
        let mut names_a_secret = false;
        let apart = |c: char| c.is_whitespace() || ",;&?{}[]()|".contains(c);
        for piece in text.split(apart).filter(|piece| !piece.is_empty()) {
            if names_a_secret {
                // `Authorization: Bearer …`: the scheme is not the secret yet.
                names_a_secret = is_scheme(piece);
                continue;
            }
            names_a_secret = self.piece(piece);
        }
    }

    /// A piece without a blank; true when it says that a secret follows.
    fn piece(&mut self, piece: &str) -> bool {
        if let Some((name, value)) = piece.split_once(['=', ':'])
            && is_secret_key(name)
        {
            self.word(name);
            return value.is_empty();
        }
        self.word(piece);
        is_scheme(piece) || (piece.starts_with('-') && is_secret_key(piece))
    }

    fn word(&mut self, text: &str) {
        for word in plain_words(text).split(' ') {
            // Pairs overlap: each counts as its first character.
            let bytes = match word.chars().next() {
                Some(first) if is_unspaced_word(word) => first.len_utf8(),
                _ => word.len() + 1,
            };
            if word.is_empty() || word.chars().count() > WORD || bytes > self.room {
                continue;
            }
            self.room -= bytes;
            if !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(word);
        }
    }
}

/// As much of a text as fits into `bytes`.
fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic"]
        .iter()
        .any(|scheme| trimmed(word).eq_ignore_ascii_case(scheme))
}

fn trimmed(word: &str) -> &str {
    word.trim_matches(['"', '\'', '`', '<', '>', '.', ','])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn of(request: &Value, message: Option<&str>) -> String {
        of_request(request.to_string().as_bytes(), message)
    }

    #[test]
    fn every_part_that_a_person_remembers_is_among_the_words() {
        let request = json!({
            "tool": { "name": "send_mail", "description": "undescribed" },
            "args": { "to": "maria@acme.example", "lines": [{ "amount": 1250.5 }, "Grüße."] },
            "title": "Mailing", "reason": "because", "preview": "looks",
            "confirm": { "setup_key": "key", "explanation": "explained", "command": "rm -rf /tmp/x" },
            "question": { "text": "which?", "context": "around", "options": [{ "label": "left" }] },
            "history": [{ "role": "user", "content": "first" }, { "content": [{ "text": "second" }] }],
            "metadata": { "hidden": "elsewhere" },
        });
        let words = of(&request, Some("Not today, please."));
        assert_eq!(
            words,
            "send mail mailing because to maria acme example lines amount 1250 5 grusse explained rm rf tmp x \
             looks which around left text second first not today please"
        );
    }

    #[test]
    fn nothing_that_looks_like_a_secret_is_among_the_words() {
        let secret = "hunter2secret";
        for request in [
            json!({ "args": { "password": secret } }),
            json!({ "args": { "api_key": { "deep": [secret] } } }),
            json!({ "args": { "list": [{ "clientSecret": secret }] } }),
            json!({ "reason": format!("login with password={secret} now") }),
            json!({ "reason": format!("login with password: {secret} now") }),
            json!({ "args": { "cmd": format!("curl --token {secret} x") } }),
            json!({ "args": { "cmd": format!("curl -H 'Authorization: Bearer {secret}'") } }),
            json!({ "args": { "url": format!("https://joe:{secret}@host/x") } }),
            json!({ "args": { "url": format!("https://host/x?a=1&token={secret}&b=2") } }),
            json!({ "args": { "body": format!("{{\"user\":\"a\",\"password\":\"{secret}\"}}") } }),
            json!({ "args": { "x": format!("sk-{secret}{secret}") } }),
            json!({ "reason": format!("use \"sk-{secret}{secret}\", then go") }),
            json!({ "args": { "pem": format!("-----BEGIN PRIVATE KEY-----\n{secret}\n-----END") } }),
            json!({ "history": [{ "content": format!("my token={secret}") }] }),
            json!({ "question": { "text": format!("is {{secret: {secret}}} right?") } }),
        ] {
            assert!(!of(&request, None).contains(secret), "{request}");
        }
        assert!(
            !of(
                &json!({}),
                Some(&format!("the password is: no, token={secret}"))
            )
            .contains(secret)
        );
        // What only sounds alike stays.
        let kept = of(
            &json!({ "args": { "max_tokens": 1000, "note": "secretary came" } }),
            None,
        );
        assert_eq!(kept, "max tokens 1000 note secretary came");
    }

    #[test]
    fn what_nobody_interprets_hides_no_word() {
        let raw = br#"{"title":"found","metadata":{"s":"\ud800"},"native":{"n":1e999}}"#;
        assert_eq!(of_request(raw, None), "found");
    }

    #[test]
    fn a_message_that_comes_later_is_added_once() {
        let raw = br#"{"tool":{"name":"t"}}"#;
        let mut later = of_request(raw, None);
        assert!(add_message(&mut later, "too risky"));
        assert_eq!(later, of_request(raw, Some("too risky")));
        assert!(!add_message(&mut later, "too risky"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn the_words_are_bounded_and_none_is_endless(
            text in "\\PC{0,200}", times in 0..80_usize, long in 65..2000_usize,
        ) {
            let request = json!({
                "args": { "a": text.repeat(times), "b": "x".repeat(long) },
                "history": vec![json!({ "content": text }); times],
            });
            let words = of(&request, Some(&text.repeat(times)));
            prop_assert!(words.len() <= 3 * (LONGEST + LONGEST_MESSAGE));
            prop_assert!(words.split(' ').all(|word| word.chars().count() <= WORD));
        }

        #[test]
        fn bytes_that_are_no_request_have_no_words_and_stop_nothing(raw: Vec<u8>) {
            of_request(&raw, None);
        }
    }
}
