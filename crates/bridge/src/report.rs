//! What the reporter is asked to write for a call that did not run (systems, 5.7).

use serde_json::{Map, Value, json};

use crate::command::Inbound;
use crate::store_rows::{Answer, Stored};

/// How a call ended that does not go on to its tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) status: &'static str,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) detail: Value,
    pub(crate) ends_run: bool,
}

impl Outcome {
    /// Of an answer other than an approval.
    pub(crate) fn of(answer: &Answer, request_id: &str) -> Self {
        let by = answer.by.as_deref().unwrap_or("nobody");
        let reason = answer.message.as_deref();
        let said = reason.map(|text| format!(": {text}")).unwrap_or_default();
        let (status, code, message) = match answer.verdict.as_str() {
            "skip" => ("canceled", "skipped", format!("Skipped by {by}{said}")),
            "expired" => (
                "timeout",
                "tool_timeout",
                "Nobody answered in time".to_owned(),
            ),
            "deny" | "terminate" => ("failed", "auth_failed", format!("Denied by {by}{said}")),
            other => (
                "failed",
                "auth_failed",
                format!("Not allowed ({other}){said}"),
            ),
        };
        Self {
            status,
            code,
            message,
            detail: json!({
                "operator": answer.by,
                "reason": reason,
                "verdict": answer.verdict,
                "request_id": request_id,
                "decision_id": answer.decision_id,
            }),
            ends_run: answer.verdict == "terminate",
        }
    }

    /// Of a command that was refused.
    pub(crate) fn refused(reason: &str, what: &str) -> Self {
        Self {
            status: "failed",
            code: "bad_request",
            message: format!("The command was refused: {reason} ({what})"),
            detail: json!({"reason": reason, "what": what}),
            ends_run: false,
        }
    }
}

/// The job for the reporter.
pub(crate) fn job(command: &Stored, function_name: &str, outcome: &Outcome) -> Value {
    let message = &command.message;
    let rejected = command.reason.is_some();
    let payload = message.known_payload();
    let after = match payload.get("after_execution") {
        Some(Value::String(word)) if !rejected => word.clone(),
        _ => "suspend".to_owned(),
    };
    let metadata = command
        .card
        .as_ref()
        .and_then(|card| card.get("metadata"))
        .cloned();
    let error = json!({
        "code": outcome.code,
        "message": outcome.message,
        "source": "countersign",
        "detail": outcome.detail,
    });
    let mut result = json!({
        "error_code": outcome.code,
        "error_message": outcome.message,
        "error": error,
    });
    if outcome.ends_run {
        result["__cg_control"] = json!({"after_execution": "terminate"});
    }
    json!({
        "v": 1,
        "project_id": command.project,
        "subject": message.subject,
        "headers": headers(message),
        "payload": payload,
        "tool_call_metadata": metadata.filter(Value::is_object).unwrap_or_else(|| json!({})),
        "function_name": function_name,
        "status": outcome.status,
        "after_execution": after,
        "error": error,
        "result": result,
    })
}

/// Those that CommonGround's ingress reads.
fn headers(message: &Inbound) -> Map<String, Value> {
    let kept = |name: &str| name.starts_with("CG-") || matches!(name, "traceparent" | "tracestate");
    let of = message.headers.iter().filter(|(name, _)| kept(name));
    of.map(|(name, value)| (name.clone(), json!(value)))
        .collect()
}

/// What the reporter answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reported {
    Done,
    AlreadyAnswered,
    Failed(String),
    /// It may work later.
    Again(String),
}

impl Reported {
    pub(crate) fn read(body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |name: &str| {
            body.get(name)
                .and_then(Value::as_str)
                .unwrap_or("unknown")
                .to_owned()
        };
        match body.get("status").and_then(Value::as_str) {
            Some("reported") => Self::Done,
            Some("already_answered") => Self::AlreadyAnswered,
            Some("failed") if body.get("retry") != Some(&Value::Bool(true)) => {
                Self::Failed(text("code"))
            }
            _ => Self::Again(text("code")),
        }
    }
}
