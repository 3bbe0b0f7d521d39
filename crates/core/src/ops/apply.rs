//! One transaction: every job in order, then what time makes due, then the audit entries.

use std::collections::HashMap;

use serde_json::json;

use super::decide::release_hold;
use super::draft::request_of;
use super::job::{DecideCommand, DecideReply, Job};
use super::ledger::{Batch, Gathered, Ledger};
use super::publisher::{Carried, Outgoing, Settlements};
use super::votes::{cast, close};
use super::{
    alarms, arrivals, automatic, decide, decisions, due, held_back, hellos, ladder, reports,
    retention, search_index, spans, typed_targets,
};
use crate::bus::POLICY_STREAM;
use crate::domain::{AlarmCode, RequestRecord, State, Timestamp};
use crate::store::audit::Entry;
use crate::store::unanswered::Place;
use crate::store::{
    self, StoreError, WriteConnection, agent_instances, agents, audit, bus_stream, meta, outbox,
    policy, policy_history, requests, rule_uses, tools, ui_state, vote_outbox,
};

/// Applies the jobs. On an error the transaction must not be committed.
pub(crate) async fn apply_all(
    ledger: &mut Ledger,
    tx: &mut WriteConnection,
    now: Timestamp,
    settlements: &Settlements,
    jobs: Vec<Job>,
) -> Result<Gathered, StoreError> {
    let mut batch = Batch {
        tx,
        now,
        gathered: Gathered::default(),
    };
    let mut verdicts: Vec<(Box<DecideCommand>, DecideReply)> = Vec::new();
    for job in jobs {
        if let Job::Decide(command, reply) = job {
            verdicts.push((command, reply));
            continue;
        }
        let given = std::mem::take(&mut verdicts);
        decide::apply(ledger, &mut batch, settlements, given).await?;
        apply(ledger, &mut batch, job).await?;
    }
    decide::apply(ledger, &mut batch, settlements, verdicts).await?;
    finish(ledger, &mut batch).await?;
    Ok(batch.gathered)
}

async fn finish(ledger: &mut Ledger, batch: &mut Batch<'_>) -> Result<(), StoreError> {
    if ledger.next_due.is_none_or(|due| due <= batch.now) {
        due::run(ledger, batch).await?;
    }
    automatic::run(ledger, batch).await?;
    ladder::moved(ledger, batch).await?;
    let approved = std::mem::take(&mut batch.gathered.approved);
    tools::note_approved(batch.tx, &approved).await?;
    let entries: Vec<Entry> = std::mem::take(&mut batch.gathered.audit);
    audit::append(batch.tx, &entries).await
}

async fn apply(ledger: &mut Ledger, batch: &mut Batch<'_>, job: Job) -> Result<(), StoreError> {
    // A bus that is not the remembered one is not projected: the position stays where it is.
    if job.is_from_stream() && ledger.read_only.is_some() {
        return Ok(());
    }
    match job {
        Job::Requests(messages) => arrivals::apply(ledger, batch, &messages).await,
        Job::Decisions(messages) => decisions::apply(ledger, batch, &messages).await,
        Job::Receipts(messages) => reports::apply_receipts(ledger, batch, &messages).await,
        Job::Hellos(messages) => hellos::apply(ledger, batch, &messages).await,
        Job::Spans(messages) => spans::apply(ledger, batch, &messages).await,
        Job::Bound(binding) => {
            let realm = binding.realm.to_string();
            if meta::put(batch.tx, meta::REALM, &realm).await? {
                let auto = ledger.identity.auto_key().to_string();
                batch.record(auto, "realm", realm, json!({}));
            }
            // Also of those that nothing is projected from: one that is made anew has lost what it held.
            for (stream, epoch) in &binding.epochs {
                bus_stream::remember(batch.tx, stream, epoch).await?;
            }
            ledger.bus = Some(binding);
            ledger.hellos_missed_before = Some(batch.now);
            batch.gathered.status = true;
            Ok(())
        }
        Job::CaughtUp(told) => {
            ledger.caught_up = true;
            ledger.next_due = None;
            batch.reply(move || told.tell());
            batch.gathered.status = true;
            ledger.answers_owed = Some(Place::default());
            rescan(ledger, batch).await?;
            close::catch_up(ledger, batch).await
        }
        Job::ReportsKnown => {
            ledger.reports_known = true;
            ledger.unknown_since = None;
            ledger.next_sweep = None;
            ledger.next_due = None;
            Ok(())
        }
        Job::Lagging => {
            ledger.caught_up = false;
            ledger.reports_known = false;
            ledger.forget();
            batch.gathered.status = true;
            Ok(())
        }
        Job::ReadOnly(why) => read_only(ledger, batch, why).await,
        Job::Undo(key, reply) => {
            let answer = decide::undo(ledger, batch, &key).await?;
            batch.answer(reply, answer);
            Ok(())
        }
        Job::Late {
            decision_id,
            request,
        } => due::late(ledger, batch, &decision_id.to_string(), request).await,
        Job::TakeBack {
            decision_id,
            request,
            why,
        } => held_back::take_back(ledger, batch, &decision_id.to_string(), request, &why).await,
        Job::Lost { decision_id } => lost(ledger, batch, &decision_id.to_string()).await,
        Job::Rescan => {
            batch.gathered.status = true;
            ledger.next_due = None;
            rescan(ledger, batch).await?;
            // A stop that is over may have kept them from a decision.
            close::catch_up(ledger, batch).await
        }
        Job::Stop(done) => {
            drop_holds(ledger, batch).await?;
            batch.answer(done, ());
            Ok(())
        }
        other => small(ledger, batch, other).await,
    }
}

/// The jobs that are a row and an audit entry.
async fn small(ledger: &mut Ledger, batch: &mut Batch<'_>, job: Job) -> Result<(), StoreError> {
    let me = ledger.identity.human_key().to_string();
    match job {
        Job::Alive(heard) => {
            agents::note_alive(batch.tx, &heard.agents).await?;
            batch.gathered.status |= agent_instances::note(batch.tx, &heard.copies).await?;
            Ok(())
        }
        Job::Attempt {
            carried,
            decision_id,
            error,
        } => {
            let id = decision_id.to_string();
            match carried {
                Carried::Decision => outbox::note_attempt(batch.tx, &id, &error).await,
                Carried::Vote => vote_outbox::note_attempt(batch.tx, &id, &error).await,
            }
        }
        Job::VoteEnded { vote_id, late } => {
            cast::ended(ledger, batch, &vote_id.to_string(), late).await
        }
        Job::Policy(row, entries) => {
            // Another process of this folder may have written it, and said so in the audit log.
            if policy::put(batch.tx, &row).await? {
                policy_history::add(batch.tx, &row).await?;
                batch.gathered.audit.extend(entries);
            }
            batch.gathered.status = true;
            // Who may answer, and what is to be denied, may hang on it.
            ledger.next_due = None;
            Ok(())
        }
        Job::Enroll { agent, key, done } => {
            agents::enroll(batch.tx, &agent, &key, batch.now).await?;
            batch.record(me, "enroll", agent.to_string(), json!({ "key": key }));
            batch.answer(done, ());
            Ok(())
        }
        Job::Revoke { agent, done } => {
            let had_one = agents::revoke(batch.tx, &agent, batch.now).await?;
            if had_one {
                batch.record(me, "revoke", agent.to_string(), json!({}));
            }
            batch.answer(done, had_one);
            Ok(())
        }
        // Whatever waits for them is judged in each transaction.
        Job::HellosKnown => Ok(()),
        Job::InForce(fingerprint) => meta::put(batch.tx, meta::AGENTS_IN_FORCE, &fingerprint)
            .await
            .map(drop),
        Job::Anchored(anchor) => audit::insert_anchor(batch.tx, &anchor).await,
        Job::Alarm { code, subject } => {
            let auto = ledger.identity.auto_key().to_string();
            batch.alarm(&auto, code, &subject).await
        }
        Job::Unreadable { sender } => {
            let auto = ledger.identity.auto_key().to_string();
            batch
                .alarm_unseen(&auto, AlarmCode::UnreadableMessage, &sender)
                .await
        }
        Job::Recovered {
            epochs,
            detail,
            done,
        } => {
            for (stream, epoch) in &epochs {
                bus_stream::restart(batch.tx, stream, epoch).await?;
                if stream == &POLICY_STREAM {
                    policy::forget_revisions(batch.tx).await?;
                }
            }
            let word = uuid::Uuid::new_v4().to_string();
            meta::put(batch.tx, meta::RECOVERED, &word).await?;
            batch.record(me, "bus_recover", "bus", detail);
            batch.answer(done, ());
            Ok(())
        }
        Job::LowerAlarm { code, subject } => {
            let auto = ledger.identity.auto_key().to_string();
            batch.clear_alarm(&auto, code, &subject).await
        }
        Job::AcknowledgeAlarm { id, done } => {
            let seen = alarms::acknowledge(batch, &me, id).await?;
            batch.answer(done, seen);
            Ok(())
        }
        Job::ChooseTypedTarget {
            agent,
            tool,
            pointer,
            done,
        } => {
            typed_targets::choose(batch, &me, (&agent, &tool), pointer.as_deref()).await?;
            batch.answer(done, ());
            Ok(())
        }
        Job::Record {
            action,
            subject,
            detail,
            done,
        } => {
            batch.record(me, action, subject, detail);
            batch.answer(done, ());
            Ok(())
        }
        Job::AnswersTold { row, done } => {
            meta::put(batch.tx, meta::ANSWERS_TOLD, &row.to_string()).await?;
            batch.answer(done, ());
            Ok(())
        }
        Job::Remove {
            kind,
            items,
            before,
            done,
        } => {
            let run = retention::remove(ledger, batch, kind, &items, before).await?;
            batch.answer(done, run);
            Ok(())
        }
        Job::Remember { key, value, done } => {
            ui_state::put(batch.tx, key, &value).await?;
            batch.answer(done, ());
            Ok(())
        }
        Job::Index(limit, done) => {
            let more = search_index::step(batch.tx, limit).await?;
            ledger.searchable_in = more.then_some(search_index::BETWEEN_STEPS);
            if let Some(done) = done {
                batch.answer(done, more);
            }
            Ok(())
        }
        // These are taken apart by the callers. Each is named, so that a new one is not lost here.
        Job::Decide(..)
        | Job::Requests(_)
        | Job::Decisions(_)
        | Job::Receipts(_)
        | Job::Hellos(_)
        | Job::Spans(_)
        | Job::Bound(_)
        | Job::CaughtUp(_)
        | Job::ReportsKnown
        | Job::Lagging
        | Job::ReadOnly(_)
        | Job::Undo(..)
        | Job::Late { .. }
        | Job::TakeBack { .. }
        | Job::Lost { .. }
        | Job::Rescan
        | Job::Stop(_) => Ok(()),
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
        batch.alarm(&auto, AlarmCode::ReadOnly, code).await?;
    }
    let now = why.as_ref().map(|(code, _)| code.as_str());
    for ended in store::alarms::subjects(batch.tx, AlarmCode::ReadOnly.as_str()).await? {
        if now != Some(ended.as_str()) {
            let auto = ledger.identity.auto_key().to_string();
            batch
                .clear_alarm(&auto, AlarmCode::ReadOnly, &ended)
                .await?;
        }
    }
    // Other processes of this folder must know it too.
    let auto = ledger.identity.auto_key().to_string();
    let console = ledger.identity.console_id.to_string();
    match &why {
        Some((code, reason)) => {
            let kept = format!("{code}: {reason}");
            if meta::put(batch.tx, meta::READ_ONLY, &kept).await? {
                batch.record(auto, "read_only", console, json!({ "code": code }));
            }
        }
        None => {
            if meta::clear(batch.tx, meta::READ_ONLY).await? {
                batch.record(auto, "read_only_ended", console, json!({}));
            }
        }
    }
    batch.gathered.read_only = Some(why.as_ref().map(|(_, reason)| reason.clone()));
    ledger.read_only = why;
    batch.gathered.status = true;
    Ok(())
}

/// A decision of this console was too late: another one stands on the stream.
async fn lost(ledger: &Ledger, batch: &mut Batch<'_>, decision_id: &str) -> Result<(), StoreError> {
    let Some(subject) = outbox::close_lost(batch.tx, decision_id).await? else {
        return Ok(());
    };
    rule_uses::forget(batch.tx, decision_id).await?;
    let name = request_of(&subject).map_or(subject, |key| key.to_string());
    let actor = ledger.identity.auto_key().to_string();
    batch.record(actor, "lost", name, json!({ "decision_id": decision_id }));
    Ok(())
}

/// Sends what stands signed in the outbox, whoever put it there; a page at a time.
async fn rescan(ledger: &mut Ledger, batch: &mut Batch<'_>) -> Result<(), StoreError> {
    if ledger.read_only.is_some() {
        return Ok(());
    }
    let queued = outbox::queued(batch.tx, ledger.rescanned.as_ref()).await?;
    ledger.left_behind = queued.len() >= outbox::PAGE || ledger.rescanned.is_some();
    ledger.rescanned = match queued.last() {
        Some(last) if queued.len() >= outbox::PAGE => {
            Some((last.release_at, last.decision_id.clone()))
        }
        _ => None,
    };
    if cast::rescan(ledger, batch).await? {
        ledger.left_behind = true;
    }
    let ids: Vec<i64> = queued.iter().map(|row| row.request).collect();
    let records: HashMap<i64, RequestRecord> = requests::records_by_id(batch.tx, &ids)
        .await?
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
        batch.gathered.outgoing.push(Outgoing {
            kept: true,
            ..Outgoing::of_row(&row, (decision_id, sig), decided)
        });
    }
    Ok(())
}

/// What a console that was killed had only held goes back to waiting.
pub(crate) async fn drop_leftover_holds(
    ledger: &Ledger,
    tx: &mut WriteConnection,
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
    let actor = ledger.identity.auto_key().to_string();
    cast::drop_held(batch, &actor).await?;
    loop {
        let held = outbox::held(batch.tx).await?;
        let keys: Vec<_> = held
            .iter()
            .filter_map(|row| request_of(&row.subject))
            .collect();
        let records = requests::records(batch.tx, &keys).await?;
        if records.is_empty() {
            return Ok(());
        }
        for record in records {
            release_hold(batch, &record, &actor, "hold_dropped").await?;
        }
    }
}
