//! Claude Code (tested with 2.1.332): events with `hook_event_name`.

use std::path::PathBuf;

use countersign_sdk::Verdict;
use countersign_wire::args_digest;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::{Call, Limits, Report, Step, mcp_server};
use crate::event::Event;
use crate::outcome::Outcome;

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
const PROMPT: &str = "PermissionRequest";
const VERDICTS: [Verdict; 5] = [
    Verdict::Approve,
    Verdict::Modify,
    Verdict::Deny,
    Verdict::Skip,
    Verdict::Terminate,
];
/// A permission prompt cannot end the run.
const OF_PROMPT: [Verdict; 4] = [
    Verdict::Approve,
    Verdict::Modify,
    Verdict::Deny,
    Verdict::Skip,
];

pub(crate) fn step(event: &Event) -> Result<Step, String> {
    let name = event.needs("hook_event_name")?;
    Ok(match name {
        "PreToolUse" => Step::Ask(Box::new(call(event, name, &VERDICTS)?)),
        PROMPT => Step::Ask(Box::new(Call {
            call_id: None,
            limits: Limits {
                silent_edits: true,
                ..Limits::default()
            },
            ..call(event, name, &OF_PROMPT)?
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
    Ok(Call {
        event: name.to_owned(),
        tool: tool.to_owned(),
        reason: args
            .get("description")
            .and_then(Value::as_str)
            .map(str::to_owned),
        args,
        transcript: event.text("transcript_path").map(PathBuf::from),
        session: Some(event.needs("session_id")?.to_owned()),
        call_id: event.text("tool_use_id").map(str::to_owned),
        server: mcp_server(tool),
        native: event.some(&["cwd", "permission_mode", "agent_id", "agent_type"]),
        verdicts,
        limits: Limits::default(),
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
    let mut answer = before_tool(call, outcome);
    if let Outcome::Refused {
        words,
        ends_run: true,
    } = outcome
    {
        answer["continue"] = json!(false);
        answer["stopReason"] = json!(words);
    }
    Answer::json(&answer)
}

/// The answer in `hookSpecificOutput`, and nothing beside it.
pub(crate) fn before_tool(call: &Call, outcome: &Outcome) -> Value {
    let (decision, words) = match outcome {
        Outcome::Allowed { words, .. } => ("allow", words),
        Outcome::Refused { words, .. } => ("deny", words),
        Outcome::Deferred { words } => ("defer", words),
    };
    let mut answer = json!({ "hookSpecificOutput": {
        "hookEventName": call.event,
        "permissionDecision": decision,
        "permissionDecisionReason": words,
    } });
    if let Outcome::Allowed {
        edit: Some(edit), ..
    } = outcome
    {
        answer["hookSpecificOutput"]["updatedInput"] = edit.args.clone();
        answer["hookSpecificOutput"]["additionalContext"] = json!(edit.note);
    }
    answer
}

fn prompted(outcome: &Outcome) -> Answer {
    let decision = match outcome {
        Outcome::Allowed { edit: None, .. } => json!({ "behavior": "allow" }),
        Outcome::Allowed {
            edit: Some(edit), ..
        } => json!({ "behavior": "allow", "updatedInput": edit.args }),
        Outcome::Refused { words, .. } | Outcome::Deferred { words } => {
            json!({ "behavior": "deny", "message": words })
        }
    };
    Answer::json(&json!({ "hookSpecificOutput": {
        "hookEventName": PROMPT,
        "decision": decision,
    } }))
}
