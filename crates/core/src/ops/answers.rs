//! Answers that need no person: expired, withdrawn, rejected.
//!
//! Refuses to answer a request that has an answer on the bus or in the outbox.

use countersign_wire::{DecisionVerdict, Origin, Sha256Digest};
use serde_json::json;

use super::draft::{Draft, seal, write};
use super::ledger::{Batch, Ledger};
use super::publisher::Outgoing;
use crate::domain::{RequestRecord, State};
use crate::store::outbox::{self, OutboxRow};
use crate::store::{StoreError, requests};

/// How many are looked at in one transaction.
const AT_ONCE: i64 = 500;

fn draft_for(state: State) -> Option<Draft> {
    match state {
        State::Expired => Some(Draft::by_console(DecisionVerdict::Expired, Origin::Timeout)),
        State::Withdrawn => Some(Draft::by_console(DecisionVerdict::Withdrawn, Origin::Agent)),
        State::Rejected => Some(Draft::by_console(DecisionVerdict::Rejected, Origin::System)),
        _ => None,
    }
}

/// Queues the answer of each of these rows, as their state asks for.
pub(crate) async fn give(
    ledger: &Ledger,
    batch: &mut Batch<'_>,
    ids: &[i64],
) -> Result<(), StoreError> {
    let Some(bus) = &ledger.bus else {
        return Ok(());
    };
    if ledger.read_only.is_some() || !ledger.projects {
        return Ok(());
    }
    let mut rows = Vec::new();
    for record in requests::records_by_id(batch.tx, ids).await? {
        let Some(draft) = draft_for(record.state) else {
            continue;
        };
        let written = write(&ledger.identity, &record, draft, batch.now).and_then(|unsigned| {
            let (key, subject) = (unsigned.key.as_str(), unsigned.subject.as_str());
            let sig = seal(
                &ledger.identity,
                &bus.realm,
                key,
                subject,
                &unsigned.payload,
            )?;
            Ok((unsigned, sig))
        });
        let (unsigned, sig) = match written {
            Ok(written) => written,
            Err(error) => {
                tracing::error!(request = %record.key, %error, "an automatic answer could not be made");
                continue;
            }
        };
        outbox::clear_failed(batch.tx, record.id).await?;
        batch.record(
            ledger.identity.auto_key().to_string(),
            "answer",
            record.key.to_string(),
            json!({
                "decision_id": unsigned.decision_id.to_string(),
                "payload_digest": Sha256Digest::of_bytes(&unsigned.payload).to_string(),
                "verdict": record.state.as_str(),
            }),
        );
        batch.gathered.outgoing.push(Outgoing {
            decision_id: unsigned.decision_id,
            request: record.id,
            subject: unsigned.subject.clone(),
            payload: unsigned.payload.clone().into(),
            key: unsigned.key.to_string(),
            sig: sig.clone(),
            deadline: None,
        });
        rows.push(row(&record, unsigned, sig, batch.now.0));
    }
    outbox::insert(batch.tx, &rows).await
}

fn row(
    record: &RequestRecord,
    unsigned: super::draft::Unsigned,
    sig: String,
    release_at: i64,
) -> OutboxRow {
    OutboxRow {
        decision_id: unsigned.decision_id.to_string(),
        request: record.id,
        subject: unsigned.subject,
        payload: unsigned.payload,
        key: unsigned.key.to_string(),
        sig: Some(sig),
        release_at,
        attempts: 0,
        last_error: None,
        state: "queued".to_owned(),
    }
}

/// Answers what ended while nobody could: after a restart, or read again from the streams.
pub(crate) async fn catch_up(ledger: &Ledger, batch: &mut Batch<'_>) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let ids = requests::unanswered(batch.tx, after, AT_ONCE).await?;
        let Some(last) = ids.last() else {
            return Ok(());
        };
        after = *last;
        give(ledger, batch, &ids).await?;
    }
}
