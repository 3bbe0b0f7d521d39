//! Cursor: every tool by `preToolUse`, or shell commands and MCP calls by the older events, which take no edits.

use countersign_sdk::PROBE;
use countersign_wire::args_digest;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::{AS_IT_IS, Call, IN_THE_RUN, Limits, Report, Step};
use crate::event::Event;
use crate::outcome::Outcome;

/// Tools that only read.
pub(crate) const READ_ONLY: [&str; 4] = ["Read", "Grep", "Glob", "LS"];
const BEFORE: &str = "preToolUse";

pub(crate) fn step(event: &Event) -> Result<Step, String> {
    let name = event.text("hook_event_name").unwrap_or_default();
    let (tool, args) = match name {
        BEFORE | "postToolUse" | "postToolUseFailure" => (
            event.needs("tool_name")?.to_owned(),
            event.object_or_text("tool_input")?,
        ),
        "beforeShellExecution" | "afterShellExecution" => {
            event.needs("command")?;
            // The event after it does not say where it ran.
            ("Shell".to_owned(), Value::Object(event.some(&["command"])))
        }
        // Named as `preToolUse` does: a server's tool `Read` is not Cursor's.
        "beforeMCPExecution" | "afterMCPExecution" => {
            let tool = match event.needs("tool_name")? {
                PROBE => PROBE.to_owned(),
                tool => format!("MCP:{tool}"),
            };
            (tool, event.object_or_text("tool_input")?)
        }
        _ => return Ok(Step::Other),
    };
    let session = event.text("conversation_id").map(str::to_owned);
    let call_id = event.text("tool_use_id").map(str::to_owned);
    let mcp = tool.strip_prefix("MCP:");
    let server = mcp.map(|_| event.text("url").or(event.text("command")).unwrap_or("mcp"));
    Ok(match name {
        BEFORE | "beforeShellExecution" | "beforeMCPExecution" => Step::Ask(Box::new(Call {
            session: Some(session.ok_or("the event has no conversation_id")?),
            call_id,
            server: server.map(str::to_owned),
            native: event.some(&["cwd", "generation_id", "workspace_roots"]),
            limits: Limits {
                silent_edits: true,
                ..Limits::default()
            },
            ..Call::new(
                name,
                &tool,
                args,
                match name {
                    BEFORE => &IN_THE_RUN,
                    _ => &AS_IT_IS,
                },
            )
        })),
        // Cursor itself refused it.
        _ if event.text("failure_type") == Some("permission_denied") => Step::Known,
        // The older events do not say whether it failed.
        _ => Step::Report(Report {
            session,
            call_id,
            ran: args_digest(&args).ok(),
            failed: (name == "postToolUseFailure").then(|| "ToolError".to_owned()),
            tool,
        }),
    })
}

pub(crate) fn answer(call: &Call, outcome: &Outcome) -> Answer {
    let (decision, words) = outcome.decided();
    let mut answer = json!({ "permission": decision, "user_message": words });
    match outcome.args() {
        Some(args) if call.event == BEFORE => answer["updated_input"] = args.clone(),
        Some(_) => {}
        None => answer["agent_message"] = json!(words),
    }
    Answer::json(&answer)
}
