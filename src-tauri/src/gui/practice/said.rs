//! What was changed and whether it was caught, in one line.

use countersign_core::ops::practice::{Change, Outcome};
use countersign_wire::Shown;
use serde_json::Value;

use countersign_view::secrets::hiding;

/// Characters of a value.
const VALUE: usize = 60;
/// Characters of a value before what differs.
const BEFORE: usize = 12;

/// The line.
pub(super) fn words(change: Option<&Change>, outcome: Outcome) -> Shown {
    let verdict = match outcome {
        Outcome::Caught => "Practice: caught.",
        Outcome::Missed => "Practice: missed.",
        Outcome::FalseAlarm => "Practice: a false alarm.",
        Outcome::Passed => "Practice: right.",
    };
    let line = match change {
        None => format!("{verdict} Nothing was changed."),
        Some(change) => format!("{verdict} {}", changed(change)),
    };
    hiding().escape(&line)
}

fn changed(change: &Change) -> String {
    let name = change
        .at
        .rsplit('/')
        .find(|part| part.parse::<usize>().is_err());
    let name = name.unwrap_or_default();
    let text = |value: &Value| match hiding().field(name, value) {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let (kind, is) = (change.kind.words(), text(&change.is));
    match &change.was {
        None => format!("{name}: {} was added ({kind}).", excerpt(&is, 0)),
        Some(was) => {
            let was = text(was);
            let same = was
                .chars()
                .zip(is.chars())
                .take_while(|(one, other)| one == other);
            let from = same.count();
            format!(
                "{name} was {}, the card had {} ({kind}).",
                excerpt(&was, from),
                excerpt(&is, from)
            )
        }
    }
}

/// The part of a value where it differs, on one line.
fn excerpt(text: &str, differs: usize) -> String {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let many = text.chars().count();
    if many <= VALUE {
        return text;
    }
    let from = differs.saturating_sub(BEFORE).min(many - VALUE);
    let part: String = text.chars().skip(from).take(VALUE).collect();
    let (start, end) = (
        ["", "…"][usize::from(from > 0)],
        ["", "…"][usize::from(from + VALUE < many)],
    );
    format!("{start}{part}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_core::ops::practice::ChangeKind;
    use serde_json::json;

    fn said(kind: ChangeKind, at: &str, was: Option<Value>, is: Value) -> String {
        let at = at.to_owned();
        let change = Change { kind, at, was, is };
        words(Some(&change), Outcome::Missed).plain()
    }

    #[test]
    fn the_line_names_the_place_and_shows_where_the_value_differs() {
        assert_eq!(
            said(
                ChangeKind::AmountTimes10,
                "/amount",
                Some(json!(1250)),
                json!(12500)
            ),
            "Practice: missed. amount was 1250, the card had 12500 (amount × 10)."
        );
        assert_eq!(
            said(
                ChangeKind::ExtraRecipient,
                "/to/2",
                None,
                json!("ana17@gmx.example")
            ),
            "Practice: missed. to: ana17@gmx.example was added (extra recipient)."
        );
        let long = format!("cargo build {}", "--verbose ".repeat(20));
        let line = said(
            ChangeKind::DestructiveLine,
            "/command",
            Some(json!(long)),
            json!(format!("{long}&& wipe all")),
        );
        assert!(line.contains("&& wipe all (destructive line)"), "{line}");
        assert!(line.chars().count() < 220, "{line}");
        assert_eq!(
            words(None, Outcome::FalseAlarm).plain(),
            "Practice: a false alarm. Nothing was changed."
        );
    }

    #[test]
    fn hidden_characters_are_named_and_secrets_are_not_shown() {
        let line = said(
            ChangeKind::HiddenCharacter,
            "/to",
            Some(json!("ab")),
            json!("a\u{200b}b"),
        );
        assert!(line.contains("U+200B"), "{line}");
        let line = said(
            ChangeKind::OtherAccount,
            "/password",
            Some(json!("hunter2hunter2")),
            json!("hunter3hunter3"),
        );
        assert!(!line.contains("hunter"), "{line}");
    }
}
