//! OpenCode (tested with 1.18): the events that the plugin of `connect` sends, named as OpenCode names them.

use countersign_wire::args_digest;
use serde_json::json;

use crate::answer::Answer;
use crate::call::{Call, IN_THE_RUN, Limits, Report, Step};
use crate::event::Event;
use crate::outcome::Outcome;

pub(crate) fn step(event: &Event) -> Result<Step, String> {
    let name = event.text("event").unwrap_or_default();
    Ok(match name {
        "tool.execute.before" => Step::Ask(Box::new(Call {
            session: Some(event.needs("sessionID")?.to_owned()),
            call_id: event.text("callID").map(str::to_owned),
            native: event.some(&["directory"]),
            limits: Limits {
                silent_edits: true,
                ..Limits::default()
            },
            ..Call::new(
                name,
                event.needs("tool")?,
                event.object("args")?,
                &IN_THE_RUN,
            )
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

/// The plugin changes the arguments only where a person did, and compares them else.
pub(crate) fn answer(outcome: &Outcome) -> Answer {
    let (decision, words) = outcome.decided();
    Answer::json(&match outcome.args() {
        Some(args) => {
            json!({ "decision": decision, "args": args, "edited": outcome.note().is_some() })
        }
        None => json!({ "decision": decision, "reason": words }),
    })
}

/// Said in so many words: the plugin takes an answer without a decision for a fault.
pub(crate) fn unasked() -> Answer {
    Answer::json(&json!({ "decision": "unasked" }))
}
