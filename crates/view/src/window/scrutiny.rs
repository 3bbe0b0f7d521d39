//! What the console finds in a call, and in what it differs from the right earlier one.

use std::collections::HashSet;
use std::ops::Range;

use crate::{
    ArgPart, ComparedView, DecidePath, DeniedView, DiffLine, DiffersView, FindingView, PartMark,
    ReaderMarkView,
};
use countersign_domain::haste::reading_ms;
use countersign_domain::reader::ReaderMark;
use countersign_redaction::{hides_whole, is_secret_key, leaf_text, secret_spans};
use countersign_scrutiny::{Compared, Denied, Difference, Finding, Weight};
use countersign_wire::{RequestKey, escape, escape_lines, pointer};
use serde_json::{Map, Value, json};

use super::args::{hidden_for_good, walk};
use super::edit::{diff, text_of};
use super::hidden::{escape as shown, read_plain, without_secrets};
use super::letters::between;

/// As the card lists them.
pub(super) fn finding_view(finding: &Finding) -> FindingView {
    FindingView {
        code: finding.code.as_str().to_owned(),
        weight: finding.weight,
        at: shown(&finding.at),
        message: read_plain(&finding.message),
    }
}

/// A mark of the second reader, whose words are a machine's.
pub(super) fn reader_mark((mark, edited): &(ReaderMark, bool)) -> ReaderMarkView {
    ReaderMarkView {
        at: shown(&mark.at),
        code: mark.code.clone(),
        message: read_plain(&mark.message),
        edited: *edited,
    }
}

/// The way of an approval with a finding that stops: that of high risk at least.
pub(super) fn path_with(path: DecidePath, findings: &[Finding]) -> DecidePath {
    let stops = findings.iter().any(|one| one.weight == Weight::Stop);
    if stops {
        path.max(DecidePath::High)
    } else {
        path
    }
}

/// How long it takes to read the arguments that are not the same as in the compared call, ms.
pub(super) fn read_ms(args: Option<&Value>, compared: Option<&Compared>) -> i64 {
    let characters = match (args, compared) {
        (Some(Value::Object(args)), compared) => {
            let same: HashSet<&String> = compared
                .map(|compared| same(&compared.differs, args).collect())
                .unwrap_or_default();
            let read = args.iter().filter(|(name, _)| !same.contains(name));
            let count = |(name, value): (&String, &Value)| {
                name.chars().count() + leaf_text(value).chars().count()
            };
            read.map(count).sum()
        }
        (Some(other), _) => leaf_text(other).chars().count(),
        (None, _) => 0,
    };
    reading_ms(characters)
}

/// Arguments in which nothing differs.
fn same<'a>(
    differs: &[Difference],
    args: &'a Map<String, Value>,
) -> impl Iterator<Item = &'a String> {
    let changed = differs.iter().filter_map(|one| top(&one.at));
    let changed: HashSet<String> = changed.map(str::to_owned).collect();
    args.keys()
        .filter(move |name| !changed.contains(pointer::step(name).as_ref()))
}

/// With only what differs.
pub(super) fn compared_view(
    of: &Compared,
    request: &RequestKey,
    args: &Value,
    key: &[u8; 32],
) -> ComparedView {
    let same = args
        .as_object()
        .map_or(0, |args| same(&of.differs, args).count());
    ComparedView {
        key: beside(request, &of.request_id),
        at_ms: of.at,
        by: of.by.as_deref().map(shown),
        differs: of
            .differs
            .iter()
            .map(|one| differs_view(one, key))
            .collect(),
        same: u32::try_from(same).unwrap_or(u32::MAX),
    }
}

/// The newest like call that was denied.
pub(super) fn denied_view(of: &Denied, request: &RequestKey) -> DeniedView {
    DeniedView {
        key: beside(request, &of.request_id),
        at_ms: of.at,
        by: of.by.as_deref().map(shown),
        why: of.why.as_deref().map(shown),
    }
}

/// Another request of the same agent.
fn beside(request: &RequestKey, id: &str) -> String {
    format!("{}/{}/{id}", request.workspace, request.agent)
}

fn top(pointer: &str) -> Option<&str> {
    pointer.strip_prefix('/')?.split('/').next()
}

fn differs_view(of: &Difference, key: &[u8; 32]) -> DiffersView {
    let steps: Vec<String> = of
        .at
        .split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect();
    let place = steps.iter().fold(String::new(), |place, step| {
        match (place.is_empty(), step.parse::<usize>()) {
            (true, _) => step.clone(),
            (false, Ok(_)) => format!("{place}[{step}]"),
            (false, Err(_)) => format!("{place}.{step}"),
        }
    });
    // What is inside of a secret is one as well.
    let secret = steps.iter().find(|step| is_secret_key(step));
    let name = secret.or(steps.last()).map_or("", String::as_str);
    let lines = lines(name, of, key);
    let (was, is) = match lines.is_empty() {
        true => both(name, of, key),
        false => (None, None),
    };
    DiffersView {
        place: shown(&place),
        was,
        is,
        lines,
    }
}

/// Both values of one line, with the letters in which they differ.
fn both(
    name: &str,
    of: &Difference,
    key: &[u8; 32],
) -> (Option<Vec<ArgPart>>, Option<Vec<ArgPart>>) {
    if let (Some(was), Some(is)) = (open(name, of.was.as_ref()), open(name, of.is.as_ref())) {
        let (gone, come) = between(was, is);
        return (Some(marked(was, &gone)), Some(marked(is, &come)));
    }
    let whole = |value: &Value| {
        let entries = hidden_for_good(walk(&json!({ name: value }), key));
        entries.into_iter().flat_map(|entry| entry.value).collect()
    };
    (of.was.as_ref().map(whole), of.is.as_ref().map(whole))
}

/// A text of one line without secrets.
fn open<'v>(name: &str, value: Option<&'v Value>) -> Option<&'v str> {
    let value = value?;
    let text = value.as_str()?;
    let plain = !hides_whole(Some(name), value) && secret_spans(text).is_empty();
    (plain && !text.contains('\n')).then_some(text)
}

fn marked(text: &str, letters: &[Range<usize>]) -> Vec<ArgPart> {
    let part = |range: Range<usize>, letters: bool| ArgPart::Text {
        text: escape_lines(&text[range]),
        mark: letters.then(|| PartMark {
            findings: Vec::new(),
            letters,
        }),
    };
    let (mut from, mut parts) = (0, Vec::new());
    for range in letters {
        if from < range.start {
            parts.push(part(from..range.start, false));
        }
        from = range.end;
        parts.push(part(range.clone(), true));
    }
    if from < text.len() || parts.is_empty() {
        parts.push(part(from..text.len(), false));
    }
    parts
}

/// Both line by line, where one of them has several.
fn lines(name: &str, of: &Difference, key: &[u8; 32]) -> Vec<DiffLine> {
    let text = |value: &Value| match value {
        _ if hides_whole(Some(name), value) => None,
        Value::String(text) => Some(without_secrets(text)),
        other => Some(text_of(other, key)),
    };
    let was = of.was.as_ref().and_then(text);
    let is = of.is.as_ref().and_then(text);
    match (was, is) {
        (Some(was), Some(is)) if was.contains('\n') || is.contains('\n') => diff(&was, &is, escape),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::DiffKind;
    use countersign_wire::Segment;

    fn reported(at: &str, was: Option<Value>, is: Option<Value>) -> String {
        let at = at.to_owned();
        let view = differs_view(&Difference { at, was, is }, &[1; 32]);
        let parts = |parts: Option<Vec<ArgPart>>| {
            let part = |part: ArgPart| match part {
                ArgPart::Text { text, mark } if mark.is_some() => format!("<{}>", text.plain()),
                ArgPart::Text { text, .. } => text.plain(),
                ArgPart::Hidden { characters, .. } => format!("hidden {characters}"),
            };
            parts.map_or("absent".to_owned(), |parts| {
                parts.into_iter().map(part).collect()
            })
        };
        let lines = view.lines.iter().map(|line| {
            let sign = match line.kind {
                DiffKind::Same => ' ',
                DiffKind::Old => '-',
                DiffKind::New => '+',
            };
            format!("{sign}{}", line.text.plain())
        });
        match view.lines.is_empty() {
            true => format!(
                "{}: {} -> {}",
                view.place.plain(),
                parts(view.was),
                parts(view.is)
            ),
            false => lines.collect::<Vec<_>>().join("|"),
        }
    }

    #[test]
    fn a_value_in_a_finding_is_escaped_once() {
        let view = finding_view(&Finding {
            code: countersign_scrutiny::Code::NearMiss,
            weight: Weight::Stop,
            at: "/payee".to_owned(),
            message: "Ha⟨U+202E⟩ll differs by one letter from Hall.".to_owned(),
        });
        let marks = |segment: &Segment| match segment {
            Segment::Mark { code, .. } => Some(code.clone()),
            Segment::Text { .. } => None,
        };
        let marks: Vec<_> = view.message.0.iter().filter_map(marks).collect();
        assert_eq!(marks, ["U+202E"]);
        assert_eq!(
            view.message.plain(),
            "Ha⟨U+202E⟩ll differs by one letter from Hall."
        );
    }

    #[test]
    fn what_differs_is_shown_by_letter_line_or_value_and_secrets_are_hidden() {
        let secret = "sk-abcdefghijklmnopqrstuv";
        for (at, was, is, words) in [
            (
                "/iban",
                json!("DE89 1"),
                json!("DE89 2"),
                "iban: DE89 <1> -> DE89 <2>",
            ),
            (
                "/to/0",
                json!("a@b.example"),
                json!("a@c.example"),
                "to[0]: a@<b>.example -> a@<c>.example",
            ),
            ("/a/b", json!(10), json!(100), "a.b: 10 -> 100"),
            ("/body", json!("a\nb\nc"), json!("a\nB\nc"), " a|-b|+B| c"),
            (
                "/x",
                json!("ok"),
                json!("ok\u{202e}"),
                "x: ok -> ok<⟨U+202E⟩>",
            ),
            (
                "/password/0",
                json!("one"),
                json!("other"),
                "password[0]: hidden 3 -> hidden 5",
            ),
        ] {
            assert_eq!(reported(at, Some(was), Some(is)), words);
        }
        assert_eq!(
            reported("/cc", None, Some(json!("x"))),
            "cc: absent -> \"x\""
        );
        assert_eq!(reported("/cc", Some(json!(1)), None), "cc: 1 -> absent");
        let shown = reported(
            "/note",
            Some(json!("a")),
            Some(json!(format!("key {secret}\nx"))),
        );
        assert!(!shown.contains(secret), "{shown}");
    }

    #[test]
    fn arguments_that_are_the_same_are_counted() {
        let args = json!({"a": 1, "b/c": {"d": 2}, "e": [1], "f": 0});
        let differs = |at: &str| Difference {
            at: at.to_owned(),
            was: None,
            is: Some(json!(1)),
        };
        let of = Compared {
            request_id: "r1".to_owned(),
            at: 0,
            by: None,
            differs: vec![differs("/b~1c/d"), differs("/e/0"), differs("/gone")],
        };
        let view = compared_view(&of, &"acme/bot/r2".parse().unwrap(), &args, &[1; 32]);
        assert_eq!((view.same, view.key.as_str()), (2, "acme/bot/r1"));
        // 60 characters a second, of what is not the same alone.
        let long = json!({"a": "x".repeat(9_000), "e": "y".repeat(119)});
        for (args, compared, ms) in [
            (Some(&args), Some(&of), 1_000),
            (Some(&long), None, 15_000),
            (Some(&long), Some(&of), 2_000),
            (Some(&json!("x".repeat(90))), None, 1_500),
            (None, None, 1_000),
        ] {
            assert_eq!(read_ms(args, compared), ms);
        }
    }
}
