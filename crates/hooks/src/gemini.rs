//! Gemini CLI (tested with 0.61). It merges edited arguments into the model's, and names no id of a call.

use countersign_sdk::Verdict;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::{Call, Limits, Step};
use crate::claude;
use crate::event::Event;
use crate::outcome::Outcome;

const VERDICTS: [Verdict; 5] = [
    Verdict::Approve,
    Verdict::Modify,
    Verdict::Deny,
    Verdict::Skip,
    Verdict::Terminate,
];

pub(crate) fn step(event: &Event) -> Result<Step, String> {
    let name = event.needs("hook_event_name")?;
    Ok(match name {
        "BeforeTool" => {
            let server = event
                .value("mcp_context")
                .and_then(|of| of.get("server_name"));
            Step::Ask(Box::new(Call {
                server: server.and_then(Value::as_str).map(str::to_owned),
                native: event.some(&["cwd"]),
                limits: Limits {
                    silent_edits: true,
                    merges_edits: true,
                },
                ..claude::call(event, name, &VERDICTS)?
            }))
        }
        "AfterTool" => {
            let error = event.value("tool_response").and_then(|of| of.get("error"));
            let failed = error.filter(|error| !error.is_null()).map(|_| "ToolError");
            Step::Report(claude::report(event, failed)?)
        }
        "SessionEnd" => Step::End {
            session: event.needs("session_id")?.to_owned(),
        },
        _ => Step::Other,
    })
}

pub(crate) fn answer(outcome: &Outcome) -> Answer {
    Answer::json(&match outcome {
        Outcome::Allowed { words, edit: None } => json!({ "decision": "allow", "reason": words }),
        Outcome::Allowed {
            words,
            edit: Some(edit),
        } => json!({
            "decision": "allow",
            "reason": words,
            "hookSpecificOutput": { "hookEventName": "BeforeTool", "tool_input": edit.args },
        }),
        Outcome::Refused {
            words,
            ends_run: true,
        } => json!({
            "decision": "deny", "reason": words, "continue": false, "stopReason": words,
        }),
        Outcome::Refused { words, .. } | Outcome::Deferred { words } => {
            json!({ "decision": "deny", "reason": words })
        }
    })
}
