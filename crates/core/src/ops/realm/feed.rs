//! Applies what the stream brings of the realm log, in the transaction that stores the messages around it.

use countersign_wire::PublicKey;
use countersign_wire::realm::{Does, Entry, Realm, Word};
use serde_json::{Value, json};

use super::keys::{fold, unsigned};
use crate::domain::AlarmCode;
use crate::ops::incoming::IncomingDecision;
use crate::ops::job::BusBinding;
use crate::ops::writer_state::{Tx, WriterState};
use crate::store::realm_log::{self, SlotRow};
use crate::store::{Connection, StoreError};

/// The state of a bus as the store has it, unless it is in memory already.
pub(in crate::ops) fn restore(
    writer: &WriterState,
    tx: &Connection,
    binding: &BusBinding,
) -> Result<(), StoreError> {
    let log = writer.trusted.log();
    let epoch = binding.epoch(countersign_wire::Stream::Decisions);
    let read = unsigned(realm_log::last_seq(tx, &epoch)?);
    let same = (log.realm(), log.root()) == (&binding.realm, &binding.root);
    if !same || log.sequence() != read {
        let rows = realm_log::of_epoch(tx, &epoch)?;
        let log = Realm::new(binding.realm, binding.root);
        writer.trusted.set(fold(log, &rows));
    }
    Ok(())
}

/// Applies the slots of a batch. Its decisions are judged by the state that this leaves.
pub(in crate::ops) fn apply<'m>(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    epoch: &str,
    slots: impl Iterator<Item = (u64, &'m IncomingDecision)>,
) -> Result<(), StoreError> {
    let mut slots = slots.peekable();
    if slots.peek().is_none() {
        return Ok(());
    }
    let mut log = Realm::clone(&writer.trusted.log());
    // After a transaction that failed the memory is ahead of the store.
    if log.sequence() != unsigned(realm_log::last_seq(batch.tx, epoch)?) {
        let rows = realm_log::of_epoch(batch.tx, epoch)?;
        log = fold(Realm::new(*log.realm(), *log.root()), &rows);
    }
    let (mut junk, own) = (0, writer.identity.human_key());
    for (slot, message) in slots {
        let seq = unsigned(message.at.seq);
        if seq <= log.sequence() {
            continue;
        }
        let before = Before {
            recovery: log.recovery.clone(),
            // A newcomer reads earlier entries without an alarm.
            there: log.term(own.as_str(), None).is_some(),
        };
        let (length, word) = (log.chain.len(), log.apply(slot, seq, &message.raw));
        let linked = log.chain.get(length);
        let row = SlotRow {
            slot: i64::try_from(slot).unwrap_or(i64::MAX),
            seq: message.at.seq,
            stored_at: message.at.stamp.0,
            n: linked.map(|entry| i64::try_from(entry.n).unwrap_or(i64::MAX)),
            digest: linked.map(|entry| entry.digest.to_string()),
            word: word.as_str().to_owned(),
            message: linked.map(|_| message.raw.clone()),
        };
        // On a stream that was made anew it is known.
        let known = realm_log::knows(batch.tx, &row)?;
        realm_log::add(batch.tx, epoch, &row)?;
        match linked {
            None => junk += 1,
            Some(entry) if word == Word::Ok && !known => {
                let (n, by, does) = (entry.n, entry.by.clone(), entry.does.clone());
                let detail = json!({
                    "digest": row.digest, "by": by, "does": words(&does), "keys": keys(&message.raw),
                });
                batch.record(by.to_string(), "operators", n.to_string(), detail);
                report(writer, batch, (&by, &does, &before), &message.raw)?;
            }
            Some(_) => {}
        }
    }
    if junk > 0 {
        tracing::error!(slots = junk, "slots of the realm log hold no entries");
        let auto = writer.identity.auto_key().to_string();
        let subject = countersign_wire::Stream::Decisions.name();
        batch.alarm_unseen(&auto, AlarmCode::LogJunk, subject)?;
    }
    writer.trusted.set(log);
    writer.next_due = None;
    batch.effects.status = true;
    Ok(())
}

pub(super) fn words(does: &[Does]) -> Vec<&'static str> {
    does.iter().map(|does| does.as_str()).collect()
}

/// Every key, and every operator, that an entry names.
fn keys(message: &[u8]) -> Vec<String> {
    let fields = Entry::read(message).map(|entry| entry.fields);
    let records = fields.as_ref().and_then(|fields| fields.get("operators"));
    let records = records.and_then(Value::as_array).into_iter().flatten();
    let mut named: Vec<String> = Vec::new();
    for record in records {
        let keys = record["keys"].as_array().into_iter().flatten();
        let texts = std::iter::once(&record["id"]).chain(keys.map(|key| &key["key"]));
        named.extend(texts.filter_map(Value::as_str).map(str::to_owned));
    }
    named.sort_unstable();
    named.dedup();
    named
}

/// What was so before an entry.
struct Before {
    recovery: Option<PublicKey>,
    /// Whether this console's operator was in force.
    there: bool,
}

/// Alarms of an entry that took effect, and the end of those about keys that wait no longer.
fn report(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    (by, does, before): (&PublicKey, &[Does], &Before),
    message: &[u8],
) -> Result<(), StoreError> {
    let actor = by.to_string();
    let automatic = Entry::read(message)
        .is_some_and(|entry| entry.fields.get("by_itself").is_some_and(|is| is == true));
    for key in keys(message) {
        batch.clear_alarm(&actor, AlarmCode::OperatorWaits, &key)?;
        if before.there && automatic && does.contains(&Does::LetIn) {
            batch.alarm_unseen(&actor, AlarmCode::OperatorJoined, &key)?;
        }
    }
    if does.contains(&Does::RecoverySet) {
        batch.alarm(&actor, AlarmCode::RecoverySet, "realm")?;
    }
    if before.recovery.as_ref() == Some(by) {
        let auto = writer.identity.auto_key().to_string();
        batch.alarm(&auto, AlarmCode::RecoveryUsed, &actor)?;
    }
    Ok(())
}
