//! Automatic approvals that a brake meets before the bus has them.
//!
//! Refuses to let one out under a brake, and to leave its request to nobody: people decide it then.

use countersign_wire::{AgentKey, Sha256Digest};
use serde::Deserialize;
use serde_json::json;

use super::answers;
use super::bypass::rule_id;
use super::incoming::automatic_approval;
use super::ledger::{Batch, Ledger};
use crate::domain::brakes::{Braked, Brakes};
use crate::domain::life_cycle::{Step, next};
use crate::domain::{Delivery, State, Timestamp};
use crate::store::request_states::{self, StateChange};
use crate::store::{StoreError, outbox, requests, rule_uses};

/// Why an automatic approval may not go out now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeldBack {
    #[error(transparent)]
    Braked(Braked),
    #[error("the bypass that it names is over")]
    BypassOver,
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

impl HeldBack {
    /// None where it may go out, or is no automatic approval.
    pub(crate) fn of(
        brakes: &Brakes,
        policy_known: bool,
        now: Timestamp,
        subject: &str,
        payload: &[u8],
    ) -> Option<Self> {
        let agent = automatic_approval(subject, payload)?;
        if let Err(braked) = brakes.may_approve(&agent, policy_known) {
            return Some(Self::Braked(braked));
        }
        is_of_a_bypass_that_is_over(brakes, &agent, now, payload).then_some(Self::BypassOver)
    }

    /// Whether somebody set what holds it back; that the policy is not known for a moment says nothing.
    pub(crate) fn is_set(self) -> bool {
        self != Self::Braked(Braked::PolicyUnknown)
    }
}

fn is_of_a_bypass_that_is_over(
    brakes: &Brakes,
    agent: &AgentKey,
    now: Timestamp,
    payload: &[u8],
) -> bool {
    let Ok(ByRule { rule: Some(named) }) = serde_json::from_slice(payload) else {
        return false;
    };
    let in_force = brakes.bypass_of(agent, now).map(|(set, _)| set.revision);
    named.id == rule_id(agent) && in_force != Some(named.version)
}

/// Takes an approval out of the outbox of which the stream holds nothing: its request waits for people again,
/// and for rules once the brake has ended.
pub(super) async fn take_back(
    ledger: &mut Ledger,
    batch: &mut Batch<'_>,
    decision_id: &str,
    request: i64,
    why: &str,
) -> Result<(), StoreError> {
    if !ledger.projects {
        return Ok(());
    }
    let Some(record) = requests::records_by_id(batch.tx, &[request]).await?.pop() else {
        return Ok(());
    };
    // What the stream holds by now stands.
    let Ok(waiting) = next(record.state, Step::TakeBack) else {
        return Ok(());
    };
    let Some((payload, sig)) = outbox::take_back(batch.tx, decision_id).await? else {
        return Ok(());
    };
    rule_uses::forget(batch.tx, decision_id).await?;
    // Should it arrive all the same, it is read as a stranger's.
    if let Some(sig) = sig {
        ledger.own.remove(&sig);
    }
    let auto = ledger.identity.auto_key().to_string();
    let detail = json!({
        "decision_id": decision_id,
        "payload_digest": Sha256Digest::of_bytes(&payload).to_string(),
        "why": why,
    });
    batch.record(auto, "taken_back", record.key.to_string(), detail);
    let mut change = StateChange {
        id: request,
        state: waiting,
        verdict: None,
        origin: None,
        decided_at: None,
        delivery: Delivery::Stored,
    };
    // While it was on its way the stream had to tell who was first; now nobody was before the agent.
    if let Some(at) = record.withdrawn_at
        && let Ok(state) = next(waiting, Step::Withdraw)
    {
        ledger.counts.closed(&record.key.agent_key());
        change.state = state;
        change.verdict = Some("withdrawn".to_owned());
        change.origin = Some("agent".to_owned());
        change.decided_at = Some(at);
    }
    let state = change.state;
    request_states::change_states(batch.tx, &[change]).await?;
    batch.gathered.touched.push(request);
    batch.gathered.status = true;
    if state == State::Withdrawn {
        return answers::give(ledger, batch, &[request]).await;
    }
    ledger.judge.again(request);
    // A stop denies it, and the deadline may be near.
    ledger.next_due = None;
    Ok(())
}
