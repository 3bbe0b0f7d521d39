//! Timed work: releases held approvals and expires requests.
//!
//! It starts once everything on the bus is known: what looks overdue may have been decided.

use std::collections::HashMap;
use std::time::Duration;

use countersign_wire::Sha256Digest;
use serde_json::json;
use tokio::time::Instant;

use super::automatic_answers;
use super::decide::release_hold;
use super::draft::seal;
use super::execution;
use super::ladder;
use super::publisher::Outgoing;
use super::quorum;
use super::stopped;
use super::votes::close;
use super::writer_state::{Tx, WriterState};
use crate::domain::hold::LONGEST_HOLD_MS;
use crate::domain::life_cycle::{Step, next};
use crate::domain::{Delivery, RequestRecord, State, Timestamp};
use crate::store::StoreError;
use crate::store::outbox::{self, Kind, OutboxRow};
use crate::store::request_states::{self, StateChange};
use crate::store::requests;

const AT_ONCE: i64 = 500;
/// As long as the server may take to say its time.
const ASKED_MS: i64 = 50;
/// Between two looks at whether it has said it, where it does not.
const LONGEST_ASKED_MS: i64 = 2_000;

/// Nothing waits: other processes' writes and new requests ask for a look themselves.
const NEVER: Timestamp = Timestamp(i64::MAX);

/// Does everything that is due, and notes when to look again.
pub(crate) fn run(writer: &mut WriterState, batch: &mut Tx<'_>) -> Result<(), StoreError> {
    if !writer.projects || writer.read_only.is_some() {
        writer.next_due = Some(NEVER);
        return Ok(());
    }
    if !writer.caught_up {
        // A decision that the bus does not take is reported also while the bus is away.
        let sweep = ladder::sweep(writer, batch)?;
        writer.next_due = Some(sweep.unwrap_or(NEVER));
        return Ok(());
    }
    release(writer, batch)?;
    let overdue = overdue(writer, batch)?;
    expire(writer, batch, &overdue)?;
    let stop = stopped::deny(writer, batch)?;
    let answer = automatic_answers::look_again(writer, batch)?;
    let closing = close::look_again(writer, batch)?;
    let release = next_release(batch)?;
    let deadline = requests::next_deadline(batch.tx)?;
    let deadline = deadline.map(|deadline| match writer.overdue {
        Some((since, _)) => deadline.max(batch.now.plus_ms(look_again_in(since.elapsed()))),
        None => deadline,
    });
    let look = execution::look_again(writer, batch)?;
    let sweep = ladder::sweep(writer, batch)?;
    let waits = [deadline, release, look, sweep, answer, closing, stop];
    let next = waits.into_iter().flatten().min();
    writer.next_due = Some(next.unwrap_or(NEVER));
    Ok(())
}

/// The requests whose deadline has passed, also by a clock that was asked after they came: the server's may have been
/// set back since it was asked before, and an answer is final.
fn overdue(writer: &mut WriterState, batch: &mut Tx<'_>) -> Result<Vec<i64>, StoreError> {
    let mut overdue = requests::overdue(batch.tx, batch.now, AT_ONCE)?;
    let Some(last) = overdue.iter().max() else {
        writer.overdue = None;
        return Ok(overdue);
    };
    let (since, up_to) = *writer.overdue.get_or_insert((Instant::now(), *last));
    if !writer.clock.is_asked_since(since) {
        return Ok(Vec::new());
    }
    writer.overdue = None;
    overdue.retain(|id| *id <= up_to);
    Ok(overdue)
}

/// The longer the server has not said its time, the more rarely it is looked for, ms.
fn look_again_in(asked: Duration) -> i64 {
    let eighth = i64::try_from(asked.as_millis() / 8).unwrap_or(i64::MAX);
    eighth.clamp(ASKED_MS, LONGEST_ASKED_MS)
}

/// When the next held approval or vote is released. What was held by a clock that ran ahead and was set back since is
/// held as long as anything may be, from now on.
fn next_release(batch: &mut Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    let release = outbox::next_release(batch.tx)?;
    if release <= Some(batch.now.plus_ms(LONGEST_HOLD_MS)) {
        return Ok(release);
    }
    outbox::shorten_holds(batch.tx, batch.now, LONGEST_HOLD_MS)?;
    outbox::next_release(batch.tx)
}

/// Signs held approvals and votes whose time has come.
fn release(writer: &WriterState, batch: &mut Tx<'_>) -> Result<(), StoreError> {
    let due = outbox::due(batch.tx, batch.now)?;
    if due.is_empty() {
        return Ok(());
    }
    let Some(bus) = &writer.bus else {
        return Ok(());
    };
    let ids: Vec<i64> = due.iter().map(|row| row.request).collect();
    let mut held: HashMap<i64, OutboxRow> = due.into_iter().map(|row| (row.request, row)).collect();
    let mut signed = Vec::new();
    let mut changes = Vec::new();
    for mut record in requests::records_by_id(batch.tx, &ids)? {
        let Some(mut row) = held.remove(&record.id) else {
            continue;
        };
        let (action, id, step) = match row.kind {
            Kind::Decision => ("decide", "decision_id", Step::Queue),
            Kind::Vote => ("cast", "vote_id", Step::Vote),
        };
        let decides = row.kind == Kind::Decision;
        if decides {
            quorum::look(writer, batch, &mut record)?;
        }
        // A vote is final, even one that counts for nothing. Rules that came while a decision was held may ask for others
        // too: then it is decided again, as a vote.
        let may = writer.may_release(&row.signer, &record, batch.now)
            && !(decides && record.approvals_needed > 1);
        let (true, Ok(state), Ok(sig)) = (
            may,
            next(record.state, step),
            seal(&writer.identity, &bus.realm, &row),
        ) else {
            let actor = writer.identity.auto_key().to_string();
            release_hold(batch, &record, &actor, "hold_dropped")?;
            continue;
        };
        let digest = Sha256Digest::of_bytes(&row.payload).to_string();
        let detail = json!({ id: row.id, "payload_digest": digest });
        batch.record(row.signer.clone(), action, record.key.to_string(), detail);
        changes.push(match decides {
            true => released(&row, record.id, state, record.delivery, batch.now),
            false => StateChange::waits_again(&record, state),
        });
        batch.effects.touched.push(record.id);
        row.sig = Some(sig.clone());
        let outgoing = Outgoing::of_row(&row, Some(&record));
        batch.effects.outgoing.extend(outgoing);
        signed.push((row.id, sig));
    }
    outbox::release(batch.tx, &signed)?;
    request_states::change_states(batch.tx, &changes)
}

fn released(
    row: &OutboxRow,
    id: i64,
    state: State,
    delivery: Delivery,
    now: Timestamp,
) -> StateChange {
    let body: serde_json::Value = serde_json::from_slice(&row.payload).unwrap_or_default();
    StateChange {
        id,
        state,
        verdict: body["verdict"].as_str().map(str::to_owned),
        origin: body["origin"].as_str().map(str::to_owned),
        decided_at: Some(now),
        delivery: delivery.raised_to(Delivery::Decided),
    }
}

fn expire(writer: &mut WriterState, batch: &mut Tx<'_>, overdue: &[i64]) -> Result<(), StoreError> {
    if overdue.is_empty() {
        return Ok(());
    }
    let mut changes = Vec::new();
    for record in requests::records_by_id(batch.tx, overdue)? {
        let Ok(state) = next(record.state, Step::Expire) else {
            continue;
        };
        writer.counts.closed(&record.key.agent_key());
        let actor = writer.identity.auto_key().to_string();
        batch.record(
            actor,
            "expire",
            record.key.to_string(),
            json!({
                "deadline_ms": record.deadline_at.0,
            }),
        );
        changes.push(expired(record.id, state, record.delivery, batch.now));
        batch.effects.touched.push(record.id);
    }
    request_states::change_states(batch.tx, &changes)?;
    automatic_answers::answer(writer, batch, overdue)
}

fn expired(id: i64, state: State, delivery: Delivery, now: Timestamp) -> StateChange {
    StateChange {
        id,
        state,
        verdict: Some("expired".to_owned()),
        origin: Some("timeout".to_owned()),
        decided_at: Some(now),
        delivery,
    }
}

/// A queued decision missed the deadline before anything of it was stored: it expired.
pub(crate) fn late(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    decision_id: &str,
    record: &RequestRecord,
) -> Result<(), StoreError> {
    let Ok(state) = next(record.state, Step::Late) else {
        return Ok(());
    };
    writer.counts.closed(&record.key.agent_key());
    let actor = writer.identity.auto_key().to_string();
    batch.record(
        actor,
        "late",
        record.key.to_string(),
        json!({ "decision_id": decision_id }),
    );
    request_states::change_states(
        batch.tx,
        &[expired(record.id, state, Delivery::Stored, batch.now)],
    )?;
    batch.effects.touched.push(record.id);
    automatic_answers::answer(writer, batch, &[record.id])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_say_its_time_is_looked_for_ever_more_rarely() {
        let after = |ms| look_again_in(Duration::from_millis(ms));
        assert_eq!([0, 50, 400].map(after), [50; 3]);
        assert_eq!([800, 8_000].map(after), [100, 1_000]);
        assert_eq!([16_000, u64::MAX].map(after), [2_000; 2]);
    }
}
