//! A call on one line: the arguments that distinguish it from other calls of its tool.

use countersign_domain::facts::RequestSummary;
use countersign_redaction::hides_whole;
use countersign_wire::{ApprovalRequest, RequestKind, Shown};
use serde_json::Value;

use super::details::read_request;
use super::hidden::{escape, without_secrets};

/// Characters of a line of the history.
const LINE: usize = 80;
/// Characters of one argument within a line.
const VALUE: usize = 60;

/// Names of arguments that distinguish calls, the clearest first: what runs, where, for whom and how much.
const IDENTIFYING: [&str; 24] = [
    "command",
    "cmd",
    "script",
    "statement",
    "sql",
    "query",
    "path",
    "filepath",
    "filename",
    "file",
    "url",
    "to",
    "recipient",
    "recipients",
    "payee",
    "email",
    "iban",
    "account",
    "amount",
    "total",
    "price",
    "currency",
    "subject",
    "title",
];

/// Of a request of the past; none where its payload is not here or says nothing.
pub(super) fn line_summary(line: &RequestSummary) -> Option<Shown> {
    let words = request_summary(&read_request(line)?);
    (!words.is_empty()).then(|| escape(&words))
}

fn request_summary(request: &ApprovalRequest) -> String {
    let asked = match request.kind {
        RequestKind::ToolCall => None,
        RequestKind::Question => request.question.as_ref().map(|question| &question.text),
        RequestKind::Form => request.title.as_ref(),
    };
    match (&request.args, asked) {
        (_, Some(text)) => clip(&without_secrets(text), LINE),
        (Some(args), None) => call_summary(args, LINE),
        (None, None) => String::new(),
    }
}

/// Arguments on one line of at most `most` characters, the clearest first: `to: maria@acme.example, amount: 5`. Not
/// escaped; what looks like a secret is hidden.
pub(super) fn call_summary(args: &Value, most: usize) -> String {
    let Value::Object(map) = args else {
        return clip(&value_summary(None, args), most);
    };
    let mut named: Vec<(&String, &Value)> = map.iter().collect();
    // The sort is stable: the others follow as they came.
    named.sort_by_cached_key(|(name, _)| rank(name));
    let mut line = String::new();
    for (name, value) in named {
        if line.chars().count() > most {
            break;
        }
        if !line.is_empty() {
            line.push_str(", ");
        }
        line.push_str(&without_secrets(name));
        line.push_str(": ");
        line.push_str(&value_summary(Some(name), value));
    }
    clip(&line, most)
}

fn rank(name: &str) -> usize {
    let letters = name.chars().filter(|letter| !['_', '-'].contains(letter));
    let plain: String = letters.flat_map(char::to_lowercase).collect();
    let place = IDENTIFYING.iter().position(|telling| *telling == plain);
    place.unwrap_or(IDENTIFYING.len())
}

fn value_summary(name: Option<&str>, value: &Value) -> String {
    if hides_whole(name, value) {
        return "hidden".to_owned();
    }
    match value {
        Value::Array(items) if items.len() > 1 => format!("{} items", items.len()),
        Value::Object(map) => {
            let secret = map
                .iter()
                .any(|(name, value)| hides_whole(Some(name), value));
            if secret {
                format!("{} fields", map.len())
            } else {
                clip(&without_secrets(&value.to_string()), VALUE)
            }
        }
        Value::Array(items) => {
            let inner = items
                .first()
                .map(|item| value_summary(name, item))
                .unwrap_or_default();
            format!("[{inner}]")
        }
        Value::String(text) => clip(&without_secrets(text), VALUE),
        other => other.to_string(),
    }
}

/// At most so many characters, the last one an ellipsis where some were left out.
pub(super) fn clip(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn what_tells_a_call_from_others_comes_first_and_secrets_are_hidden() {
        let long = "x".repeat(200);
        for (args, line) in [
            (json!({}), String::new()),
            (
                json!({"note": "n", "to": "ada@acme.example", "amount": 12}),
                "to: ada@acme.example, amount: 12, note: n".into(),
            ),
            (
                json!({"currency": "EUR", "amount": 1.5, "recipient": "bea"}),
                "recipient: bea, amount: 1.5, currency: EUR".into(),
            ),
            (
                json!({"mode": "w", "filePath": "/etc/hosts"}),
                "filePath: /etc/hosts, mode: w".into(),
            ),
            (
                json!({"timeout": 5, "file_path": "/a"}),
                "file_path: /a, timeout: 5".into(),
            ),
            (
                json!({"cwd": "/srv", "command": "git push --force"}),
                "command: git push --force, cwd: /srv".into(),
            ),
            (
                json!({"db": "prod", "statement": "DROP TABLE x"}),
                "statement: DROP TABLE x, db: prod".into(),
            ),
            (
                json!({"b": 1, "a": true, "c": null}),
                "b: 1, a: true, c: null".into(),
            ),
            (
                json!({"ids": [1, 2, 3], "one": ["x"]}),
                "ids: 3 items, one: [x]".into(),
            ),
            (
                json!({"password": "hunter2", "to": "ada"}),
                "to: ada, password: hidden".into(),
            ),
            (
                json!({"to": {"iban": "DE1", "api_key": "sk"}}),
                "to: 2 fields".into(),
            ),
            (
                json!({"command": long}),
                format!("command: {}…", "x".repeat(59)),
            ),
            (
                json!({"b": long, "to": "ada", "c": long}),
                format!("to: ada, b: {}…, c: xx…", "x".repeat(59)),
            ),
            (json!("rm -rf /"), "rm -rf /".into()),
        ] {
            assert_eq!(call_summary(&args, LINE), line, "{args}");
        }
    }

    #[test]
    fn no_line_is_longer_and_none_shows_a_hostile_character_or_a_secret() {
        let token = "sk-live-4f9a8b7c6d5e4f3a2b1c";
        for args in [
            json!({"command": "ä".repeat(500)}),
            json!({"a": "e\u{301}\u{202e}".repeat(90), "b": 2}),
            json!({token: token, "path": format!("/tmp/{token}")}),
            json!([token]),
            json!({"a": {"b": {"c": token}}}),
        ] {
            let line = call_summary(&args, LINE);
            assert!(line.chars().count() <= LINE, "{line}");
            assert!(!line.contains("4f9a8b7c"), "{line}");
            assert!(!escape(&line).plain().contains('\u{202e}'));
        }
    }
}
