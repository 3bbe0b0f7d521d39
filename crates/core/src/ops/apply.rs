//! One transaction: every job in order, then what time makes due, then the audit entries.

mod bus_state;
mod outbox;

use serde_json::Value;
use tokio::sync::oneshot;

pub(crate) use self::outbox::drop_leftover_holds;
use super::job::{DecideCommand, DecideReply, Job, Note};
use super::publisher::Settlements;
use super::votes::cast;
use super::writer_state::{Effects, Tx, WriterState};
use super::{
    alarms, answer_feed, arrivals, automatic, decide, decisions, details, due, enroll, gates,
    habits, heartbeats, hellos, ladder, policy_intake, practice, reader, recall, reports,
    retention, search_index, spans, typed_targets,
};
use crate::domain::Timestamp;
use crate::store::audit::Entry;
use crate::store::{Connection, StoreError, audit, tools};

/// Verdicts that follow one another are judged together.
type Verdicts = Vec<(Box<DecideCommand>, DecideReply)>;

/// Applies the jobs. On an error the transaction must not be committed.
pub(crate) fn apply_all(
    writer: &mut WriterState,
    tx: &Connection,
    now: Timestamp,
    settlements: &Settlements,
    jobs: Vec<Job>,
) -> Result<Effects, StoreError> {
    let mut batch = Tx {
        tx,
        now,
        effects: Effects::default(),
    };
    let mut verdicts = Verdicts::new();
    for job in jobs {
        if !matches!(job, Job::Decide(..)) {
            let given = std::mem::take(&mut verdicts);
            decide::apply(writer, &mut batch, settlements, given)?;
        }
        apply(writer, &mut batch, &mut verdicts, job)?;
    }
    decide::apply(writer, &mut batch, settlements, verdicts)?;
    finish(writer, &mut batch)?;
    Ok(batch.effects)
}

fn finish(writer: &mut WriterState, batch: &mut Tx<'_>) -> Result<(), StoreError> {
    if writer.next_due.is_none_or(|due| due <= batch.now) {
        due::run(writer, batch)?;
    }
    habits::run(writer, batch)?;
    automatic::run(writer, batch)?;
    if !batch.effects.outgoing.is_empty() {
        // Here and not where each of them is made: whoever forgot it would have one that the bus does not take go unseen.
        writer.sweep_at(batch.now.plus_ms(writer.stall_limits.on_bus_ms));
    }
    ladder::moved(writer, batch)?;
    let approved = std::mem::take(&mut batch.effects.approved);
    tools::note_approved(batch.tx, &approved)?;
    let entries: Vec<Entry> = std::mem::take(&mut batch.effects.audit);
    audit::append(batch.tx, &entries)
}

fn apply(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    verdicts: &mut Verdicts,
    job: Job,
) -> Result<(), StoreError> {
    // A bus that is not the remembered one is not projected: the position stays where it is.
    if job.is_from_stream() && writer.read_only.is_some() {
        return Ok(());
    }
    match job {
        Job::Requests(messages) => arrivals::apply(writer, batch, &messages),
        Job::Decisions(messages) => decisions::apply(writer, batch, &messages),
        Job::Receipts(messages) => reports::apply_receipts(writer, batch, &messages),
        Job::Hellos(messages) => hellos::apply(writer, batch, &messages),
        Job::Spans(messages) => spans::apply(writer, batch, &messages),
        Job::Heartbeats(heard) => heartbeats::note(batch, &heard),
        Job::Bound(binding) => bus_state::bound(writer, batch, binding),
        Job::CaughtUp(reported) => bus_state::caught_up(writer, batch, reported),
        Job::ReportsKnown => bus_state::reports_known(writer),
        // Whatever waits for them is judged in each transaction.
        Job::HelloBarrier => Ok(()),
        Job::Lagging => bus_state::lagging(writer, batch),
        Job::ReadOnly(why) => bus_state::read_only(writer, batch, why),
        Job::Recovered {
            epochs,
            detail,
            done,
        } => bus_state::recovered(writer, batch, &epochs, detail, done),
        Job::Decide(command, reply) => {
            verdicts.push((command, reply));
            Ok(())
        }
        Job::Undo(key, reply) => decide::undo(writer, batch, &key, reply),
        Job::Late {
            decision_id,
            request,
        } => due::late(writer, batch, &decision_id.to_string(), request),
        Job::TakeBack {
            decision_id,
            request,
            why,
        } => recall::take_back(writer, batch, &decision_id.to_string(), request, &why),
        Job::Lost { decision_id } => outbox::lost(writer, batch, &decision_id.to_string()),
        Job::VoteEnded { vote_id, late } => cast::ended(writer, batch, &vote_id.to_string(), late),
        Job::Attempt {
            carried,
            decision_id,
            error,
        } => outbox::attempt(batch, carried, &decision_id.to_string(), &error),
        Job::Rescan => outbox::look_again(writer, batch),
        Job::Stop(done) => outbox::stop(writer, batch, done),
        Job::Policy(row, entries) => policy_intake::keep(writer, batch, &row, entries),
        Job::Enroll { agent, key, done } => {
            enroll::note_enrolled(writer, batch, &agent, &key, done)
        }
        Job::Revoke { agent, done } => enroll::note_revoked(writer, batch, &agent, done),
        Job::InForce(fingerprint) => enroll::note_in_force(batch, &fingerprint),
        Job::Anchored(anchor) => audit::insert_anchor(batch.tx, &anchor),
        Job::Alarm { code, subject } => alarms::raise(writer, batch, code, &subject),
        Job::Unreadable { sender } => alarms::raise_unreadable(writer, batch, &sender),
        Job::LowerAlarm { code, subject } => alarms::lower(writer, batch, code, &subject),
        Job::AcknowledgeAlarm { id, done } => alarms::acknowledge(writer, batch, id, done),
        Job::ChooseTypedTarget {
            agent,
            tool,
            pointer,
            done,
        } => {
            let of = (&agent, tool.as_str());
            typed_targets::choose(writer, batch, of, pointer.as_deref(), done)
        }
        Job::Record {
            action,
            subject,
            detail,
            done,
        } => record(writer, batch, (action, subject, detail), done),
        Job::AnswersExported { row, done } => answer_feed::note_exported(batch, row, done),
        Job::Remove {
            kind,
            items,
            before,
            done,
        } => retention::apply(writer, batch, (kind, &items, before), done),
        Job::Remember { key, value, done } => details::keep(batch, key, &value, done),
        Job::LearnAnew { tool, done } => habits::apply(writer, batch, tool, done),
        Job::Note(note, done) => {
            match *note {
                Note::Practice(note) => practice::keep(writer, batch, note)?,
                Note::Reader(note) => reader::keep(writer, batch, note)?,
            }
            batch.answer(done, ());
            Ok(())
        }
        Job::Gate { agent, open, done } => {
            gates::keep(writer, batch, &agent, open.as_deref(), done)
        }
        Job::Examine(call, done) => practice::examine(writer, batch, &call, done),
        Job::Index(limit, done) => search_index::apply(writer, batch, limit, done),
    }
}

/// Writes the audit entry of a use case; the actor is this console's operator.
fn record(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    (action, subject, detail): (&'static str, String, Value),
    done: oneshot::Sender<()>,
) -> Result<(), StoreError> {
    let me = writer.identity.human_key().to_string();
    batch.record(me, action, subject, detail);
    batch.answer(done, ());
    Ok(())
}
