//! From the bytes of an event to an answer, whatever happens on the way.

use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_sdk::{GateError, Which};
use tokio::time::timeout;

use crate::answer::Answer;
use crate::ask::ask;
use crate::call::{Call, Phase, Step};
use crate::event::Event;
use crate::identity::Identity;
use crate::outcome::Outcome;
use crate::program::Program;
use crate::reports::{Noted, note, note_end, settle_late};

/// How long connecting and the last receipts may take beside the answer; `connect` gives the program 60 s more than the
/// answer, so it never times out first.
const BESIDE_THE_ANSWER: Duration = Duration::from_secs(30);
/// The programs give an event after the call 60 s.
const FOR_A_REPORT: Duration = Duration::from_secs(20);

/// How a hook asks.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the entry of the settings is for; None: it does not say.
    pub phase: Option<Phase>,
    /// The entry's name.
    pub entry: String,
    /// The enrolment.
    pub agent_json: PathBuf,
    /// The folder for what hooks keep between their processes; made where it is missing.
    pub state: PathBuf,
    /// How long a person may take.
    pub timeout: Duration,
    /// Which calls ask.
    pub which: Which,
    /// Leave a call waiting that no rule answers, and be asked again: Claude Code's `defer`.
    pub defer: bool,
}

/// Answers one event. `stop` resolves when the process should end: then nothing is allowed.
pub async fn respond(
    program: Program,
    input: &[u8],
    options: &Options,
    stop: impl Future<Output = ()>,
) -> Answer {
    let step = Event::read(input)
        .and_then(|event| program.step(&event, &options.which))
        .and_then(|step| step.at(options.phase));
    match step {
        Err(why) => Answer {
            // What cannot be read may have run with arguments that nobody saw.
            never_asked: (options.phase == Some(Phase::After)).then(|| "a tool".to_owned()),
            ..Answer::fault(format!("nothing was run: {why}"))
        },
        Ok(Step::Unasked) => program.unasked_answer(),
        Ok(Step::Known | Step::Other) => Answer::empty(),
        Ok(Step::Ask(call)) => asked(program, &call, options, stop).await,
        Ok(Step::Report(report)) => {
            let own_ids = program.own_ids();
            let note = |folder: &Path| note(folder, &report, own_ids);
            match note_end_of_call(program, options, note).await {
                Some(Noted::Differs) => program.differs(&report),
                Some(Noted::Unasked) if options.which.asks(&report.tool) => Answer {
                    never_asked: Some(report.tool),
                    ..Answer::empty()
                },
                _ => Answer::empty(),
            }
        }
        Ok(Step::End { session }) => {
            note_end_of_call(program, options, |folder| note_end(folder, &session)).await;
            Answer::empty()
        }
    }
}

async fn asked(
    program: Program,
    call: &Call,
    options: &Options,
    stop: impl Future<Output = ()>,
) -> Answer {
    let limit = options.timeout.saturating_add(BESIDE_THE_ANSWER);
    let outcome = match timeout(limit, ask(program, call, options, stop)).await {
        Ok(outcome) => outcome,
        Err(_) => Some(Outcome::refused(format!(
            "{} was not run: could not get approval (timeout): no answer in time",
            call.tool
        ))),
    };
    match outcome {
        Some(outcome) => program.answer(call, &outcome),
        None => Answer::fault(format!("{} was not run: the hook was stopped", call.tool)),
    }
}

/// The call is over, so a fault here holds nothing up: the receipt is sent by a later process. Returns what `note` did.
async fn note_end_of_call(
    program: Program,
    options: &Options,
    note: impl FnOnce(&Path) -> std::io::Result<Noted>,
) -> Option<Noted> {
    let work = async {
        let identity = Identity::open(&options.agent_json, &options.state).await?;
        let noted = note(&identity.approved()).map_err(|error| GateError::Journal {
            why: error.to_string(),
        })?;
        if noted != Noted::Unasked {
            let gate = identity.connect(program).await?;
            settle_late(&gate, &identity.approved()).await;
            gate.close().await;
        }
        Ok::<_, GateError>(noted)
    };
    match timeout(FOR_A_REPORT, work).await {
        Ok(Ok(noted)) => return Some(noted),
        Ok(Err(error)) => tracing::warn!("a receipt is late: {error}"),
        Err(_) => tracing::warn!("a receipt is late: the bus did not answer"),
    }
    None
}
