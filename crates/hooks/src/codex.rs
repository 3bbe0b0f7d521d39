//! Codex CLI (tested with 0.171): the events of Claude Code. A `continue: false` beside the answer would make it run the
//! call, so ending the run is not offered. An `allow` without `updatedInput` is a failed hook there.

use countersign_sdk::Verdict;

use crate::answer::Answer;
use crate::call::{Call, Step};
use crate::claude;
use crate::event::Event;
use crate::outcome::Outcome;

const VERDICTS: [Verdict; 4] = [
    Verdict::Approve,
    Verdict::Modify,
    Verdict::Deny,
    Verdict::Skip,
];

pub(crate) fn step(event: &Event) -> Result<Step, String> {
    let name = event.needs("hook_event_name")?;
    Ok(match name {
        "PreToolUse" => Step::Ask(Box::new(claude::call(event, name, &VERDICTS)?)),
        "PostToolUse" => Step::Report(claude::report(event, None)?),
        "SessionEnd" => Step::End {
            session: event.needs("session_id")?.to_owned(),
        },
        _ => Step::Other,
    })
}

pub(crate) fn answer(call: &Call, outcome: &Outcome) -> Answer {
    let mut answer = claude::before_tool(call, outcome);
    if let Outcome::Allowed { edit: None, .. } = outcome {
        answer["hookSpecificOutput"]["updatedInput"] = call.args.clone();
    }
    Answer::json(&answer)
}
