//! Copilot CLI, and VS Code, whose events have the same fields in snake_case.
//!
//! An event without a name is one before a call, unless it has a result. Each program reads one of the answer's two
//! forms.

use countersign_wire::args_digest;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::{AS_IT_IS, Call, Report, Step};
use crate::event::Event;
use crate::outcome::Outcome;

pub(crate) fn step(event: &Event) -> Result<Step, String> {
    let either = |one, other| event.text(one).or(event.text(other));
    let result = event.value("toolResult").or(event.value("tool_result"));
    let kind = |name| result?.get(name)?.as_str();
    let kind = kind("resultType").or(kind("result_type"));
    let name = match either("hook_event_name", "hookEventName") {
        Some(name) => name,
        None if result.is_some_and(Value::is_object) => "postToolUse",
        None if result.is_some() => return Err("the result in it is not an object".to_owned()),
        None if either("toolName", "tool_name").is_some() => "preToolUse",
        None => return Ok(Step::Other),
    };
    // None: before the call.
    let failed = match name {
        "preToolUse" | "PreToolUse" if result.is_none() => None,
        // It never started.
        "postToolUse" | "PostToolUse" if kind == Some("denied") => return Ok(Step::Known),
        "postToolUse" | "PostToolUse" => Some(kind.filter(|&kind| kind != "success")),
        "postToolUseFailure" | "PostToolUseFailure" => Some(Some("ToolError")),
        _ => return Ok(Step::Other),
    };
    let (tool, args) = match (event.text("toolName"), event.text("tool_name")) {
        (Some(tool), None) => (tool, event.object_or_text("toolArgs")?),
        (None, Some(tool)) => (tool, event.object_or_text("tool_input")?),
        _ => return Err("it does not name one tool".to_owned()),
    };
    let session = either("sessionId", "session_id").map(str::to_owned);
    let call_id = event.text("tool_use_id").map(str::to_owned);
    Ok(match failed {
        Some(failed) => Step::Report(Report {
            session,
            call_id,
            tool: tool.to_owned(),
            ran: args_digest(&args).ok(),
            failed: failed.map(str::to_owned),
        }),
        None => Step::Ask(Box::new(Call {
            session,
            call_id,
            native: event.some(&["cwd", "timestamp"]),
            ..Call::new(name, tool, args, &AS_IT_IS)
        })),
    })
}

pub(crate) fn answer(outcome: &Outcome) -> Answer {
    let (decision, words) = outcome.decided();
    let mut answer = json!({
        "permissionDecision": decision,
        "permissionDecisionReason": words,
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": words,
        },
    });
    if let Some(args) = outcome.args() {
        answer["modifiedArgs"] = args.clone();
        answer["hookSpecificOutput"]["updatedInput"] = args.clone();
    }
    Answer::json(&answer)
}
