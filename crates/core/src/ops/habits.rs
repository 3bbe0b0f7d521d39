//! Findings of calls: made when a call arrives, and again for the waiting calls of an agent's tool whenever a person's
//! decision on one of them is projected.

mod again;
mod anew;
mod learn;
mod past;

use countersign_redaction::is_secret_key;
use countersign_scrutiny::{Call, Finding, effect, examine};
use countersign_wire::{AgentKey, ApprovalRequest, ParsedRequest};

use self::again::Again;
pub use self::anew::Learned;
use self::past::{Pasts, ToolName};
use super::scrutiny::stops_of;
use super::writer_state::{Tx, WriterState};
use crate::domain::Timestamp;
use crate::policy::Stop;
use crate::store::findings::{self, Waiting};
use crate::store::{Connection, StoreError};

/// How many waiting calls are looked at in one transaction: about 2 ms.
const AT_ONCE: i64 = 100;
/// How long the writer does other things until it looks at more calls that nobody looked at, ms.
const REST_MS: i64 = 20;
/// The same for each call that was looked at again, ms: while people decide all the time, such looks took 3 % of the
/// console's processor time.
const REST_AGAIN_MS: i64 = 1;

/// What the writer remembers of it.
#[derive(Default)]
pub(crate) struct Habits {
    pasts: Pasts,
    /// Requests that people decided in this transaction.
    decided: Vec<i64>,
    /// Requests whose run failed or was refused, as often as a receipt of this transaction says so.
    failed: Vec<i64>,
    /// Waiting calls behind this row were not looked at.
    unmade: Option<i64>,
    again: Again,
    rests_until: Option<Timestamp>,
    /// When the table was made anew, as far as it is known here.
    anew: Option<String>,
}

impl Habits {
    /// A person decided a request.
    pub(crate) fn decided(&mut self, request: i64) {
        self.decided.push(request);
    }

    /// A receipt says that a run failed or was refused.
    pub(crate) fn failed(&mut self, request: i64) {
        self.failed.push(request);
    }

    /// Calls wait that were not looked at.
    pub(crate) fn look_at_all(&mut self) {
        self.unmade = Some(0);
    }

    /// What is remembered of a transaction that did not happen is forgotten.
    pub(crate) fn forget(&mut self) {
        *self = Self {
            unmade: Some(0),
            ..Self::default()
        };
    }
}

/// What was found in a call.
pub(crate) struct Found {
    /// The strongest first; none where it asks for no call.
    pub(crate) findings: Vec<Finding>,
    /// What will happen.
    pub(crate) effect: Option<String>,
}

impl Found {
    /// As it is stored.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(&self.findings).unwrap_or_else(|_| "[]".to_owned())
    }
}

/// Looks at a call with what people decided on the agent's tool so far.
pub(super) fn look(
    habits: &mut Habits,
    tx: &Connection,
    now: Timestamp,
    agent: &AgentKey,
    request: &ApprovalRequest,
) -> Result<Found, StoreError> {
    let Some(call) = call_of(request, now) else {
        return Ok(Found {
            findings: Vec::new(),
            effect: None,
        });
    };
    let past = habits.pasts.of(tx, now, &tool_of(agent, &call))?;
    Ok(Found {
        findings: examine(&call, past),
        effect: effect(&call, past),
    })
}

/// What keeps a call from being approved automatically.
pub(super) fn stops(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    parsed: &ParsedRequest,
) -> Result<Vec<Stop>, StoreError> {
    let Some(call) = call_of(&parsed.request, batch.now) else {
        return Ok(Vec::new());
    };
    let tool = tool_of(&parsed.key.agent_key(), &call);
    let pasts = &mut writer.habits.pasts;
    let past = pasts.of(batch.tx, batch.now, &tool)?;
    Ok(stops_of(&examine(&call, past), &parsed.request))
}

fn call_of(request: &ApprovalRequest, now: Timestamp) -> Option<Call<'_>> {
    let mut call = Call::of(request)?;
    call.today = Some(past::day_of(now.0));
    call.hides = is_secret_key;
    Some(call)
}

fn tool_of(agent: &AgentKey, call: &Call<'_>) -> ToolName {
    ToolName::new(agent.workspace.as_ref(), agent.agent.as_ref(), call.tool)
}

/// Learns what people decided, and looks again at what waits.
pub(super) fn run(writer: &mut WriterState, batch: &mut Tx<'_>) -> Result<(), StoreError> {
    if !writer.projects {
        return Ok(());
    }
    anew::notice(&mut writer.habits, batch.tx)?;
    let decided = std::mem::take(&mut writer.habits.decided);
    let mut failed = std::mem::take(&mut writer.habits.failed);
    learn::decided(writer, batch, &decided)?;
    // What was not learned is not taken back.
    failed.retain(|request| !decided.contains(request));
    learn::failed(writer, batch, failed)?;
    if !writer.caught_up {
        return Ok(());
    }
    let habits = &writer.habits;
    if habits.unmade.is_none() && habits.again.is_empty() {
        return Ok(());
    }
    if let Some(until) = habits.rests_until.filter(|until| batch.now < *until) {
        writer.due_at(until);
        return Ok(());
    }
    let mut left = AT_ONCE;
    if let Some(after) = writer.habits.unmade {
        let waiting = findings::not_made(batch.tx, after, left)?;
        writer.habits.unmade = look_again(writer, batch, &waiting, &mut left)?;
    }
    while left > 0
        && let Some((tool, after)) = writer.habits.again.next()
    {
        let waiting = findings::of_tool(batch.tx, tool.parts(), after, left)?;
        if let Some(after) = look_again(writer, batch, &waiting, &mut left)? {
            writer.habits.again.go_on(tool, after);
        }
    }
    let habits = &mut writer.habits;
    let rest = match habits.unmade {
        Some(_) => REST_MS,
        None => (AT_ONCE - left) * REST_AGAIN_MS,
    };
    let until = batch.now.plus_ms(rest);
    habits.rests_until = Some(until);
    if habits.unmade.is_some() || !habits.again.is_empty() {
        writer.due_at(until);
    }
    Ok(())
}

/// Looks at waiting calls, and keeps what has changed. Returns the last of them where there may be more.
fn look_again(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    waiting: &[Waiting],
    left: &mut i64,
) -> Result<Option<i64>, StoreError> {
    let mut kept = Vec::new();
    for row in waiting {
        let agent: Option<AgentKey> = format!("{}/{}", row.ws, row.agent).parse().ok();
        let request: Option<ApprovalRequest> = serde_json::from_slice(&row.raw).ok();
        let (Some(agent), Some(request)) = (agent, request) else {
            continue;
        };
        let found = look(&mut writer.habits, batch.tx, batch.now, &agent, &request)?;
        let text = found.text();
        if row.findings.as_ref() != Some(&text) {
            kept.push((row.id, text, found.effect));
            batch.effects.touched.push(row.id);
        }
    }
    findings::keep(batch.tx, &kept)?;
    let read = i64::try_from(waiting.len()).unwrap_or(i64::MAX);
    let more = read >= *left;
    *left -= read;
    Ok(waiting.last().map(|row| row.id).filter(|_| more))
}
