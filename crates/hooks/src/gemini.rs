//! Gemini CLI (tested with 0.61). It merges edited arguments into the model's, and names no id of a call.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::{ALL, Call, Limits, Step};
use crate::claude;
use crate::event::Event;
use crate::outcome::Outcome;

pub(crate) fn step(event: &Event) -> Result<Step, String> {
    let name = event.text("hook_event_name").unwrap_or_default();
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
                ..claude::call(event, name, &ALL)?
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
    let (decision, words) = outcome.decided();
    let mut answer = json!({ "decision": decision, "reason": words });
    if let Some(args) = outcome.args() {
        let input = json!({ "hookEventName": "BeforeTool", "tool_input": args });
        answer["hookSpecificOutput"] = input;
    }
    if let Some(words) = outcome.last_words() {
        answer["continue"] = json!(false);
        answer["stopReason"] = json!(words);
    }
    Answer::json(&answer)
}
