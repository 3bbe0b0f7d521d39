//! Claude Code (tested with 2.1.332): events with `hook_event_name`.

use std::path::PathBuf;

use countersign_sdk::Verdict;
use countersign_wire::{args_digest, mcp_server};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::{ALL, Call, IN_THE_RUN, Limits, Report, Step};
use crate::event::Event;
use crate::outcome::Outcome;
use crate::questions;

/// Tools that only read, or only change Claude Code's own list.
pub(crate) const READ_ONLY: [&str; 7] = [
    "Read",
    "Glob",
    "Grep",
    "LS",
    "NotebookRead",
    "TodoWrite",
    "ToolSearch",
];
/// Its own question, which cannot end the run.
pub(crate) const PROMPT: &str = "PermissionRequest";

pub(crate) fn step(event: &Event) -> Result<Step, String> {
    let name = event.text("hook_event_name").unwrap_or_default();
    Ok(match name {
        "PreToolUse" => Step::Ask(Box::new(call(event, name, &ALL)?)),
        PROMPT => Step::Ask(Box::new(Call {
            call_id: None,
            limits: Limits {
                silent_edits: true,
                ..Limits::default()
            },
            ..call(event, name, &IN_THE_RUN)?
        })),
        "PostToolUse" => Step::Report(report(event, None)?),
        "PostToolUseFailure" => Step::Report(report(event, Some("ToolError"))?),
        "SessionEnd" => Step::End {
            session: event.needs("session_id")?.to_owned(),
        },
        _ => Step::Other,
    })
}

pub(crate) fn call(
    event: &Event,
    name: &str,
    verdicts: &'static [Verdict],
) -> Result<Call, String> {
    let tool = event.needs("tool_name")?;
    let args = event.object("tool_input")?;
    let form = match tool {
        questions::TOOL => Some(questions::form(&args).ok_or("its questions cannot be read")?),
        _ => None,
    };
    Ok(Call {
        form,
        reason: args
            .get("description")
            .and_then(Value::as_str)
            .map(str::to_owned),
        transcript: event.text("transcript_path").map(PathBuf::from),
        session: Some(event.needs("session_id")?.to_owned()),
        call_id: event.text("tool_use_id").map(str::to_owned),
        server: mcp_server(tool).map(str::to_owned),
        native: event.some(&["cwd", "permission_mode", "agent_id", "agent_type"]),
        ..Call::new(name, tool, args, verdicts)
    })
}

pub(crate) fn report(event: &Event, failed: Option<&str>) -> Result<Report, String> {
    Ok(Report {
        session: event.text("session_id").map(str::to_owned),
        call_id: event.text("tool_use_id").map(str::to_owned),
        tool: event.needs("tool_name")?.to_owned(),
        ran: event
            .value("tool_input")
            .and_then(|args| args_digest(args).ok()),
        failed: failed.map(str::to_owned),
    })
}

pub(crate) fn answer(call: &Call, outcome: &Outcome) -> Answer {
    if call.event == PROMPT {
        return prompted(outcome);
    }
    let mut answer = before_tool(outcome);
    if let Outcome::Deferred { .. } = outcome {
        answer["hookSpecificOutput"]["permissionDecision"] = json!("defer");
    }
    if let Some(words) = outcome.last_words() {
        answer["continue"] = json!(false);
        answer["stopReason"] = json!(words);
    }
    Answer::json(&answer)
}

/// The answer in `hookSpecificOutput`, and nothing beside it. Another hook may have changed the input, so an approval
/// names the approved one.
pub(crate) fn before_tool(outcome: &Outcome) -> Value {
    let (decision, words) = outcome.decided();
    let mut answer = json!({
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": words,
    });
    if let Some(args) = outcome.args() {
        answer["updatedInput"] = args.clone();
    }
    if let Some(note) = outcome.note() {
        answer["additionalContext"] = json!(note);
    }
    json!({ "hookSpecificOutput": answer })
}

fn prompted(outcome: &Outcome) -> Answer {
    let decision = match outcome {
        Outcome::Allowed { args, .. } => json!({ "behavior": "allow", "updatedInput": args }),
        Outcome::Refused { words, .. } | Outcome::Deferred { words } => {
            json!({ "behavior": "deny", "message": words })
        }
    };
    Answer::json(&json!({ "hookSpecificOutput": {
        "hookEventName": PROMPT,
        "decision": decision,
    } }))
}
