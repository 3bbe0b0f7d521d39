//! The part of a span's payload that a line of the tree shows.

use std::collections::HashMap;
use std::ops::ControlFlow;

use countersign_domain::trace::Used;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

/// Bytes of payloads that are read for one tree.
const BYTES: usize = 64 * 1024 * 1024;
/// How the frameworks' marks of a shortened text begin, as JSON writes them.
const SHORTENED: [&str; 2] = ["\"[compressed from ", "\"[truncated from "];

/// One span's part.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Glance {
    /// What it used without its children.
    pub(crate) used: Used,
    /// The code of its error, else its type.
    pub(crate) code: Option<String>,
    /// Its output was shortened by the framework.
    pub(crate) shortened: bool,
    /// Artifacts that it names.
    pub(crate) artifacts: u32,
    /// The agent's own id of its conversation.
    pub(crate) thread: Option<String>,
}

#[derive(Deserialize)]
struct Body<'a> {
    thread_id: Option<String>,
    usage: Option<HashMap<String, Value>>,
    error: Option<Fault>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    artifacts: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Fault {
    code: Option<Value>,
    #[serde(rename = "type")]
    error_type: Option<String>,
}

impl Glance {
    /// Of a payload as received; one that is not of the shape says nothing.
    pub(crate) fn of(body: &[u8]) -> Self {
        let Ok(body) = serde_json::from_slice::<Body<'_>>(body) else {
            return Self::default();
        };
        let figures = body.usage.unwrap_or_default();
        let output = body.output.map_or("", RawValue::get);
        let artifacts = body
            .artifacts
            .and_then(|list| serde_json::from_str::<Vec<IgnoredAny>>(list.get()).ok());
        Self {
            used: Used::of(|name| figures.get(name)?.as_f64()),
            code: body
                .error
                .and_then(|fault| fault.code.as_ref().and_then(code_text).or(fault.error_type)),
            shortened: SHORTENED.iter().any(|mark| output.contains(mark)),
            artifacts: artifacts.map_or(0, |list| u32::try_from(list.len()).unwrap_or(u32::MAX)),
            thread: body.thread_id,
        }
    }
}

/// A code as text: frameworks give numbers and words.
pub(super) fn code_text(code: &Value) -> Option<String> {
    match code {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The glances of a tree, while their payloads are read.
#[derive(Debug, Default)]
pub struct Glances {
    bytes: usize,
    found: HashMap<i64, Glance>,
}

impl Glances {
    /// Takes the next payload; breaks when enough was read.
    pub fn take(&mut self, span: i64, body: &[u8]) -> ControlFlow<()> {
        self.bytes = self.bytes.saturating_add(body.len());
        if self.bytes > BYTES {
            return ControlFlow::Break(());
        }
        self.found.insert(span, Glance::of(body));
        ControlFlow::Continue(())
    }

    /// Of a span, where it was read.
    pub(super) fn of(&self, span: i64) -> Option<&Glance> {
        self.found.get(&span)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn glance(body: Value) -> Glance {
        Glance::of(&serde_json::to_vec(&body).unwrap())
    }

    #[test]
    fn figures_code_marks_and_artifacts_are_read_and_other_shapes_say_nothing() {
        let whole = glance(json!({
            "usage": {"tokens_charged": 12, "cost_usd": 0.5, "other": "x"}, "error": {"code": 502, "type": "ToolError"},
            "output": [{"m_type": "text", "m_content": "[compressed from 9000 chars] kept"}], "artifacts": [{}, {}],
            "thread_id": "ft_1",
        }));
        assert_eq!(whole.thread.as_deref(), Some("ft_1"));
        assert_eq!(whole.used.figures(), [12.0, 0.0, 0.0, 0.0, 0.5]);
        assert_eq!(
            (whole.code.as_deref(), whole.shortened, whole.artifacts),
            (Some("502"), true, 2)
        );
        let typed = glance(json!({"error": {"type": "ValueError"}}));
        assert_eq!(typed.code.as_deref(), Some("ValueError"));
        let quoted = glance(json!({"output": "the text [compressed from 9 chars] is quoted"}));
        assert!(!quoted.shortened, "a mark is at the beginning of a text");
        assert_eq!(glance(json!({"usage": 7})), Glance::default());
        assert_eq!(Glance::of(b"no json"), Glance::default());
    }

    #[test]
    fn payloads_are_read_up_to_a_limit() {
        let mut glances = Glances::default();
        let body = vec![b' '; BYTES / 2];
        assert!(glances.take(1, &body).is_continue());
        assert!(glances.take(2, &body).is_continue());
        assert!(glances.take(3, b"{}").is_break());
        assert!(glances.of(3).is_none());
    }
}
