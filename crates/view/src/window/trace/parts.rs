//! The outputs of a span, piece by piece, and references to what it keeps elsewhere.

use crate::{ArtifactView, ChainCall, PartView, ShortenedView};
use countersign_wire::{Sha256Digest, escape};
use serde_json::Value;

use super::super::args::{hidden_for_good, walk};
use super::cut::{beginning, entries};
use super::image::{bytes_of, image};

/// Pieces, artifacts and calls that are listed.
const LISTED: usize = 200;

/// The pieces of `output`; `key` is the console's own, for the digests of hidden values.
pub(super) fn parts(output: &Value, key: &[u8; 32]) -> Vec<PartView> {
    match output {
        Value::Null => Vec::new(),
        Value::String(text) => vec![text_part(text)],
        Value::Array(items) if items.iter().all(Value::is_object) => items
            .iter()
            .take(LISTED)
            .map(|item| part(item, key))
            .collect(),
        Value::Object(fields) => {
            let reference = fields.get("artifact_ref").and_then(Value::as_str);
            let mut parts = vec![value_part(output, key)];
            parts.extend(reference.map(|name| PartView::Reference { name: escape(name) }));
            parts
        }
        other => vec![value_part(other, key)],
    }
}

fn part(item: &Value, key: &[u8; 32]) -> PartView {
    if let Some(name) = item.get("artifact_ref").and_then(Value::as_str) {
        return PartView::Reference { name: escape(name) };
    }
    let (Some(mime), Some(content)) = (
        item.get("m_type").and_then(Value::as_str),
        item.get("m_content").and_then(Value::as_str),
    ) else {
        return value_part(item, key);
    };
    let wrong = |why: &str| PartView::Wrong {
        mime: escape(mime),
        why: why.to_owned(),
    };
    match mime {
        "text" | "application/json" => text_part(content),
        _ if mime.starts_with("text/") => text_part(content),
        "image" => image(content).unwrap_or_else(wrong),
        _ if mime.starts_with("image/") => image(content).unwrap_or_else(wrong),
        _ => match bytes_of(content) {
            Some(bytes) => PartView::File {
                mime: escape(mime),
                size: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
                sha256: Sha256Digest::of_bytes(&bytes)
                    .to_string()
                    .trim_start_matches("sha256:")
                    .to_owned(),
            },
            None => wrong("it is neither text nor base64"),
        },
    }
}

fn text_part(text: &str) -> PartView {
    let (shortened, rest) = match shortened(text) {
        Some((mark, rest)) => (Some(mark), rest),
        None => (None, text),
    };
    let (text, cut) = beginning(rest);
    PartView::Text {
        text,
        cut,
        shortened,
    }
}

fn value_part(value: &Value, key: &[u8; 32]) -> PartView {
    let (entries, cut) = entries(hidden_for_good(walk(value, key)));
    PartView::Value { entries, cut }
}

/// The frameworks' marks: `[compressed from N chars] `, `[truncated from N chars; compression failed] `.
fn shortened(text: &str) -> Option<(ShortenedView, &str)> {
    let count = |rest: &str, end: &str| -> Option<(u64, usize)> {
        let (number, _) = rest.split_once(end)?;
        Some((number.parse().ok()?, number.len() + end.len()))
    };
    if let Some(rest) = text.strip_prefix("[compressed from ") {
        let (from, length) = count(rest, " chars] ")?;
        return Some((ShortenedView::Compressed { from }, &rest[length..]));
    }
    let rest = text.strip_prefix("[truncated from ")?;
    let (from, length) = count(rest, " chars; compression failed] ")?;
    Some((ShortenedView::Truncated { from }, &rest[length..]))
}

/// What the span made, by what identifies it.
pub(super) fn artifacts(listed: &Value) -> Vec<ArtifactView> {
    let items = listed.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().take(LISTED).map(artifact).collect()
}

fn artifact(item: &Value) -> ArtifactView {
    let text = |name: &str| item.get(name).and_then(Value::as_str).map(escape);
    let name = text("filename").filter(|name| !name.is_empty());
    ArtifactView {
        name: name
            .or_else(|| text("url"))
            .unwrap_or_else(|| escape("without a name")),
        mime: text("mime_type"),
        role: text("role"),
        retention: text("retention"),
        url: text("url"),
        sha256: text("sha256"),
        size: item.get("size").and_then(Value::as_u64),
    }
}

/// The calls of a chain's own record (`call_trace` or `tool_calls`), in order.
pub(super) fn chain_calls(output: &Value, attributes: &Value) -> Vec<ChainCall> {
    let listed = |value: &Value| {
        ["call_trace", "tool_calls"]
            .iter()
            .find_map(|name| value.get(*name)?.as_array().cloned())
    };
    let within = output.as_array().map(Vec::as_slice).unwrap_or_default();
    let places = [output, attributes].into_iter().chain(within);
    let calls = places.filter_map(listed).next().unwrap_or_default();
    calls.iter().take(LISTED).filter_map(chain_call).collect()
}

fn chain_call(call: &Value) -> Option<ChainCall> {
    let text = |name: &str| call.get(name).and_then(Value::as_str).map(escape);
    let duration = call.get("duration_ms").and_then(Value::as_f64);
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the cast saturates, and this is for display"
    )]
    let duration_ms = duration.filter(|ms| *ms >= 0.0).map(|ms| ms as i64);
    Some(ChainCall {
        tool: text("tool")?,
        status: text("status")?,
        duration_ms,
        args_digest: text("args_digest"),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    const KEY: [u8; 32] = [7; 32];

    #[test]
    fn every_piece_is_drawn_as_what_it_is_and_a_wrong_one_says_why() {
        let output = json!([
            {"m_type": "text", "m_content": "[compressed from 9000 chars] three rows"},
            {"m_type": "text/plain", "m_content": "[truncated from 12 chars; compression failed] a"},
            {"m_type": "image/png", "m_content": "https://example.com/pixel.png"},
            {"m_type": "application/pdf", "m_content": "JVBERg=="},
            {"m_type": "application/zip", "m_content": "no base64!"},
            {"artifact_ref": "art_1"},
            {"rows": 3, "api_key": "sk-abcdefghijklmnop"},
        ]);
        let parts = parts(&output, &KEY);
        let PartView::Text {
            text,
            shortened,
            cut,
        } = &parts[0]
        else {
            panic!("{parts:?}")
        };
        assert_eq!((text.plain().as_str(), *cut), ("three rows", 0));
        assert_eq!(*shortened, Some(ShortenedView::Compressed { from: 9_000 }));
        assert!(matches!(
            &parts[1],
            PartView::Text {
                shortened: Some(ShortenedView::Truncated { from: 12 }),
                ..
            }
        ));
        assert!(
            matches!(&parts[2], PartView::Wrong { why, .. } if why == "its bytes are not base64")
        );
        let PartView::File { size, sha256, .. } = &parts[3] else {
            panic!("{parts:?}")
        };
        assert_eq!(*size, 4);
        assert!(sha256.len() == 64 && sha256.chars().all(|c| c.is_ascii_hexdigit()));
        assert!(matches!(&parts[4], PartView::Wrong { .. }));
        assert_eq!(
            parts[5],
            PartView::Reference {
                name: escape("art_1")
            }
        );
        let shown = serde_json::to_string(&parts[6]).unwrap();
        assert!(
            matches!(&parts[6], PartView::Value { cut: false, .. }) && !shown.contains("sk-abc"),
            "{shown}"
        );
    }

    #[test]
    fn a_text_that_only_looks_marked_stays_as_it_is() {
        for text in [
            "[compressed from many chars] a",
            "[compressed from 9 chars]",
            "x [compressed from 9 chars] a",
        ] {
            let PartView::Text {
                text: shown,
                shortened,
                ..
            } = text_part(text)
            else {
                panic!()
            };
            assert_eq!((shown.plain().as_str(), shortened), (text, None));
        }
    }

    #[test]
    fn a_chain_lists_its_calls_in_order_with_their_own_words() {
        let record = |tool: &str, status: &str| json!({"tool": tool, "status": status, "duration_ms": 12.7, "args_digest": "44136f"});
        let calls = json!([record("a", "ok"), record("b", "denied"), {"no": "call"}, record("c", "timeout")]);
        for (output, attributes) in [
            (json!({"call_trace": calls}), Value::Null),
            (
                json!([{"m_type": "text", "m_content": "x"}, {"tool_calls": calls}]),
                Value::Null,
            ),
            (Value::Null, json!({"call_trace": calls})),
        ] {
            let found = chain_calls(&output, &attributes);
            let words: Vec<String> = found
                .iter()
                .map(|call| format!("{} {}", call.tool.plain(), call.status.plain()))
                .collect();
            assert_eq!(words, ["a ok", "b denied", "c timeout"]);
            assert_eq!(found[0].duration_ms, Some(12));
        }
    }
}
