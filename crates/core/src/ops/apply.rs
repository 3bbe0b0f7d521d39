//! One transaction: every job in order, then what time makes due, then the audit entries.

pub(super) mod bus_state;
pub(crate) mod outbox;

pub(crate) use self::outbox::drop_leftover_holds;
use super::job::{DecideCommand, DecideReply, Job};
use super::publisher::Settlements;
use super::writer_state::{Effects, Tx, WriterState};
use super::{arrivals, automatic, decide, decisions, due, habits, hellos, ladder, reports, spans};
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
        Job::Lagging => bus_state::lagging(writer, batch),
        Job::Decide(command, reply) => {
            verdicts.push((command, reply));
            Ok(())
        }
        Job::Asked(work) | Job::Passing(work) => work(writer, batch),
        Job::Kept(work) => work(writer, batch),
        Job::Rescan => outbox::look_again(writer, batch),
        Job::Stop(done) => outbox::stop(writer, batch, done),
    }
}
