//! Withdraws and tightens: what an agent says of its request afterwards.

use countersign_wire::{RequestKey, Sha256Digest, Tighten};
use serde_json::json;

use crate::domain::life_cycle::{Step, next};
use crate::domain::{RequestRecord, State, Timestamp};
use crate::ops::automatic_answers;
use crate::ops::decisions::judge_again;
use crate::ops::writer_state::{Tx, WriterState};
use crate::store::StoreError;
use crate::store::request_states::{self, StateChange};
use crate::store::tombstones::{self, Tombstone, TombstoneKind};
use crate::store::{decisions, requests};

/// Action of a tighten that changed nothing.
pub(crate) const IGNORED: &str = "tighten_ignored";
/// Its detail's `code` where it could not be read.
pub(crate) const UNREADABLE: &str = "unreadable";
/// Its detail's `code` where it had moved the deadline before a decision came that was stored earlier.
pub(crate) const AFTER_DECISION: &str = "after_decision";

fn record_of(batch: &mut Tx<'_>, key: &RequestKey) -> Result<Option<RequestRecord>, StoreError> {
    let mut found = requests::records(batch.tx, std::slice::from_ref(key))?;
    Ok(found.pop())
}

pub(super) fn withdraw(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    key: &RequestKey,
    raw: &[u8],
    at: Timestamp,
) -> Result<(), StoreError> {
    let Some(record) = record_of(batch, key)? else {
        return keep(writer, batch, key, TombstoneKind::Withdraw, raw, at);
    };
    let digest = Sha256Digest::of_bytes(raw).to_string();
    let actor = key.agent_key().to_string();
    batch.record(
        actor,
        "withdraw",
        key.to_string(),
        json!({ "payload_digest": digest }),
    );
    requests::note_withdrawn(batch.tx, record.id, at)?;
    // A queued decision is on its way: the stream shows which of the two was first.
    let Ok(state) = next(record.state, Step::Withdraw) else {
        return judge_again(writer, batch, key);
    };
    if record.state == State::Holding {
        crate::store::outbox::delete_held(batch.tx, record.id)?;
    }
    writer.counts.closed(&key.agent_key());
    let change = StateChange {
        id: record.id,
        state,
        verdict: Some("withdrawn".to_owned()),
        origin: Some("agent".to_owned()),
        decided_at: Some(at),
        delivery: record.delivery,
    };
    request_states::change_states(batch.tx, &[change])?;
    batch.effects.touched.push(record.id);
    if writer.caught_up {
        automatic_answers::answer(writer, batch, &[record.id])?;
    }
    Ok(())
}

/// Keeps what came before its request; it is applied, and audited again, when the request comes.
fn keep(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    key: &RequestKey,
    kind: TombstoneKind,
    raw: &[u8],
    at: Timestamp,
) -> Result<(), StoreError> {
    writer.counts.tombstones += 1;
    let action = match kind {
        TombstoneKind::Withdraw => "withdraw_early",
        TombstoneKind::Tighten => "tighten_early",
    };
    batch.record(
        key.agent_key().to_string(),
        action,
        key.to_string(),
        json!({ "payload_digest": Sha256Digest::of_bytes(raw).to_string() }),
    );
    let stone = Tombstone {
        raw: raw.to_vec(),
        at,
    };
    tombstones::insert(batch.tx, key, kind, &stone)
}

pub(super) fn tighten(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    key: &RequestKey,
    body: Option<&Tighten>,
    raw: &[u8],
    at: Timestamp,
) -> Result<(), StoreError> {
    let Some(record) = record_of(batch, key)? else {
        return keep(writer, batch, key, TombstoneKind::Tighten, raw, at);
    };
    let Some(body) = body else {
        tracing::warn!(request = %key, "an unreadable tighten was ignored");
        let digest = Sha256Digest::of_bytes(raw).to_string();
        let detail = json!({ "code": UNREADABLE, "payload_digest": digest });
        batch.record(
            key.agent_key().to_string(),
            IGNORED,
            key.to_string(),
            detail,
        );
        return Ok(());
    };
    // What an agent says after the decision does not move the deadline that the decision was judged by.
    let decision = decisions::stored(batch.tx, key)?;
    if decision.is_some_and(|decision| decision.stored_at < at.0) {
        ignored(batch, key, raw);
        return Ok(());
    }
    let Some((Some(requested), stored)) = requests::clocks(batch.tx, record.id)? else {
        ignored(batch, key, raw);
        return Ok(());
    };
    let wanted: Timestamp = body.expires_at.get().into();
    let deadline = stored.plus_ms(wanted.since_ms(requested).max(0));
    if !requests::tighten(batch.tx, record.id, deadline, at)? {
        ignored(batch, key, raw);
        return Ok(());
    }
    batch.effects.touched.push(record.id);
    batch.record(
        key.agent_key().to_string(),
        "tighten",
        key.to_string(),
        json!({
            "payload_digest": Sha256Digest::of_bytes(raw).to_string(),
            "deadline_ms": deadline.min(record.deadline_at).0,
        }),
    );
    writer.due_at(deadline);
    // A decision that was stored after it may have been read before it.
    judge_again(writer, batch, key)
}

/// A tighten that changes nothing: not the first, or stored after the decision.
fn ignored(batch: &mut Tx<'_>, key: &RequestKey, raw: &[u8]) {
    batch.record(
        key.agent_key().to_string(),
        IGNORED,
        key.to_string(),
        json!({ "payload_digest": Sha256Digest::of_bytes(raw).to_string() }),
    );
}
