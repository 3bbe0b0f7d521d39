//! What a reader says of a card: data, of which a mark is kept where it fits.

use countersign_domain::reader::{ReaderFault, ReaderMark};
use countersign_wire::escape;
use serde_json::Value;

/// Bytes of an answer.
pub(crate) const LARGEST: usize = 64 << 10;
const MARKS: usize = 3;
const MESSAGE: usize = 200;
const OTHER: &str = "other";
const FENCE: &str = "```";

/// The marks of one card.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// At most three.
    pub marks: Vec<ReaderMark>,
    /// How many did not fit.
    pub dropped: u32,
    /// Tokens of the call, where the reader reports them.
    pub tokens: Option<u64>,
}

/// Reads `{"findings": [{"at", "code", "message"}]}`, bare or in one fence, against the arguments that were sent.
pub(crate) fn read(
    text: &str,
    args: &Value,
    knows_code: impl Fn(&str) -> bool,
) -> Result<Answer, ReaderFault> {
    if text.len() > LARGEST {
        return Err(ReaderFault::TooLarge);
    }
    let said: Value =
        serde_json::from_str(unfenced(text.trim())).map_err(|_| ReaderFault::Answer)?;
    let findings = said
        .as_object()
        .and_then(|said| said.get("findings")?.as_array());
    let mut answer = Answer::default();
    for finding in findings.ok_or(ReaderFault::Answer)? {
        match mark(finding, args, &knows_code).filter(|_| answer.marks.len() < MARKS) {
            Some(mark) => answer.marks.push(mark),
            None => answer.dropped = answer.dropped.saturating_add(1),
        }
    }
    Ok(answer)
}

/// The inside of the one fence around a text.
fn unfenced(text: &str) -> &str {
    let inside = text
        .strip_prefix(FENCE)
        .and_then(|text| text.strip_suffix(FENCE));
    let inside = inside.and_then(|inside| inside.split_once('\n'));
    inside.map_or(text, |(_, inside)| inside)
}

fn mark(finding: &Value, args: &Value, knows_code: &impl Fn(&str) -> bool) -> Option<ReaderMark> {
    let word = |name: &str| finding.get(name)?.as_str();
    let (at, code, message) = (word("at")?, word("code")?, word("message")?);
    // A card has its arguments under `args`: a pointer from there is understood too.
    let at = match args.pointer(at) {
        Some(_) => at,
        None => at.strip_prefix("/args")?,
    };
    args.pointer(at)?;
    let fits = !at.is_empty() && (code == OTHER || knows_code(code)) && !message.trim().is_empty();
    fits.then(|| ReaderMark {
        at: at.to_owned(),
        code: code.to_owned(),
        message: escape(message.trim())
            .plain()
            .chars()
            .take(MESSAGE)
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(text: &str) -> Result<Answer, ReaderFault> {
        let args = json!({"to": "x", "items": [{"n": 1}], "a/b": null, "args": {"q": 1}});
        read(text, &args, |code| code == "disagrees")
    }

    fn one(at: &str, code: &str, message: &str) -> Answer {
        of(
            &json!({"findings": [{"at": at, "code": code, "message": message, "weight": "stop"}]})
                .to_string(),
        )
        .unwrap_or_default()
    }

    #[test]
    fn a_mark_leads_to_a_value_that_was_sent_with_a_known_word() {
        for (at, kept) in [
            ("/to", "/to"),
            ("/items/0/n", "/items/0/n"),
            ("/a~1b", "/a~1b"),
            ("/args/q", "/args/q"),
            ("/args/to", "/to"),
        ] {
            let found = one(at, "other", "m");
            assert_eq!(
                (found.dropped, found.marks[0].at.as_str()),
                (0, kept),
                "{at}"
            );
        }
        for (at, code, message) in [
            ("", "other", "m"),
            ("/gone", "other", "m"),
            ("/items/1", "other", "m"),
            ("to", "other", "m"),
            ("/to", "approve", "m"),
            ("/to", "disagrees", "  "),
        ] {
            let found = one(at, code, message);
            assert_eq!((found.marks.len(), found.dropped), (0, 1), "{at:?} {code}");
        }
    }

    #[test]
    fn words_of_a_mark_are_one_escaped_line_of_200_characters() {
        let found = one("/to", "disagrees", "a\nb\u{202e}c");
        assert_eq!(found.marks[0].message, escape("a\nb\u{202e}c").plain());
        assert!(!found.marks[0].message.contains(['\n', '\u{202e}']));
        let long = one("/to", "other", &"\u{200b}".repeat(300));
        assert_eq!(long.marks[0].message.chars().count(), 200);
    }

    #[test]
    fn three_marks_are_kept_and_the_rest_is_counted() {
        let mark = json!({"at": "/to", "code": "other", "message": "m"});
        let all = of(&json!({"findings": vec![mark; 5]}).to_string()).unwrap_or_default();
        assert_eq!((all.marks.len(), all.dropped), (3, 2));
        let wrong =
            of(r#"{"findings": [1, null, {"at": 1}], "approve": true}"#).unwrap_or_default();
        assert_eq!((wrong.marks.len(), wrong.dropped), (0, 3));
    }

    #[test]
    fn an_answer_is_bare_or_in_one_fence_and_anything_else_is_none() {
        let bare = r#"{"findings": []}"#;
        for good in [
            bare.to_owned(),
            format!(" \n{bare}\n"),
            format!("```json\n{bare}\n```"),
            format!("```\n{bare}```"),
        ] {
            assert_eq!(of(&good), Ok(Answer::default()), "{good}");
        }
        for bad in [
            "",
            "fine",
            "[]",
            "{}",
            r#"{"findings": {}}"#,
            r#"{"findings": null}"#,
            "I think: {\"findings\": []}",
            "```json\n{\"findings\": []}\n``` done",
            "```json\n{\"findings\": []}\n```\n```json\n{\"findings\": []}\n```",
        ] {
            assert_eq!(of(bad), Err(ReaderFault::Answer), "{bad}");
        }
        let large = format!("{bare}{}", " ".repeat(LARGEST));
        assert_eq!(of(&large), Err(ReaderFault::TooLarge));
    }
}
