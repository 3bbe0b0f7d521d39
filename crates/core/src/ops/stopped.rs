//! Denies what a stopped agent asks, until it is resumed (rules, "Controls").
//!
//! A stop acts only while the shared policy is known: it may have been taken back. A pause leaves a stop in force.

use std::collections::HashSet;
use std::time::Duration;

use countersign_realm::Current;
use countersign_realm::controls::{ControlValue, Pause};
use countersign_realm::registers::kind::Kind;
use countersign_wire::{AgentControl, AgentKey, Origin, RequestKey, Verdict};
use futures::StreamExt as _;
use futures::stream::{self, FuturesUnordered};
use tokio::sync::oneshot;

use super::decide;
use super::decide::release_hold;
use super::job::{Accepted, DecideCommand, Job};
use super::publisher::Settled;
use super::turns::Turn;
use super::verdicts::SETTLE_LIMIT;
use super::writer_state::{Tx, WriterState};
use crate::Fault;
use crate::domain::{Authority, State, Timestamp};
use crate::runtime::{App, Role};
use crate::store::request_list::{self, Filter};
use crate::store::{StoreError, requests};

/// How many are looked at in one transaction for one agent.
const AT_ONCE: i64 = 500;
/// How many wait for the writer at a time: more than one transaction takes, so that the next one follows at once and
/// the console, which writes to the same file, does not come between them for longer than the grace.
const TOGETHER: usize = 1_000;
/// What waited already is first left to the operator who stopped the agent, as long as one call is ended after the
/// other: only a person's decision can end the run. On a machine under load one transaction can need seconds.
pub(super) const GRACE_MS: i64 = 5_000;
/// How long a command waits for the past before it looks for waiting calls.
const READY_LIMIT: Duration = Duration::from_secs(30);
/// How soon to look whether the policy is known again.
const UNKNOWN_LOOK_MS: i64 = 200;

/// Denies by rank; returns when to look again.
pub(super) fn deny(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
) -> Result<Option<Timestamp>, StoreError> {
    let stopped: Vec<_> = {
        let controls = writer.controls.read();
        let all = controls.agents();
        all.filter(|(agent, _)| controls.stop_of(agent).is_some())
            .map(|(agent, set)| (agent.clone(), set.clone()))
            .collect()
    };
    // A pending or retired key would put a void decision there, in the place of another console's answer.
    if !stopped.is_empty() && !writer.counts(writer.identity.auto_key().as_str()) {
        writer.stop_turns.clear();
        return Ok(None);
    }
    let mut next = None;
    let mut open = HashSet::new();
    for (agent, set) in stopped {
        let ids = requests::open_of(batch.tx, &agent, AT_ONCE)?;
        let Some(oldest) = ids.first() else {
            continue;
        };
        open.extend(ids.iter().copied());
        if !writer.policy_known.is_fresh() {
            return Ok(Some(batch.now.plus_ms(UNKNOWN_LOOK_MS)));
        }
        // The command goes from the newest call to the oldest.
        let ended = requests::last_ended(batch.tx, &agent, *oldest)?;
        let grace = ended.map_or(set.at, |at| at.max(set.at)).plus_ms(GRACE_MS);
        let mut commands = Vec::new();
        for record in requests::records_by_id(batch.tx, &ids)? {
            if record.stored_at < set.at && batch.now < grace {
                next = earlier(next, grace);
                continue;
            }
            let rank = writer.peers.rank(&record.key, batch.now, |_| true);
            if let Turn::Later(at) = writer.stop_turns.of(record.id, rank, batch.now) {
                next = earlier(next, at);
                continue;
            }
            if record.state == State::Holding {
                let actor = writer.identity.auto_key().to_string();
                release_hold(batch, &record, &actor, "hold_dropped")?;
            }
            let command = DecideCommand {
                message: Some(format!("{} stopped this agent", set.by)),
                authority: Authority::Console,
                origin: Origin::System,
                ..DecideCommand::by_operator(record.key, Verdict::Deny)
            };
            // Nobody waits for the answer: losing this race is expected.
            let (reply, _) = oneshot::channel();
            commands.push((Box::new(command), reply));
        }
        let settlements = writer.settlements.clone();
        let full = ids.len() >= usize::try_from(AT_ONCE).unwrap_or(usize::MAX);
        let some = !commands.is_empty();
        decide::apply(writer, batch, &settlements, commands)?;
        if full && some {
            next = earlier(next, batch.now);
        }
    }
    // The others were answered by another console.
    writer.stop_turns.keep(|id| open.contains(&id));
    Ok(next)
}

fn earlier(known: Option<Timestamp>, at: Timestamp) -> Option<Timestamp> {
    Some(known.map_or(at, |known| known.min(at)))
}

impl App {
    /// Gives every waiting call of the agent the operator's own answer; how many got it, and how many did not.
    ///
    /// All are on their way before one is waited for: what is left of them when the grace is over the consoles deny,
    /// and only a person's decision can end the run.
    pub(super) async fn terminate_waiting(&self, agent: &AgentKey) -> Result<(u64, u64), Fault> {
        if self.role() == Role::Console {
            self.ready(READY_LIMIT).await;
        }
        // All are named before one is ended: what somebody else answers meanwhile is counted, too.
        let mut waiting = Vec::new();
        for state in [State::Holding, State::Pending] {
            let filter = Filter {
                workspace: Some(agent.workspace.to_string()),
                agent: Some(agent.agent.to_string()),
                state: Some(state),
                ..Filter::default()
            };
            let mut before = None;
            loop {
                let rows = request_list::history(self.reader(), &filter, before, AT_ONCE).await?;
                let Some(last) = rows.last() else { break };
                before = Some(last.id);
                let keys = rows.iter().filter_map(request_list::RequestSummary::key);
                waiting.extend(keys.map(|key| (key, state)));
            }
        }
        let mut left = 0;
        let mut sent = FuturesUnordered::new();
        let given = stream::iter(waiting).map(|(key, state)| self.terminate(key, state));
        let mut given = given.buffer_unordered(TOGETHER);
        while let Some(settled) = given.next().await {
            match settled {
                Some((key, settled)) => sent.push(async { (key, settled.await) }),
                None => left += 1,
            }
        }
        let (mut terminated, mut newest) = (0, None);
        let all = sent.len() as u64;
        // As long as some are acknowledged, the others may be.
        while let Ok(Some((key, settled))) = tokio::time::timeout(SETTLE_LIMIT, sent.next()).await {
            if let Ok(Settled::Stored {
                seq,
                reads: None | Some(State::Decided),
            }) = settled
            {
                terminated += 1;
                newest = newest.max(Some((seq, key)));
            }
        }
        if let Some((_, key)) = newest {
            self.seen(&key).await;
        }
        Ok((terminated, left + all - terminated))
    }

    /// None where somebody else was first, or the consoles deny it automatically.
    async fn terminate(
        &self,
        key: RequestKey,
        state: State,
    ) -> Option<(RequestKey, oneshot::Receiver<Settled>)> {
        if state == State::Holding {
            // Released meanwhile: then it is on its way, and the stream decides.
            let _ = self.undo(&key).await;
        }
        let command = DecideCommand {
            message: Some(format!("{} stopped this agent", self.identity().operator)),
            ..DecideCommand::by_operator(key.clone(), Verdict::Terminate)
        };
        let (reply, accepted) = oneshot::channel();
        let job = Job::Decide(Box::new(command), reply);
        self.submit(job).await.ok()?;
        match self.answer(accepted).await {
            Ok(Ok(Accepted::Queued { settled, .. })) => Some((key, settled)),
            _ => None,
        }
    }
}

/// Refuses a pause where the bus holds a stop, whichever console set it: what comes would wait for people instead of
/// being denied.
pub(super) fn keeps_the_stop(said: &ControlValue, current: &Current) -> Result<(), Fault> {
    let ControlValue::Agent(agent, AgentControl::Paused) = said else {
        return Ok(());
    };
    match current.signed().and_then(Pause::read) {
        Some(AgentControl::Stopped) => {
            let why = format!("{agent} is stopped; resume it first");
            Err(Fault::invalid_args(why))
        }
        _ => Ok(()),
    }
}
