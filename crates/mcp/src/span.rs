//! The span of one gated call (systems, 0.4). It decides nothing and is never waited for.

use countersign_sdk::{Decision, DecisionVerdict, Gate, GateError};
use countersign_wire::{Timestamp, TraceContext, args_digest};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;

use crate::answer;
use crate::message::Call;

/// Larger arguments are left out.
const MAX_INPUT: usize = 64 * 1024;

/// One step of a trace, sent whole at each change.
pub(crate) struct CallSpan {
    gate: Gate,
    fields: Map<String, Value>,
    /// The `traceparent` that makes this span the parent of the request.
    pub(crate) traceparent: String,
}

impl CallSpan {
    pub(crate) fn new(gate: &Gate, call: &Call) -> Self {
        let caller = call.traceparent().and_then(TraceContext::parse);
        let (trace_id, parent) = match caller {
            Some(caller) => (caller.trace_id, Some(caller.span_id)),
            None => (uuid::Uuid::new_v4().simple().to_string(), None),
        };
        let span_id = uuid::Uuid::new_v4().simple().to_string();
        let span_id = span_id.get(16..).unwrap_or_default();
        let traceparent = format!("00-{trace_id}-{span_id}-01");
        let mut fields = Map::new();
        for (name, value) in [
            ("v", json!(1)),
            ("type", json!("span")),
            ("trace_id", json!(trace_id)),
            ("span_id", json!(span_id)),
            ("parent_span_id", json!(parent)),
            ("name", json!(call.name)),
            ("kind", json!("tool")),
            ("started_at", now()),
            ("call_id", json!(call.id.to_string())),
            ("tool_name", json!(call.name)),
        ] {
            if !value.is_null() {
                fields.insert(name.to_owned(), value);
            }
        }
        let mut span = Self {
            gate: gate.clone(),
            fields,
            traceparent,
        };
        span.input(&call.arguments);
        span
    }

    pub(crate) fn waiting(&mut self, request_id: Option<&str>) {
        if let Some(id) = request_id {
            self.fields.insert("request_id".to_owned(), id.into());
        }
        self.send("waiting");
    }

    /// The call goes on, with these arguments.
    pub(crate) fn running(&mut self, decision: &Decision, arguments: &Value) {
        let id = decision.request().request_id.to_string();
        self.fields.insert("request_id".to_owned(), id.into());
        self.input(arguments);
        self.send("running");
    }

    /// The call does not run.
    pub(crate) fn answered(mut self, answer: Result<&Decision, &GateError>) {
        let status = match answer.map(Decision::verdict) {
            Ok(DecisionVerdict::Respond) => "ok",
            Ok(DecisionVerdict::Skip | DecisionVerdict::Withdrawn) => "cancelled",
            Ok(DecisionVerdict::Expired) => "timeout",
            Ok(DecisionVerdict::Rejected) | Err(_) => "error",
            Ok(_) => "denied",
        };
        if let Ok(decision) = answer {
            let id = decision.request().request_id.to_string();
            self.fields.insert("request_id".to_owned(), id.into());
        }
        if let Err(error) = answer {
            self.fields
                .insert("error".to_owned(), json!({"code": error.code()}));
        }
        self.end(status);
    }

    /// The call is over.
    pub(crate) fn ended(mut self, failed: Option<&str>) {
        match failed {
            None => self.end("ok"),
            Some(answer::CANCELLED) => self.end("cancelled"),
            Some(answer::NO_REPORT) => self.end("incomplete"),
            Some(kind) => {
                self.fields
                    .insert("error".to_owned(), json!({"type": kind}));
                self.end("error");
            }
        }
    }

    pub(crate) fn end(mut self, status: &str) {
        self.fields.insert("ended_at".to_owned(), now());
        self.send(status);
    }

    fn input(&mut self, arguments: &Value) {
        self.fields.shift_remove("input");
        if let Ok(digest) = args_digest(arguments) {
            let digest = digest.to_string();
            self.fields.insert("args_digest".to_owned(), digest.into());
            if arguments.to_string().len() <= MAX_INPUT {
                self.fields.insert("input".to_owned(), arguments.clone());
            }
        }
    }

    fn send(&mut self, status: &str) {
        self.fields.insert("status".to_owned(), status.into());
        self.gate.span(&Value::Object(self.fields.clone()));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "an agent's own clock, for display"
)]
fn now() -> Value {
    Timestamp::new(OffsetDateTime::now_utc()).to_string().into()
}
