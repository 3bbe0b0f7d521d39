//! The writer's jobs about signed decisions in the outbox, where the publisher leaves them to it.

use std::collections::HashMap;

use serde_json::json;
use tokio::sync::oneshot;

use crate::domain::{RequestRecord, State};
use crate::ops::decide::release_hold;
use crate::ops::draft::request_of;
use crate::ops::job::Job;
use crate::ops::publisher::{Carried, Outgoing, Settled};
use crate::ops::votes::{cast, close};
use crate::ops::writer_state::{Effects, Tx, WriterState};
use crate::ops::{due, recall};
use crate::store::{Connection, StoreError, audit, outbox, requests, rule_uses, vote_outbox};

/// See [`crate::ops::publisher::Outcome`].
pub(crate) fn outcome(outgoing: &Outgoing, came: Result<&Settled, String>) -> Option<Job> {
    let (id, request) = (outgoing.decision_id.to_string(), outgoing.request);
    let carried = outgoing.carried;
    Some(match (came, carried) {
        (Ok(Settled::Stored { .. }), _) => return None,
        (Err(error), _) => Job::passing(move |_, batch| attempt(batch, carried, &id, &error)),
        (Ok(Settled::TakenBack { why }), _) => {
            let why = why.clone();
            Job::kept(move |writer, batch| recall::take_back(writer, batch, &id, request, &why))
        }
        (Ok(settled), Carried::Vote) => {
            let late = *settled == Settled::Late;
            Job::kept(move |writer, batch| cast::ended(writer, batch, &id, late))
        }
        (Ok(Settled::Lost { .. }), _) => Job::kept(move |writer, batch| lost(writer, batch, &id)),
        (Ok(Settled::Late), _) => {
            Job::kept(move |writer, batch| due::late(writer, batch, &id, request))
        }
    })
}

/// A decision of this console was too late: the stream already holds another one.
fn lost(writer: &WriterState, batch: &mut Tx<'_>, decision_id: &str) -> Result<(), StoreError> {
    let Some(subject) = outbox::close_lost(batch.tx, decision_id)? else {
        return Ok(());
    };
    rule_uses::forget(batch.tx, decision_id)?;
    let name = request_of(&subject).map_or(subject, |key| key.to_string());
    let actor = writer.identity.auto_key().to_string();
    batch.record(actor, "lost", name, json!({ "decision_id": decision_id }));
    Ok(())
}

/// Sending one failed; it is tried again.
fn attempt(batch: &mut Tx<'_>, carried: Carried, id: &str, error: &str) -> Result<(), StoreError> {
    match carried {
        Carried::Decision => outbox::note_attempt(batch.tx, id, error),
        Carried::Vote => vote_outbox::note_attempt(batch.tx, id, error),
    }
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
        Some(last) if queued.len() >= outbox::PAGE => {
            Some((last.release_at, last.decision_id.clone()))
        }
        _ => None,
    };
    if cast::rescan(writer, batch)? {
        writer.left_behind = true;
    }
    let ids: Vec<i64> = queued.iter().map(|row| row.request).collect();
    let records: HashMap<i64, RequestRecord> = requests::records_by_id(batch.tx, &ids)?
        .into_iter()
        .map(|record| (record.id, record))
        .collect();
    for row in queued {
        let (Some(sig), Ok(decision_id)) = (row.sig.clone(), row.decision_id.parse()) else {
            continue;
        };
        // Answers that need no person have none: their requests are over.
        let record = records.get(&row.request);
        let decided = record.filter(|record| record.state == State::Queued);
        batch.effects.outgoing.push(Outgoing {
            kept: true,
            ..Outgoing::of_row(&row, (decision_id, sig), decided)
        });
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
    cast::drop_held(batch, &actor)?;
    loop {
        let held = outbox::held(batch.tx)?;
        let keys: Vec<_> = held
            .iter()
            .filter_map(|row| request_of(&row.subject))
            .collect();
        let records = requests::records(batch.tx, &keys)?;
        if records.is_empty() {
            return Ok(());
        }
        for record in records {
            release_hold(batch, &record, &actor, "hold_dropped")?;
        }
    }
}
