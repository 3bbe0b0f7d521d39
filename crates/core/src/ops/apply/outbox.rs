//! The writer's jobs about signed messages in the outbox, where the publisher leaves them to it.

use std::collections::HashMap;

use serde_json::json;
use tokio::sync::oneshot;

use crate::domain::{RequestRecord, State};
use crate::ops::decide::release_hold;
use crate::ops::job::Job;
use crate::ops::publisher::{Outgoing, Settled};
use crate::ops::votes::close;
use crate::ops::writer_state::{Effects, Tx, WriterState};
use crate::ops::{due, recall};
use crate::store::outbox::{self, Kind};
use crate::store::{Connection, StoreError, audit, requests, rule_uses};

/// See [`crate::ops::publisher::Outcome`].
pub(crate) fn outcome(outgoing: &Outgoing, came: Result<&Settled, String>) -> Option<Job> {
    let (id, request) = (outgoing.id.to_string(), outgoing.request);
    Some(match came {
        Ok(Settled::Stored { .. }) => return None,
        Ok(Settled::TakenBack { why }) => {
            let why = why.clone();
            Job::kept(move |writer, batch| recall::take_back(writer, batch, &id, request, &why))
        }
        Ok(Settled::Lost { .. }) => Job::kept(move |writer, batch| ended(writer, batch, &id, LOST)),
        Ok(Settled::Late) => Job::kept(move |writer, batch| ended(writer, batch, &id, LATE)),
        // Sending it failed; it is tried again.
        Err(error) => Job::passing(move |_, batch| outbox::note_attempt(batch.tx, &id, &error)),
    })
}

/// The subject holds another message.
const LOST: &str = "lost";
/// Nothing is stored and the deadline has passed.
const LATE: &str = "late";

/// A message of this console that will not be stored.
fn ended(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    id: &str,
    state: &str,
) -> Result<(), StoreError> {
    // Beside a console, the console finds the row and lets it expire.
    if state == LATE && !writer.projects {
        return Ok(());
    }
    let Some((kind, request)) = outbox::close(batch.tx, id, state)? else {
        return Ok(());
    };
    rule_uses::forget(batch.tx, id)?;
    let Some(record) = requests::records_by_id(batch.tx, &[request])?.pop() else {
        return Ok(());
    };
    let (action, detail) = match kind {
        Kind::Decision if state == LATE => return due::late(writer, batch, id, &record),
        Kind::Decision => ("lost", json!({ "decision_id": id })),
        Kind::Vote => {
            batch.effects.touched.push(request);
            let action = match state {
                LATE => "vote_late",
                _ => "vote_lost",
            };
            (action, json!({ "vote_id": id }))
        }
    };
    let actor = writer.identity.auto_key().to_string();
    batch.record(actor, action, record.key.to_string(), detail);
    Ok(())
}

/// Another process of this folder may have left something there.
pub(super) fn look_again(writer: &mut WriterState, batch: &mut Tx<'_>) -> Result<(), StoreError> {
    batch.effects.status = true;
    writer.next_due = None;
    rescan(writer, batch)?;
    // A stop that is over may have kept them from a decision.
    close::catch_up(writer, batch)
}

/// Sends the signed decisions in the outbox, whoever put them there; a page at a time.
pub(super) fn rescan(writer: &mut WriterState, batch: &mut Tx<'_>) -> Result<(), StoreError> {
    if writer.read_only.is_some() {
        return Ok(());
    }
    let queued = outbox::queued(batch.tx, writer.rescanned.as_ref())?;
    writer.left_behind = queued.len() >= outbox::PAGE || writer.rescanned.is_some();
    writer.rescanned = match queued.last() {
        Some(last) if queued.len() >= outbox::PAGE => Some((last.release_at, last.id.clone())),
        _ => None,
    };
    let ids: Vec<i64> = queued.iter().map(|row| row.request).collect();
    let records: HashMap<i64, RequestRecord> = requests::records_by_id(batch.tx, &ids)?
        .into_iter()
        .map(|record| (record.id, record))
        .collect();
    for row in queued {
        let record = records.get(&row.request);
        let waits = |states: &[State]| record.filter(|record| states.contains(&record.state));
        let waiting = match row.kind {
            // Answers that need no person have none: their requests are over.
            Kind::Decision => waits(&[State::Queued]),
            // Decided, expired or withdrawn meanwhile: it is of no use any more.
            Kind::Vote if waits(&[State::Pending, State::Holding]).is_none() && writer.projects => {
                ended(writer, batch, &row.id, LATE)?;
                continue;
            }
            Kind::Vote => record,
        };
        let outgoing = Outgoing::of_row(&row, waiting);
        let kept = outgoing.map(|outgoing| Outgoing {
            kept: true,
            ..outgoing
        });
        batch.effects.outgoing.extend(kept);
    }
    Ok(())
}

/// The console stops.
pub(super) fn stop(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    done: oneshot::Sender<()>,
) -> Result<(), StoreError> {
    drop_holds(writer, batch)?;
    batch.answer(done, ());
    Ok(())
}

/// What a console that was killed had only held goes back to waiting.
pub(crate) fn drop_leftover_holds(writer: &WriterState, tx: &Connection) -> Result<(), StoreError> {
    let mut batch = Tx {
        tx,
        now: writer.clock.now(),
        effects: Effects::default(),
    };
    drop_holds(writer, &mut batch)?;
    audit::append(batch.tx, &batch.effects.audit)
}

/// A console that stops sends nothing that was only held.
fn drop_holds(writer: &WriterState, batch: &mut Tx<'_>) -> Result<(), StoreError> {
    if !writer.projects {
        return Ok(());
    }
    let actor = writer.identity.auto_key().to_string();
    loop {
        let held = outbox::held(batch.tx)?;
        let ids: Vec<i64> = held.iter().map(|row| row.request).collect();
        let records = requests::records_by_id(batch.tx, &ids)?;
        if records.is_empty() {
            return Ok(());
        }
        for record in records {
            release_hold(batch, &record, &actor, "hold_dropped")?;
        }
    }
}
