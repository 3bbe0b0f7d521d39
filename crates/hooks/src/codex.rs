//! Codex CLI (tested with 0.171): the events of Claude Code. A `continue: false` beside the answer would make it run the
//! call, so ending the run is not offered. An `allow` without `updatedInput` is a failed hook there.

use crate::answer::Answer;
use crate::call::{IN_THE_RUN, Step};
use crate::claude;
use crate::event::Event;
use crate::outcome::Outcome;

pub(crate) fn step(event: &Event) -> Result<Step, String> {
    let name = event.text("hook_event_name").unwrap_or_default();
    Ok(match name {
        "PreToolUse" => Step::Ask(Box::new(claude::call(event, name, &IN_THE_RUN)?)),
        "PostToolUse" => Step::Report(claude::report(event, None)?),
        "SessionEnd" => Step::End {
            session: event.needs("session_id")?.to_owned(),
        },
        _ => Step::Other,
    })
}

pub(crate) fn answer(outcome: &Outcome) -> Answer {
    Answer::json(&claude::before_tool(outcome))
}
