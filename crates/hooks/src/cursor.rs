//! Cursor: shell commands and MCP calls. It takes no edits, and no hook is asked before a file is edited.

use countersign_sdk::Verdict;
use countersign_wire::args_digest;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::{Call, Limits, Report, Step};
use crate::event::Event;
use crate::outcome::Outcome;

const SHELL: &str = "Shell";
const VERDICTS: [Verdict; 3] = [Verdict::Approve, Verdict::Deny, Verdict::Skip];

pub(crate) fn step(event: &Event) -> Result<Step, String> {
    let name = event.needs("hook_event_name")?;
    Ok(match name {
        "beforeShellExecution" => {
            event.needs("command")?;
            let args = Value::Object(event.some(&["command"]));
            Step::Ask(Box::new(call(event, name, SHELL, args, None)?))
        }
        "beforeMCPExecution" => {
            let tool = event.needs("tool_name")?;
            let args = event.object_or_text("tool_input")?;
            let server = event.text("url").or(event.text("command"));
            Step::Ask(Box::new(call(event, name, tool, args, server)?))
        }
        // Neither says whether it failed, and this one not where it ran.
        "afterShellExecution" => Step::Report(Report {
            session: event.text("conversation_id").map(str::to_owned),
            call_id: None,
            tool: SHELL.to_owned(),
            ran: args_digest(&Value::Object(event.some(&["command"]))).ok(),
            failed: None,
        }),
        "afterMCPExecution" => Step::Report(Report {
            session: event.text("conversation_id").map(str::to_owned),
            call_id: None,
            tool: event.needs("tool_name")?.to_owned(),
            ran: event
                .object_or_text("tool_input")
                .ok()
                .and_then(|args| args_digest(&args).ok()),
            failed: None,
        }),
        _ => Step::Other,
    })
}

fn call(
    event: &Event,
    name: &str,
    tool: &str,
    args: Value,
    server: Option<&str>,
) -> Result<Call, String> {
    Ok(Call {
        event: name.to_owned(),
        tool: tool.to_owned(),
        args,
        session: Some(event.needs("conversation_id")?.to_owned()),
        call_id: None,
        reason: None,
        transcript: None,
        server: server.map(str::to_owned),
        native: event.some(&["cwd", "generation_id", "workspace_roots"]),
        verdicts: &VERDICTS,
        limits: Limits::default(),
    })
}

pub(crate) fn answer(outcome: &Outcome) -> Answer {
    Answer::json(&match outcome {
        Outcome::Allowed { words, .. } => json!({ "permission": "allow", "user_message": words }),
        Outcome::Refused { words, .. } | Outcome::Deferred { words } => json!({
            "permission": "deny", "user_message": words, "agent_message": words,
        }),
    })
}
