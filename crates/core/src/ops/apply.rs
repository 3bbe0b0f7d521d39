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
use crate::store::{StoreError, WriteConnection, audit, tools};

/// Verdicts that follow one another are judged together.
type Verdicts = Vec<(Box<DecideCommand>, DecideReply)>;

/// Applies the jobs. On an error the transaction must not be committed.
pub(crate) async fn apply_all(
    writer: &mut WriterState,
    tx: &mut WriteConnection,
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
            decide::apply(writer, &mut batch, settlements, given).await?;
        }
        apply(writer, &mut batch, &mut verdicts, job).await?;
    }
    decide::apply(writer, &mut batch, settlements, verdicts).await?;
    finish(writer, &mut batch).await?;
    Ok(batch.effects)
}

async fn finish(writer: &mut WriterState, batch: &mut Tx<'_>) -> Result<(), StoreError> {
    if writer.next_due.is_none_or(|due| due <= batch.now) {
        due::run(writer, batch).await?;
    }
    habits::run(writer, batch).await?;
    automatic::run(writer, batch).await?;
    if !batch.effects.outgoing.is_empty() {
        // Here and not where each of them is made: whoever forgot it would have one that the bus does not take go unseen.
        writer.sweep_at(batch.now.plus_ms(writer.stall_limits.on_bus_ms));
    }
    ladder::moved(writer, batch).await?;
    let approved = std::mem::take(&mut batch.effects.approved);
    tools::note_approved(batch.tx, &approved).await?;
    let entries: Vec<Entry> = std::mem::take(&mut batch.effects.audit);
    audit::append(batch.tx, &entries).await
}

async fn apply(
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
        Job::Requests(messages) => arrivals::apply(writer, batch, &messages).await,
        Job::Decisions(messages) => decisions::apply(writer, batch, &messages).await,
        Job::Receipts(messages) => reports::apply_receipts(writer, batch, &messages).await,
        Job::Hellos(messages) => hellos::apply(writer, batch, &messages).await,
        Job::Spans(messages) => spans::apply(writer, batch, &messages).await,
        Job::Heartbeats(heard) => heartbeats::note(batch, &heard).await,
        Job::Bound(binding) => bus_state::bound(writer, batch, binding).await,
        Job::CaughtUp(reported) => bus_state::caught_up(writer, batch, reported).await,
        Job::ReportsKnown => bus_state::reports_known(writer),
        // Whatever waits for them is judged in each transaction.
        Job::HelloBarrier => Ok(()),
        Job::Lagging => bus_state::lagging(writer, batch),
        Job::ReadOnly(why) => bus_state::read_only(writer, batch, why).await,
        Job::Recovered {
            epochs,
            detail,
            done,
        } => bus_state::recovered(writer, batch, &epochs, detail, done).await,
        Job::Decide(command, reply) => {
            verdicts.push((command, reply));
            Ok(())
        }
        Job::Undo(key, reply) => decide::undo(writer, batch, &key, reply).await,
        Job::Late {
            decision_id,
            request,
        } => due::late(writer, batch, &decision_id.to_string(), request).await,
        Job::TakeBack {
            decision_id,
            request,
            why,
        } => recall::take_back(writer, batch, &decision_id.to_string(), request, &why).await,
        Job::Lost { decision_id } => outbox::lost(writer, batch, &decision_id.to_string()).await,
        Job::VoteEnded { vote_id, late } => {
            cast::ended(writer, batch, &vote_id.to_string(), late).await
        }
        Job::Attempt {
            carried,
            decision_id,
            error,
        } => outbox::attempt(batch, carried, &decision_id.to_string(), &error).await,
        Job::Rescan => outbox::look_again(writer, batch).await,
        Job::Stop(done) => outbox::stop(writer, batch, done).await,
        Job::Policy(row, entries) => policy_intake::keep(writer, batch, &row, entries).await,
        Job::Enroll { agent, key, done } => {
            enroll::note_enrolled(writer, batch, &agent, &key, done).await
        }
        Job::Revoke { agent, done } => enroll::note_revoked(writer, batch, &agent, done).await,
        Job::InForce(fingerprint) => enroll::note_in_force(batch, &fingerprint).await,
        Job::Anchored(anchor) => audit::insert_anchor(batch.tx, &anchor).await,
        Job::Alarm { code, subject } => alarms::raise(writer, batch, code, &subject).await,
        Job::Unreadable { sender } => alarms::raise_unreadable(writer, batch, &sender).await,
        Job::LowerAlarm { code, subject } => alarms::lower(writer, batch, code, &subject).await,
        Job::AcknowledgeAlarm { id, done } => alarms::acknowledge(writer, batch, id, done).await,
        Job::ChooseTypedTarget {
            agent,
            tool,
            pointer,
            done,
        } => {
            let of = (&agent, tool.as_str());
            typed_targets::choose(writer, batch, of, pointer.as_deref(), done).await
        }
        Job::Record {
            action,
            subject,
            detail,
            done,
        } => record(writer, batch, (action, subject, detail), done),
        Job::AnswersExported { row, done } => answer_feed::note_exported(batch, row, done).await,
        Job::Remove {
            kind,
            items,
            before,
            done,
        } => retention::apply(writer, batch, (kind, &items, before), done).await,
        Job::Remember { key, value, done } => details::keep(batch, key, &value, done).await,
        Job::LearnAnew { tool, done } => habits::apply(writer, batch, tool, done).await,
        Job::Note(note, done) => {
            match *note {
                Note::Practice(note) => practice::keep(writer, batch, note).await?,
                Note::Reader(note) => reader::keep(writer, batch, note).await?,
            }
            batch.answer(done, ());
            Ok(())
        }
        Job::Gate { agent, open, done } => {
            gates::keep(writer, batch, &agent, open.as_deref(), done).await
        }
        Job::Examine(call, done) => practice::examine(writer, batch, &call, done).await,
        Job::Index(limit, done) => search_index::apply(writer, batch, limit, done).await,
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
