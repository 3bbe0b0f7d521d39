//! One transaction: every job in order, then what time makes due, then the audit entries.

use serde_json::json;
use sqlx::SqliteConnection;

use super::decide::release_hold;
use super::draft::request_of;
use super::job::{DecideCommand, DecideReply, Job};
use super::ledger::{Batch, Gathered, Ledger};
use super::publisher::{Outgoing, Settlements};
use super::{answers, arrivals, decide, decisions, due, reports};
use crate::domain::Timestamp;
use crate::store::audit::Entry;
use crate::store::{StoreError, agents, audit, meta, outbox, policy, requests};

/// Applies the jobs; on success the list is empty, on failure it still holds the streams' messages.
pub(crate) async fn apply_all(
    ledger: &mut Ledger,
    tx: &mut SqliteConnection,
    now: Timestamp,
    settlements: &Settlements,
    jobs: &mut Vec<Job>,
) -> Result<(Gathered, Option<Timestamp>), StoreError> {
    let mut batch = Batch {
        tx,
        now,
        gathered: Gathered::default(),
    };
    let mut verdicts: Vec<(Box<DecideCommand>, DecideReply)> = Vec::new();
    let mut kept: Vec<Job> = Vec::new();
    let mut outcome = Ok(());
    for job in jobs.drain(..) {
        if outcome.is_err() {
            kept.push(job);
            continue;
        }
        if let Job::Decide(command, reply) = job {
            verdicts.push((command, reply));
            continue;
        }
        if !verdicts.is_empty() {
            outcome = decide::apply(
                ledger,
                &mut batch,
                settlements,
                std::mem::take(&mut verdicts),
            )
            .await;
        }
        if outcome.is_ok() {
            kept.extend(job.for_retry());
            outcome = apply(ledger, &mut batch, job).await;
        } else {
            kept.push(job);
        }
    }
    if outcome.is_ok() && !verdicts.is_empty() {
        outcome = decide::apply(ledger, &mut batch, settlements, verdicts).await;
    }
    let finished = match outcome {
        Ok(()) => finish(ledger, &mut batch).await,
        Err(error) => Err(error),
    };
    match finished {
        Ok(next_due) => Ok((batch.gathered, next_due)),
        Err(error) => {
            *jobs = kept;
            Err(error)
        }
    }
}

async fn finish(
    ledger: &mut Ledger,
    batch: &mut Batch<'_>,
) -> Result<Option<Timestamp>, StoreError> {
    let next_due = due::run(ledger, batch).await?;
    let entries: Vec<Entry> = std::mem::take(&mut batch.gathered.audit);
    audit::append(batch.tx, &entries).await?;
    Ok(next_due)
}

async fn apply(ledger: &mut Ledger, batch: &mut Batch<'_>, job: Job) -> Result<(), StoreError> {
    match job {
        Job::Requests(messages) => arrivals::apply(ledger, batch, &messages).await,
        Job::Decisions(messages) => decisions::apply(ledger, batch, &messages).await,
        Job::Receipts(messages) => reports::apply_receipts(ledger, batch, &messages).await,
        Job::Hellos(messages) => reports::apply_hellos(ledger, batch, &messages).await,
        Job::Bound(binding) => {
            meta::put(batch.tx, meta::REALM, &binding.realm.to_string()).await?;
            ledger.bus = Some(binding);
            batch.gathered.status = true;
            Ok(())
        }
        Job::CaughtUp(told) => {
            ledger.caught_up = true;
            batch.reply(move || {
                told.send_replace(true);
            });
            batch.gathered.status = true;
            rescan(ledger, batch).await?;
            answers::catch_up(ledger, batch).await
        }
        Job::ReadOnly(why) => read_only(ledger, batch, why).await,
        Job::Undo(key, reply) => {
            let answer = decide::undo(ledger, batch, &key).await?;
            batch.reply(move || unless_heard(reply.send(answer)));
            Ok(())
        }
        Job::Late {
            decision_id,
            request,
        } => due::late(ledger, batch, &decision_id.to_string(), request).await,
        Job::Rescan => {
            batch.gathered.status = true;
            rescan(ledger, batch).await
        }
        Job::Stop(done) => {
            drop_holds(ledger, batch).await?;
            batch.reply(move || unless_heard(done.send(())));
            Ok(())
        }
        other => small(ledger, batch, other).await,
    }
}

/// A caller that has gone does not need its answer: what it asked for is committed.
pub(super) fn unless_heard<T>(_answer: Result<(), T>) {}

/// The jobs that are a row and an audit entry.
async fn small(ledger: &Ledger, batch: &mut Batch<'_>, job: Job) -> Result<(), StoreError> {
    let me = ledger.identity.human_key().to_string();
    match job {
        Job::Alive(agent) => agents::note_alive(batch.tx, &agent, batch.now).await,
        Job::Attempt { decision_id, error } => {
            outbox::note_attempt(batch.tx, &decision_id.to_string(), &error).await
        }
        Job::Policy(row, entries) => {
            policy::put(batch.tx, &row).await?;
            batch.gathered.audit.extend(entries);
            batch.gathered.status = true;
            Ok(())
        }
        Job::Enroll { agent, key, done } => {
            agents::enroll(batch.tx, &agent, &key, batch.now).await?;
            batch.record(me, "enroll", agent.to_string(), json!({ "key": key }));
            batch.reply(move || unless_heard(done.send(())));
            Ok(())
        }
        Job::Revoke { agent, done } => {
            let had_one = agents::revoke(batch.tx, &agent, batch.now).await?;
            if had_one {
                batch.record(me, "revoke", agent.to_string(), json!({}));
            }
            batch.reply(move || unless_heard(done.send(had_one)));
            Ok(())
        }
        Job::InForce(fingerprint) => meta::put(batch.tx, meta::AGENTS_IN_FORCE, &fingerprint).await,
        Job::Anchored(anchor) => audit::insert_anchor(batch.tx, &anchor).await,
        Job::Alarm { code, subject } => {
            let auto = ledger.identity.auto_key().to_string();
            batch.alarm(&auto, code, &subject).await
        }
        Job::Record {
            action,
            subject,
            detail,
            done,
        } => {
            batch.record(me, action, subject, detail);
            batch.reply(move || unless_heard(done.send(())));
            Ok(())
        }
        // The others are taken apart by the callers.
        _ => Ok(()),
    }
}

async fn read_only(
    ledger: &mut Ledger,
    batch: &mut Batch<'_>,
    why: Option<(String, String)>,
) -> Result<(), StoreError> {
    if let Some((code, reason)) = &why {
        let auto = ledger.identity.auto_key().to_string();
        tracing::error!(code, reason, "this console is read-only now");
        batch.alarm(&auto, "read_only", code).await?;
    }
    // Other processes of this folder must know it too.
    let kept = why
        .as_ref()
        .map(|(code, reason)| format!("{code}: {reason}"))
        .unwrap_or_default();
    meta::put(batch.tx, meta::READ_ONLY, &kept).await?;
    batch.gathered.read_only = Some(why.as_ref().map(|(_, reason)| reason.clone()));
    ledger.read_only = why;
    batch.gathered.status = true;
    Ok(())
}

/// Sends what stands signed in the outbox, whoever put it there.
async fn rescan(ledger: &Ledger, batch: &mut Batch<'_>) -> Result<(), StoreError> {
    let queued = outbox::queued(batch.tx).await?;
    let ids: Vec<i64> = queued.iter().map(|row| row.request).collect();
    let records = requests::records_by_id(batch.tx, &ids).await?;
    for row in queued {
        let record = records.iter().find(|record| record.id == row.request);
        let (Some(sig), Ok(decision_id)) = (row.sig, row.decision_id.parse()) else {
            continue;
        };
        let by_console = row.key == ledger.identity.auto_key().as_str();
        batch.gathered.outgoing.push(Outgoing {
            decision_id,
            request: row.request,
            subject: row.subject,
            payload: row.payload.into(),
            key: row.key,
            sig,
            deadline: if by_console {
                None
            } else {
                record.map(|record| record.deadline_at)
            },
        });
    }
    Ok(())
}

/// What a console that was killed had only held goes back to waiting.
pub(crate) async fn drop_leftover_holds(
    ledger: &Ledger,
    tx: &mut SqliteConnection,
) -> Result<(), StoreError> {
    let mut batch = Batch {
        tx,
        now: ledger.clock.now(),
        gathered: Gathered::default(),
    };
    drop_holds(ledger, &mut batch).await?;
    audit::append(batch.tx, &batch.gathered.audit).await
}

/// A console that stops sends nothing that was only held.
async fn drop_holds(ledger: &Ledger, batch: &mut Batch<'_>) -> Result<(), StoreError> {
    if !ledger.projects {
        return Ok(());
    }
    let held = outbox::held(batch.tx).await?;
    let keys: Vec<_> = held
        .iter()
        .filter_map(|row| request_of(&row.subject))
        .collect();
    let actor = ledger.identity.auto_key().to_string();
    for record in requests::records(batch.tx, &keys).await? {
        release_hold(batch, &record, &actor, "hold_dropped").await?;
    }
    Ok(())
}
