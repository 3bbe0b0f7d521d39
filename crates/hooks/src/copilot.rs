//! Copilot CLI: `preToolUse` and `postToolUse`, distinguished by the result that only the latter has.

use countersign_sdk::Verdict;
use countersign_wire::args_digest;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::{Call, Limits, Report, Step};
use crate::event::Event;
use crate::outcome::Outcome;

/// Not all versions take edited arguments, and none says which it is.
const VERDICTS: [Verdict; 3] = [Verdict::Approve, Verdict::Deny, Verdict::Skip];

pub(crate) fn step(event: &Event) -> Result<Step, String> {
    let Some(tool) = event.text("toolName") else {
        return match event.value("toolArgs") {
            Some(_) => Err("the event has no toolName".to_owned()),
            None => Ok(Step::Other),
        };
    };
    let args = event.object_or_text("toolArgs")?;
    let session = event.text("sessionId").map(str::to_owned);
    Ok(match event.value("toolResult") {
        Some(result) => {
            let kind = result.get("resultType").and_then(Value::as_str);
            Step::Report(Report {
                session,
                call_id: None,
                tool: tool.to_owned(),
                ran: args_digest(&args).ok(),
                failed: kind.filter(|&kind| kind != "success").map(str::to_owned),
            })
        }
        None => Step::Ask(Box::new(Call {
            event: "preToolUse".to_owned(),
            tool: tool.to_owned(),
            reason: None,
            transcript: None,
            args,
            session,
            call_id: None,
            server: None,
            native: event.some(&["cwd", "timestamp"]),
            verdicts: &VERDICTS,
            limits: Limits::default(),
        })),
    })
}

pub(crate) fn answer(outcome: &Outcome) -> Answer {
    let (decision, words) = match outcome {
        Outcome::Allowed { words, .. } => ("allow", words),
        Outcome::Refused { words, .. } | Outcome::Deferred { words } => ("deny", words),
    };
    Answer::json(&json!({ "permissionDecision": decision, "permissionDecisionReason": words }))
}
