//! Watches what agents say they ran: an execution that nobody decided, or with other arguments than were decided, is an
//! alarm (protocol, section 6).
//!
//! Receipts and decisions come on two streams, so an execution without a decision raises the alarm only a while later.
//! What is waited for is kept in the store, so that the alarm survives a killed console.

use std::collections::HashMap;

use countersign_wire::{RequestKey, Stage, parse_receipt, receipt_subject};

use super::writer_state::{Tx, WriterState};
use crate::domain::incident::{Execution, incident};
use crate::domain::{AlarmCode, Delivery, INCIDENTS, Incident, Timestamp};
use crate::store::decisions::Outcome;
use crate::store::receipts::Reported;
use crate::store::{
    StoreError, decisions, receipts, receipts_before_decision, request_states, requests,
};

/// How far the stream of decisions may lag behind the stream of receipts.
const PATIENCE_MS: i64 = 3_000;

/// Whether the agent says that the call ran. One that failed ran, too.
pub(super) fn ran(stage: Stage) -> bool {
    matches!(stage, Stage::Executed | Stage::Failed)
}

/// When an execution without a decision counts.
pub(super) fn patience(at: Timestamp) -> Timestamp {
    at.plus_ms(PATIENCE_MS)
}

/// Compares one execution with the decision that is here.
pub(super) fn compare(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    key: &RequestKey,
    execution: &Execution<'_>,
    standing: &Outcome,
) -> Result<(), StoreError> {
    match incident(execution, Some(&standing.standing())) {
        Some(found) => raise(writer, batch, key, found, execution.at),
        None => Ok(()),
    }
}

/// Looks again at executions whose patience is over; returns when to look next.
pub(super) fn look_again(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
) -> Result<Option<Timestamp>, StoreError> {
    if writer.counts.early == 0 {
        return Ok(None);
    }
    let keys = receipts_before_decision::due(batch.tx, batch.now)?;
    review(writer, batch, &keys)?;
    receipts_before_decision::next_look(batch.tx)
}

/// Takes up the receipts that came before these requests' decisions.
pub(super) fn take_up(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    keys: &[RequestKey],
) -> Result<(), StoreError> {
    if writer.counts.early == 0 {
        return Ok(());
    }
    let early = receipts_before_decision::take(batch.tx, keys)?;
    writer.counts.early -= i64::try_from(early.len()).unwrap_or(0);
    review(writer, batch, &early)
}

/// Compares everything that was reported about these requests with what is known now: raises their rungs, raises
/// alarms, and takes back those that came too early.
pub(super) fn review(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    keys: &[RequestKey],
) -> Result<(), StoreError> {
    let mut reported: HashMap<String, Vec<Reported>> = HashMap::new();
    for row in receipts::of_requests(batch.tx, keys)? {
        let name = format!("{}/{}/{}", row.ws, row.agent, row.request_id);
        reported.entry(name).or_default().push(row);
    }
    if reported.is_empty() {
        return Ok(());
    }
    let standing: HashMap<String, Outcome> = by_name(decisions::outcomes(batch.tx, keys)?);
    let records = requests::records(batch.tx, keys)?;
    let mut raised = Vec::new();
    for key in keys {
        let name = key.to_string();
        let rows = reported.remove(&name).unwrap_or_default();
        let standing = standing.get(&name);
        let found: HashMap<Incident, Timestamp> = rows
            .iter()
            .rev()
            .filter_map(|row| judge(key, row, standing).map(|found| (found, Timestamp(row.at))))
            .collect();
        for one in INCIDENTS {
            match found.get(&one) {
                Some(at) => raise(writer, batch, key, one, *at)?,
                None => take_back(writer, batch, key, one)?,
            }
        }
        let Some(record) = records.iter().find(|record| record.key == *key) else {
            continue;
        };
        let names = |row: &&Reported| {
            standing.is_some_and(|decision| {
                decision.decision_id.as_deref() == Some(row.decision_id.as_str())
            })
        };
        let rungs = rows
            .iter()
            .filter(names)
            .filter_map(|row| Delivery::from_word(&row.stage));
        if let Some(rung) = rungs.max()
            && rung > record.delivery
        {
            raised.push((record.id, rung));
            batch.effects.touched.push(record.id);
        }
    }
    request_states::change_delivery(batch.tx, &raised)
}

/// Decisions by `WS/AGENT/ID`.
pub(super) fn by_name(outcomes: Vec<Outcome>) -> HashMap<String, Outcome> {
    outcomes
        .into_iter()
        .map(|row| (format!("{}/{}/{}", row.ws, row.agent, row.request_id), row))
        .collect()
}

fn judge(key: &RequestKey, row: &Reported, standing: Option<&Outcome>) -> Option<Incident> {
    // It was read when it came; the same bytes can be read again.
    let receipt = parse_receipt(&receipt_subject(key), &row.detail).ok()?;
    if !ran(receipt.stage) {
        return None;
    }
    let execution = Execution {
        decision_id: &row.decision_id,
        ran: receipt.executed_args_digest.as_deref(),
        at: Timestamp(row.at),
    };
    incident(&execution, standing.map(Outcome::standing).as_ref())
}

fn raise(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    key: &RequestKey,
    found: Incident,
    at: Timestamp,
) -> Result<(), StoreError> {
    let actor = writer.identity.auto_key().to_string();
    let code = found.code();
    if let Some(about) = batch.alarm_of_request(actor, code, key, at)? {
        tracing::error!(about, code, "an agent ran what was not approved");
    }
    Ok(())
}

fn take_back(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    key: &RequestKey,
    one: Incident,
) -> Result<(), StoreError> {
    let actor = writer.identity.auto_key().to_string();
    batch.clear_alarm(&actor, AlarmCode::Executed(one), &key.to_string())
}
