//! Projects `CS_DECISIONS`: what is stored there is what happened, whoever decided.
//!
//! A stored decision that does not verify is void and raises an alarm.

mod verify;

use std::collections::{HashMap, HashSet};

use countersign_wire::{DecisionFault, Origin, RequestKey, Sha256Digest, Stream, Verdict};
use serde_json::json;
use uuid::Uuid;

use self::verify::{Stored, verify};
use super::arrivals::{AFTER_DECISION, IGNORED};
use super::attested::{self, StoredAt, stored_at};
use super::decision_reading::Reading;
use super::execution;
use super::incoming::IncomingDecision;
use super::ladder;
use super::publisher::Settled;
use super::realm::feed;
use super::votes;
use super::writer_state::{CONFLICT, Tx, WriterState};
use crate::domain::life_cycle::{Step, StoredAs, next};
use crate::domain::{AlarmCode, Delivery, RequestRecord, State, Timestamp};
use crate::store::StoreError;
use crate::store::decisions::{self, Adopted, NewDecision};
use crate::store::republish::{self, Again};
use crate::store::request_states::{self, StateChange};
use crate::store::requests;
use crate::store::{findings, outbox, rule_uses, unanswered};

/// Stores a batch of the stream with its position.
pub(crate) fn apply(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    messages: &[IncomingDecision],
) -> Result<(), StoreError> {
    let Some(unread) = writer.unread(batch.tx, messages)? else {
        return Ok(());
    };
    let keys: Vec<RequestKey> = unread.iter().filter_map(|m| m.key.clone()).collect();
    let records: HashMap<RequestKey, RequestRecord> = requests::records(batch.tx, &keys)?
        .into_iter()
        .map(|record| (record.key.clone(), record))
        .collect();
    let slots = unread.iter().filter_map(|m| Some((m.slot?, m)));
    feed::apply(writer, batch, &unread.epoch, slots)?;
    let mut rows = Vec::with_capacity(unread.len());
    let mut given = Vec::new();
    for message in *unread {
        let Some(key) = message.key.clone() else {
            // Votes share the stream; anything else on it is nobody's decision.
            match &message.vote {
                Some(vote) => given.push((message, vote)),
                None if message.slot.is_some() => {}
                None => set_aside(batch, &unread.epoch, message, "bad_subject")?,
            }
            continue;
        };
        let stored_at = stored_at(writer, &unread.epoch, message);
        let reading = records.get(&key).map(|record| {
            let stored = Stored {
                payload: &message.raw,
                signer: message.signer.as_deref(),
                sig: message.sig.as_deref(),
                stored_at: stored_at.at,
                sequence: stored_at.sequence,
            };
            verify(writer, record, stored)
        });
        rows.push((message, key, stored_at, reading));
    }
    insert(writer, batch, &unread.epoch, rows, &records)?;
    votes::apply(writer, batch, &unread.epoch, &given)?;
    writer.sweep_at(
        unread
            .last
            .stamp
            .plus_ms(ladder::first_look_ms(&writer.stall_limits)),
    );
    writer.projected(batch, unread)
}

type Row<'m> = (&'m IncomingDecision, RequestKey, StoredAt, Option<Reading>);

fn insert(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    epoch: &str,
    rows: Vec<Row<'_>>,
    records: &HashMap<RequestKey, RequestRecord>,
) -> Result<(), StoreError> {
    let new: Vec<NewDecision<'_>> = rows
        .iter()
        .map(|(message, key, stored_at, reading)| NewDecision {
            request: records.get(key).map(|record| record.id),
            key: key.clone(),
            body: &message.body,
            payload: &message.raw,
            signer: message.signer.as_deref(),
            sig: message.sig.as_deref(),
            stream_epoch: epoch,
            stream_seq: message.at.seq,
            stored_at: stored_at.at,
            effective: reading.as_ref().map(|reading| reading.effective.as_str()),
            fault: reading
                .as_ref()
                .and_then(|r| r.fault)
                .map(DecisionFault::as_str),
        })
        .collect();
    let inserted = decisions::insert(batch.tx, &new)?;
    let keys: Vec<RequestKey> = new.into_iter().map(|row| row.key).collect();
    let mut changes = Vec::new();
    let mut settled = Vec::new();
    let mut by_rules = Vec::new();
    let mut elsewhere = Vec::new();
    for (message, key, stored_at, reading) in rows {
        let digest = Sha256Digest::of_bytes(&message.raw).to_string();
        let actor = message
            .signer
            .clone()
            .unwrap_or_else(|| "unsigned".to_owned());
        // Messages of a stream come in its order.
        let is_new = inserted.binary_search(&message.at.seq).is_ok();
        let again = Again {
            request: &key,
            voter: None,
            payload: &message.raw,
            sig: message.sig.as_deref(),
            epoch,
            seq: message.at.seq,
        };
        if !is_new && let Some(first) = republish::moved(batch.tx, again)? {
            attested::compare(batch, &key, &stored_at, first);
            continue;
        }
        if !is_new {
            let detail = json!({ "payload_digest": digest, "stream_seq": message.at.seq });
            set_aside(batch, epoch, message, CONFLICT)?;
            batch.record(actor, "conflict", key.to_string(), detail);
            // Its delivery is watched no longer.
            batch
                .effects
                .touched
                .extend(records.get(&key).map(|record| record.id));
            continue;
        }
        let mut detail = json!({
            "payload_digest": digest,
            "stream_seq": message.at.seq,
            "decision_id": message.body.decision_id.as_deref().map(cut),
        });
        if stored_at.by.is_some() {
            detail["attested"] = stored_at.detail();
        }
        let (Some(record), Some(reading)) = (records.get(&key), reading) else {
            writer.counts.orphans += 1;
            batch.record(actor, "decision", key.to_string(), detail);
            continue;
        };
        detail["effective"] = json!(reading.effective);
        batch.record(actor, "decision", key.to_string(), detail);
        let answer = Answer {
            record,
            reading: &reading,
            origin: message.body.origin.as_deref(),
            stored_at: stored_at.at,
        };
        changes.extend(settle(writer, batch, answer)?);
        let here = [writer.identity.auto_key(), writer.identity.human_key()];
        let is_ours = here
            .iter()
            .any(|key| Some(key.as_str()) == message.signer.as_deref());
        // The header alone says who signed nothing: anybody writes it on a decision that does not verify.
        if is_ours && reading.fault.is_none() {
            writer.outbox_moved_at = Some(batch.now);
        } else {
            elsewhere.push(record.id);
        }
        let own = message.sig.as_ref().and_then(|sig| writer.own.remove(sig));
        if own.is_none() && message.body.rule_id.is_some() {
            by_rules.push(record.id);
        }
        report(writer, batch, message, &reading);
        let decision_id = message.body.decision_id.as_deref();
        settled.push((record.id, None, decision_id.unwrap_or_default()));
    }
    outbox::settle(batch.tx, &settled, &changes)?;
    rule_uses::take_up(batch.tx, &by_rules)?;
    findings::forget(batch.tx, &elsewhere)?;
    execution::take_up(writer, batch, &keys)
}

/// Answers who waits for a decision of this process, once its place on the stream is committed.
fn report(writer: &WriterState, batch: &mut Tx<'_>, message: &IncomingDecision, reading: &Reading) {
    let id: Option<Uuid> = message
        .body
        .decision_id
        .as_deref()
        .and_then(|id| id.parse().ok());
    let Some(id) = id.filter(|id| writer.settlements.awaits(id)) else {
        return;
    };
    let seq = u64::try_from(message.at.seq).unwrap_or(0);
    let reads = Some(match reading.stored_as {
        StoredAs::Decided => State::Decided,
        StoredAs::Expired => State::Expired,
        StoredAs::Withdrawn => State::Withdrawn,
        StoredAs::Rejected => State::Rejected,
        StoredAs::Void => State::Void,
    });
    let settlements = writer.settlements.clone();
    batch.reply(move || settlements.settle(&id, Settled::Stored { seq, reads }));
}

/// An agent-written id in an audit entry: bounded, since a void decision can hold anything.
fn cut(text: &str) -> String {
    text.chars().take(64).collect()
}

/// A decision that was read, and the request that it answers.
struct Answer<'a> {
    record: &'a RequestRecord,
    reading: &'a Reading,
    origin: Option<&'a str>,
    stored_at: Timestamp,
}

/// What it changes of its request; none where that is over already.
fn settle(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    answer: Answer<'_>,
) -> Result<Option<StateChange>, StoreError> {
    let Answer {
        record,
        reading,
        origin,
        stored_at,
    } = answer;
    if let Some(fault) = reading.fault {
        let key = record.key.to_string();
        let actor = writer.identity.auto_key().to_string();
        tracing::error!(request = %key, fault = fault.as_str(), "a stored decision does not verify");
        batch.alarm(&actor, AlarmCode::VoidDecision, &key)?;
    }
    put_back_deadline(writer, batch, record, stored_at)?;
    let Ok(state) = next(record.state_on_the_bus(), Step::Stored(reading.stored_as)) else {
        return Ok(None);
    };
    if record.refused_here && state != State::Rejected {
        unanswered::forgive(batch.tx, record.id)?;
    }
    if origin == Some(Origin::Operator.as_str()) && lets_run(&reading.effective) {
        batch.effects.approved.push((record.id, stored_at));
    }
    if record.state.is_open() && !state.is_open() {
        writer.counts.closed(&record.key.agent_key());
    }
    if record.approvals_needed > 1 {
        // A vote that is held or on its way is of no use any more.
        outbox::close_votes(batch.tx, record.id)?;
    }
    if origin == Some(Origin::Operator.as_str()) && state == State::Decided {
        writer.habits.decided(record.id);
    }
    batch.effects.touched.push(record.id);
    Ok(Some(StateChange {
        id: record.id,
        state,
        verdict: Some(reading.effective.clone()),
        origin: origin.map(str::to_owned),
        decided_at: Some(stored_at),
        delivery: record.delivery.raised_to(Delivery::OnBus),
    }))
}

/// A tighten that was stored after the decision and read before it: it moved a deadline that was kept.
fn put_back_deadline(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    record: &RequestRecord,
    stored_at: Timestamp,
) -> Result<(), StoreError> {
    if record.tightened_at.is_none_or(|at| at <= stored_at) {
        return Ok(());
    }
    request_states::loosen(batch.tx, record)?;
    let actor = writer.identity.auto_key().to_string();
    let detail = json!({ "code": AFTER_DECISION, "deadline_ms": record.first_deadline_at.0 });
    batch.record(actor, IGNORED, record.key.to_string(), detail);
    Ok(())
}

/// Whether a person who gave this verdict has accepted the tool as it is described.
fn lets_run(effective: &str) -> bool {
    Verdict::from_word(effective).is_some_and(Verdict::lets_it_run)
}

/// Judges a decision again: a withdraw or a tighten that was stored before it came later on its stream.
pub(super) fn judge_again(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    key: &RequestKey,
) -> Result<(), StoreError> {
    let Some(stored) = decisions::stored(batch.tx, key)? else {
        return Ok(());
    };
    let record = requests::records(batch.tx, std::slice::from_ref(key))?;
    let Some(record) = record.first() else {
        return Ok(());
    };
    let stored_at = Timestamp(stored.stored_at);
    let reading = verify(
        writer,
        record,
        Stored {
            payload: &stored.payload,
            signer: stored.key.as_deref(),
            sig: stored.sig.as_deref(),
            stored_at,
            sequence: u64::try_from(stored.stream_seq).unwrap_or(0),
        },
    );
    if stored.effective.as_deref() == Some(reading.effective.as_str()) {
        return Ok(());
    }
    let fault = reading.fault.map(DecisionFault::as_str);
    decisions::change_effective(batch.tx, stored.id, &reading.effective, fault)?;
    let actor = writer.identity.auto_key().to_string();
    let detail = json!({ "effective": reading.effective, "stream_seq": stored.stream_seq });
    batch.record(actor, "judged_again", key.to_string(), detail);
    let answer = Answer {
        record,
        reading: &reading,
        origin: stored.origin.as_deref(),
        stored_at,
    };
    if let Some(change) = settle(writer, batch, answer)? {
        request_states::change_states(batch.tx, &[change])?;
    }
    execution::review(writer, batch, std::slice::from_ref(key))
}

/// Joins decisions that came before their requests. Returns the requests' rows.
pub(super) fn join_orphans(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    keys: &[RequestKey],
) -> Result<HashSet<i64>, StoreError> {
    let orphans = decisions::orphans(batch.tx, keys)?;
    if orphans.is_empty() {
        return Ok(HashSet::new());
    }
    let records: HashMap<String, RequestRecord> = requests::records(batch.tx, keys)?
        .into_iter()
        .map(|record| (record.key.to_string(), record))
        .collect();
    let (mut changes, mut adopted, mut settled) = (Vec::new(), Vec::new(), Vec::new());
    for orphan in &orphans {
        let name = format!("{}/{}/{}", orphan.ws, orphan.agent, orphan.request_id);
        let Some(record) = records.get(&name) else {
            continue;
        };
        let stored_at = Timestamp(orphan.stored_at);
        let reading = verify(
            writer,
            record,
            Stored {
                payload: &orphan.payload,
                signer: orphan.key.as_deref(),
                sig: orphan.sig.as_deref(),
                stored_at,
                sequence: u64::try_from(orphan.stream_seq).unwrap_or(0),
            },
        );
        adopted.push(Adopted {
            id: orphan.id,
            request: record.id,
            effective: reading.effective.clone(),
            fault: reading.fault.map(DecisionFault::as_str),
        });
        let decision_id = orphan.decision_id.as_deref();
        settled.push((record.id, None, decision_id.unwrap_or_default()));
        writer.counts.orphans -= 1;
        let actor = writer.identity.auto_key().to_string();
        let detail = json!({ "effective": reading.effective, "stream_seq": orphan.stream_seq });
        batch.record(actor, "judged", name, detail);
        let answer = Answer {
            record,
            reading: &reading,
            origin: orphan.origin.as_deref(),
            stored_at,
        };
        changes.extend(settle(writer, batch, answer)?);
    }
    decisions::adopt(batch.tx, &adopted)?;
    outbox::settle(batch.tx, &settled, &changes)?;
    let judged: Vec<i64> = adopted.iter().map(|row| row.request).collect();
    rule_uses::take_up(batch.tx, &judged)?;
    findings::forget(batch.tx, &judged)?;
    for row in &adopted {
        ladder::found_late(writer, batch, row.id, row.request)?;
    }
    execution::review(writer, batch, keys)?;
    Ok(adopted.into_iter().map(|row| row.request).collect())
}

fn set_aside(
    batch: &mut Tx<'_>,
    epoch: &str,
    message: &IncomingDecision,
    code: &str,
) -> Result<(), StoreError> {
    let stream = Stream::Decisions;
    let kept = (message.at, message.subject.as_str(), &message.raw[..]);
    batch.set_aside((stream, epoch), kept, (code, ""))
}
