//! Reasons to look twice at a card.

use crate::WarningView;
use countersign_domain::cautions::outside_skill;
use countersign_domain::{CallWarning, Timestamp};
use countersign_wire::{ApprovalRequest, warnings};
use serde_json::Value;

use super::details::CardDetails;
use super::hidden::escape;

/// Warnings of one card at most; the rest is counted.
const MOST: usize = 40;

/// Everything that is suspicious about a request, arguments first.
pub(crate) fn card_warnings(story: &CardDetails, now: Timestamp) -> Vec<WarningView> {
    let request = &story.request;
    let mut found = Vec::new();
    if let Some(args) = &request.args {
        in_value("", args, &mut found);
        for warning in found
            .iter_mut()
            .filter(|warning| warning.code == "hidden_characters")
        {
            warning
                .message
                .0
                .extend(escape(" Reveal it (V) before you approve.").0);
        }
    }
    for (place, words) in words_of(request) {
        in_text(place, words, &mut found);
    }
    let asked_ms_ago = now.since_ms(Timestamp(story.line.stored_at));
    for caution in &story.cautions {
        let (place, message) = caution.words(asked_ms_ago);
        let mut warning = view(caution.code(), place, &message);
        match caution {
            // The card has a line for it.
            CallWarning::ReAsk { .. } => continue,
            CallWarning::DeniedBefore { request, .. } => warning.request = Some(request.clone()),
            _ => {}
        }
        found.push(warning);
    }
    let others = [
        (
            request.args_raw.is_some(),
            "args_raw",
            "The arguments",
            "differ in their bytes from the text that the model wrote; look at the bytes as received (I).",
        ),
        (
            story
                .decision
                .as_ref()
                .is_some_and(|decision| decision.fault.is_some()),
            "void",
            "The stored decision",
            "does not verify. The agent denies.",
        ),
    ];
    let others = others.into_iter().filter(|(holds, ..)| *holds);
    found.extend(others.map(|(_, code, place, message)| view(code, place, message)));
    let more = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    if more > 0 {
        found.push(view(
            "more",
            &more.to_string(),
            "more warnings of these kinds.",
        ));
    }
    found
}

/// Whether the card of a request has a warning of weight, as far as its own bytes show.
pub(super) fn is_warned(request: &ApprovalRequest) -> bool {
    let suspect = |text: &str| !warnings(text).is_empty();
    request.args_raw.is_some()
        || outside_skill(request).is_some_and(|caution| caution.has_weight())
        || words_of(request).any(|(_, words)| suspect(words))
        || request
            .args
            .as_ref()
            .is_some_and(|args| holds(args, suspect))
}

fn holds(value: &Value, suspect: impl Fn(&str) -> bool + Copy) -> bool {
    match value {
        Value::String(text) => suspect(text),
        Value::Array(items) => items.iter().any(|item| holds(item, suspect)),
        Value::Object(map) => map
            .iter()
            .any(|(name, item)| suspect(name) || holds(item, suspect)),
        _ => false,
    }
}

fn words_of(request: &ApprovalRequest) -> impl Iterator<Item = (&'static str, &str)> {
    let tool = request.tool.as_ref();
    let confirm = request.confirm.as_ref();
    [
        ("The tool's name", tool.map(|tool| &tool.name)),
        (
            "The tool's description",
            tool.and_then(|tool| tool.description.as_ref()),
        ),
        ("The agent's title", request.title.as_ref()),
        ("The agent's reason", request.reason.as_ref()),
        ("The agent's preview", request.preview.as_ref()),
        (
            "The agent's explanation",
            confirm.and_then(|confirm| confirm.explanation.as_ref()),
        ),
        (
            "The question",
            request.question.as_ref().map(|question| &question.text),
        ),
    ]
    .into_iter()
    .filter_map(|(place, words)| words.map(|words| (place, words.as_str())))
}

fn in_value(place: &str, value: &Value, found: &mut Vec<WarningView>) {
    match value {
        Value::String(text) => in_text(
            if place.is_empty() {
                "The arguments"
            } else {
                place
            },
            text,
            found,
        ),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                in_value(&format!("{place}[{at}]"), item, found);
            }
        }
        Value::Object(map) => {
            for (name, item) in map {
                let inner = if place.is_empty() {
                    name.clone()
                } else {
                    format!("{place}.{name}")
                };
                in_text(&format!("The name {inner}"), name, found);
                in_value(&inner, item, found);
            }
        }
        _ => {}
    }
}

fn in_text(place: &str, text: &str, found: &mut Vec<WarningView>) {
    for warning in warnings(text) {
        found.push(view(warning.code(), place, &warning.words()));
    }
}

fn view(code: &str, place: &str, message: &str) -> WarningView {
    WarningView {
        code: code.to_owned(),
        place: escape(place),
        message: escape(message),
        request: None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_is_marked_for_what_its_card_warns_of_wherever_that_is() {
        let hidden = "a\u{202e}b";
        let table = [
            (json!({}), false),
            (json!({"reason": "fine", "title": "fine"}), false),
            (json!({"reason": "fine", "title": hidden}), true),
            (json!({"reason": "fine", "preview": hidden}), true),
            (json!({"confirm": {"explanation": hidden}}), true),
            (
                json!({"tool": {"name": "pay", "description": hidden}}),
                true,
            ),
            (json!({"tool": {"name": hidden}}), true),
            (json!({"args": {"to": ["x", {"y": hidden}]}}), true),
            (json!({"args": {hidden: 1}}), true),
            (json!({"args_raw": "{ }"}), true),
            (json!({"skill": {"allowed_tools": ["read"]}}), true),
            (json!({"skill": {"allowed_tools": ["pay"]}}), false),
        ];
        for (more, warned) in table {
            let mut request = json!({
                "v": 1, "kind": "tool_call", "request_id": "r1", "workspace": "acme", "agent": {"name": "bot"},
                "tool": {"name": "pay"}, "args": {}, "risk": "low", "allowed_verdicts": [],
                "args_digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
                "requested_at": "2026-11-21T12:00:00.000Z",
            });
            let fields = request.as_object_mut().unwrap();
            fields.extend(more.as_object().unwrap().clone());
            let digest = countersign_wire::args_digest(&fields["args"]).unwrap();
            fields.insert("args_digest".to_owned(), json!(digest.to_string()));
            let request: ApprovalRequest = serde_json::from_value(request).unwrap();
            assert_eq!(is_warned(&request), warned, "{more}");
        }
    }
}
