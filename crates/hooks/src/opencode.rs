//! OpenCode (tested with 1.18): the events that the plugin of `connect` sends, named as OpenCode names them.

use countersign_sdk::Verdict;
use countersign_wire::args_digest;
use serde_json::json;

use crate::answer::Answer;
use crate::call::{Call, Limits, Report, Step};
use crate::event::Event;
use crate::outcome::Outcome;

const VERDICTS: [Verdict; 4] = [
    Verdict::Approve,
    Verdict::Modify,
    Verdict::Deny,
    Verdict::Skip,
];

pub(crate) fn step(event: &Event) -> Result<Step, String> {
    let name = event.needs("event")?;
    Ok(match name {
        "tool.execute.before" => Step::Ask(Box::new(Call {
            event: name.to_owned(),
            tool: event.needs("tool")?.to_owned(),
            args: event.object("args")?,
            session: Some(event.needs("sessionID")?.to_owned()),
            call_id: event.text("callID").map(str::to_owned),
            reason: None,
            transcript: None,
            server: None,
            native: event.some(&["directory"]),
            verdicts: &VERDICTS,
            limits: Limits {
                silent_edits: true,
                ..Limits::default()
            },
        })),
        "tool.execute.after" => Step::Report(Report {
            session: event.text("sessionID").map(str::to_owned),
            call_id: event.text("callID").map(str::to_owned),
            tool: event.needs("tool")?.to_owned(),
            ran: event.value("args").and_then(|args| args_digest(args).ok()),
            failed: None,
        }),
        _ => Step::Other,
    })
}

pub(crate) fn answer(call: &Call, outcome: &Outcome) -> Answer {
    Answer::json(&match outcome {
        Outcome::Allowed { edit, .. } => json!({
            "decision": "allow",
            "args": edit.as_ref().map_or(&call.args, |edit| &edit.args),
        }),
        Outcome::Refused { words, .. } | Outcome::Deferred { words } => {
            json!({ "decision": "deny", "reason": words })
        }
    })
}

/// Said in so many words: the plugin takes an answer without a decision for a fault.
pub(crate) fn unasked() -> Answer {
    Answer::json(&json!({ "decision": "unasked" }))
}
