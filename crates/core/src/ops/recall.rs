//! Recalls signed decisions before the bus has them: approvals that meet panic, a pause or a stop, and what a key signed that was
//! retired or limited meanwhile, or voted for.
//!
//! A recalled decision is never sent; its request is decided again.

use countersign_wire::{AgentKey, Sha256Digest, Signer, VoteAttachment, read_json};
use serde::Deserialize;
use serde_json::json;

use super::automatic_answers;
use super::bypass::rule_id;
use super::decision_words::{GivenBy, goes_on};
use super::votes::close;
use super::writer_state::{Tx, WriterState};
use crate::domain::controls::{AutomaticOff, Controls};
use crate::domain::life_cycle::{Step, next};
use crate::domain::{Delivery, State, Timestamp};
use crate::store::request_states::{self, StateChange};
use crate::store::{StoreError, outbox, requests, rule_uses, unanswered};

/// Why a decision may not go out now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Recall {
    #[error(transparent)]
    AutomaticOff(AutomaticOff),
    #[error("the bypass that it names is over")]
    BypassOver,
    /// On the stream it would be void, and nobody could decide any more.
    #[error("its key is retired")]
    KeyRetired,
    /// The same, since its key was limited meanwhile.
    #[error("its key may no longer decide this")]
    BeyondLimit,
    /// The same, since the key of one of its votes was retired or limited meanwhile.
    #[error("an operator who voted for it may no longer vote on it")]
    VoteGone,
    /// The bus would never take it, and nobody could decide any more.
    #[error("it is larger than the bus allows")]
    TooLarge,
}

#[derive(Deserialize)]
struct OfSeveral {
    votes: Option<Vec<VoteAttachment>>,
}

/// The keys whose votes a decision carries.
pub(super) fn voters(payload: &[u8]) -> Vec<Signer> {
    let votes = read_json::<OfSeveral>(payload).ok().and_then(|of| of.votes);
    votes
        .unwrap_or_default()
        .into_iter()
        .map(|vote| vote.key)
        .collect()
}

#[derive(Deserialize)]
struct ByRule {
    rule: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    id: String,
    version: u64,
}

impl Recall {
    /// Why it is recalled by panic, a pause or a stop; none where it may go out. A person's approval is held back by a stop alone.
    pub(crate) fn by_controls(
        controls: &Controls,
        policy_known: bool,
        now: Timestamp,
        subject: &str,
        payload: &[u8],
    ) -> Option<Self> {
        let (agent, by) = goes_on(subject, payload)?;
        if by == GivenBy::Person {
            controls.stop_of(&agent)?;
            // The stop may have been taken back meanwhile.
            return Some(Self::AutomaticOff(match policy_known {
                true => AutomaticOff::Stopped,
                false => AutomaticOff::PolicyUnknown,
            }));
        }
        if let Err(off) = controls.may_approve(&agent, policy_known) {
            return Some(Self::AutomaticOff(off));
        }
        is_of_a_bypass_that_is_over(controls, &agent, now, payload).then_some(Self::BypassOver)
    }

    /// Whether somebody set what holds it back; that the policy is not known for a moment says nothing.
    pub(crate) fn is_set(self) -> bool {
        self != Self::AutomaticOff(AutomaticOff::PolicyUnknown)
    }
}

fn is_of_a_bypass_that_is_over(
    controls: &Controls,
    agent: &AgentKey,
    now: Timestamp,
    payload: &[u8],
) -> bool {
    let Ok(ByRule { rule: Some(named) }) = read_json(payload) else {
        return false;
    };
    let in_force = controls.bypass_of(agent, now).map(|(set, _)| set.revision);
    named.id == rule_id(agent) && in_force != Some(named.version)
}

/// Takes a decision out of the outbox that the stream does not hold: its request waits for people again, and for rules
/// once the pause or stop has ended. An automatic answer is given anew.
pub(super) fn take_back(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    decision_id: &str,
    request: i64,
    why: &str,
) -> Result<(), StoreError> {
    if !writer.projects {
        return Ok(());
    }
    let Some(record) = requests::records_by_id(batch.tx, &[request])?.pop() else {
        return Ok(());
    };
    let waiting = next(record.state, Step::TakeBack);
    let needs_no_person = matches!(
        record.state,
        State::Expired | State::Withdrawn | State::Rejected
    );
    // What the stream holds by now counts.
    if waiting.is_err() && !needs_no_person {
        return Ok(());
    }
    let Some((payload, sig)) = outbox::take_back(batch.tx, decision_id)? else {
        return Ok(());
    };
    rule_uses::forget(batch.tx, decision_id)?;
    // Should it arrive all the same, it is read as a stranger's.
    if let Some(sig) = sig {
        writer.own.remove(&sig);
    }
    let auto = writer.identity.auto_key().to_string();
    let detail = json!({
        "decision_id": decision_id,
        "payload_digest": Sha256Digest::of_bytes(&payload).to_string(),
        "why": why,
    });
    batch.record(auto, "taken_back", record.key.to_string(), detail);
    let Ok(waiting) = waiting else {
        let open = unanswered::of(batch.tx, &[request])?;
        return automatic_answers::answer(writer, batch, &open);
    };
    let mut change = StateChange {
        delivery: Delivery::Stored,
        ..StateChange::waits_again(&record, waiting)
    };
    // While it was on its way only the stream knew who was first; now nobody was before the agent.
    if let Some(at) = record.withdrawn_at
        && let Ok(state) = next(waiting, Step::Withdraw)
    {
        writer.counts.closed(&record.key.agent_key());
        change.state = state;
        change.verdict = Some("withdrawn".to_owned());
        change.origin = Some("agent".to_owned());
        change.decided_at = Some(at);
    }
    let state = change.state;
    request_states::change_states(batch.tx, &[change])?;
    batch.effects.touched.push(request);
    batch.effects.status = true;
    if state == State::Withdrawn {
        return automatic_answers::answer(writer, batch, &[request]);
    }
    writer.judge.again(request);
    // A stop denies it, and the deadline may be near.
    writer.next_due = None;
    // The votes that still count may be enough.
    close::consider(writer, batch, &[request])
}
