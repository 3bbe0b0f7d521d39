//! Projects what agents report of decisions: `CS_RECEIPTS`.

use std::collections::HashMap;

use countersign_wire::{RequestKey, Sha256Digest, Stage, Stream, Subject};
use serde_json::json;

use super::execution::{by_name, compare, patience, ran};
use super::incoming::{At, IncomingReceipt};
use super::writer_state::{Tx, WriterState};
use crate::domain::incident::Execution;
use crate::domain::{Delivery, RequestRecord};
use crate::store::receipts::NewReceipt;
use crate::store::{
    StoreError, audit, decisions, receipts, receipts_before_decision, request_states, requests,
};

/// Action of the first receipt of a request that cannot be read.
pub(crate) const UNREADABLE: &str = "receipt_unreadable";

fn rung(stage: Stage) -> Delivery {
    match stage {
        Stage::Received => Delivery::Received,
        Stage::Executed => Delivery::Executed,
        Stage::Failed => Delivery::Failed,
        Stage::Refused => Delivery::Refused,
    }
}

/// Stores receipts with their position and raises the ladder.
pub(crate) fn apply_receipts(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    messages: &[IncomingReceipt],
) -> Result<(), StoreError> {
    let Some(unread) = writer.unread(batch.tx, messages)? else {
        return Ok(());
    };
    let mut rows = Vec::with_capacity(unread.len());
    let mut stages = Vec::with_capacity(unread.len());
    let mut digests = Vec::with_capacity(unread.len());
    for message in *unread {
        match &message.receipt {
            Ok((key, receipt)) => {
                digests.push(receipt.executed_args_digest.clone());
                stages.push(receipt.stage);
                rows.push(NewReceipt {
                    key: key.clone(),
                    decision_id: receipt.decision_id.clone(),
                    stage: receipt.stage.as_str().to_owned(),
                    at: message.at.stamp,
                    detail: message.raw.clone(),
                    stream_seq: message.at.seq,
                });
            }
            Err(why) => {
                let stream = Stream::Receipts;
                let place = (message.at, message.subject.as_str(), message.raw.as_slice());
                set_aside(batch, stream, &unread.epoch, place, why)?;
                if let Some(Subject::Receipt(key)) = Subject::parse(&message.subject) {
                    note_unreadable(batch, &key, message, why)?;
                }
            }
        }
    }
    let inserted = receipts::insert(batch.tx, &rows)?;
    let keys: Vec<RequestKey> = rows.iter().map(|row| row.key.clone()).collect();
    let records: HashMap<RequestKey, RequestRecord> = requests::records(batch.tx, &keys)?
        .into_iter()
        .map(|record| (record.key.clone(), record))
        .collect();
    let standing = by_name(decisions::outcomes(batch.tx, &keys)?);
    let mut early = Vec::new();
    let mut raised: HashMap<i64, Delivery> = HashMap::new();
    for ((row, stage), digest) in rows.into_iter().zip(stages).zip(digests) {
        // One more of a stage changes nothing but what it says of the call: a second run counts, too.
        let repeated = !inserted.contains(&row.stream_seq);
        if !repeated {
            let actor = format!("{}/{}", row.key.workspace, row.key.agent);
            batch.record(
                actor,
                "receipt",
                row.key.to_string(),
                json!({
                    "payload_digest": Sha256Digest::of_bytes(&row.detail).to_string(),
                    "stage": stage.as_str(),
                    "stream_seq": row.stream_seq,
                }),
            );
        }
        let Some(decision) = standing.get(&row.key.to_string()) else {
            early.push((row.key, ran(stage).then(|| patience(row.at))));
            continue;
        };
        // A receipt for a decision other than the one in force says nothing about it.
        if let Some(record) = records.get(&row.key)
            && decision.decision_id.as_deref() == Some(row.decision_id.as_str())
        {
            let now = raised.get(&record.id).copied().unwrap_or(record.delivery);
            raised.insert(record.id, now.raised_to(rung(stage)));
            if !repeated && matches!(stage, Stage::Failed | Stage::Refused) {
                writer.habits.failed(record.id);
            }
        }
        if ran(stage) {
            let execution = Execution {
                decision_id: &row.decision_id,
                ran: digest.as_deref(),
                at: row.at,
            };
            compare(writer, batch, &row.key, &execution, decision)?;
        }
    }
    if !early.is_empty() {
        writer.counts.early += receipts_before_decision::note(batch.tx, &early)?;
        if let Some(look_at) = early.iter().filter_map(|(_, look_at)| *look_at).min() {
            writer.due_at(look_at);
        }
    }
    let raised: Vec<(i64, Delivery)> = raised.into_iter().collect();
    request_states::change_delivery(batch.tx, &raised)?;
    batch
        .effects
        .touched
        .extend(raised.iter().map(|(id, _)| *id));
    writer.projected(batch, unread)
}

/// Reports a receipt that cannot be read under its request: it may have said that the call ran. Once, and of a request
/// that is known, so that an agent that sends nothing else, or under names that it makes up, fills no log.
fn note_unreadable(
    batch: &mut Tx<'_>,
    key: &RequestKey,
    message: &IncomingReceipt,
    why: &str,
) -> Result<(), StoreError> {
    let subject = key.to_string();
    // The log is written at the end of the transaction, which may have several batches of receipts.
    let mut noted = batch.effects.audit.iter();
    if noted.any(|row| row.action == UNREADABLE && row.subject == subject) {
        return Ok(());
    }
    let known = requests::records(batch.tx, std::slice::from_ref(key))?;
    if known.is_empty() || audit::is_written(batch.tx, UNREADABLE, &subject)? {
        return Ok(());
    }
    tracing::warn!(request = %key, why, "a receipt cannot be read and was set aside");
    batch.record(
        key.agent_key().to_string(),
        UNREADABLE,
        subject,
        json!({
            "payload_digest": Sha256Digest::of_bytes(&message.raw).to_string(),
            "stream_seq": message.at.seq,
        }),
    );
    Ok(())
}

/// Keeps a message that could not be read.
pub(super) fn set_aside(
    batch: &mut Tx<'_>,
    stream: Stream,
    epoch: &str,
    (at, subject, raw): (At, &str, &[u8]),
    why: &str,
) -> Result<(), StoreError> {
    let kept = (at, subject, raw);
    batch.set_aside((stream, epoch), kept, ("unreadable", why))
}
