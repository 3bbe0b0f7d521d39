//! Watches what agents say they ran: an execution that nobody decided, or with other arguments than
//! were decided, is an alarm (protocol, section 6).
//!
//! Refuses to cry too early: receipts and decisions come on two streams, so an execution without a
//! decision counts only when the decision has not come a while later.

use std::collections::HashMap;

use countersign_wire::{RequestKey, Sha256Digest};

use super::ledger::{Batch, Ledger};
use crate::domain::Timestamp;
use crate::store::{StoreError, decisions};

/// How far the stream of decisions may lag behind the stream of receipts.
const PATIENCE_MS: i64 = 3_000;
/// Unexplained executions kept in memory; more than these alarm at once.
const KEPT: usize = 1_000;

/// An execution whose decision is not here yet.
#[derive(Clone)]
pub(crate) struct Unexplained {
    pub(crate) key: RequestKey,
    pub(crate) ran: Option<Sha256Digest>,
    pub(crate) look_at: Timestamp,
}

/// Compares executions with the decisions that are here; the others are looked at again later.
pub(super) async fn check(
    ledger: &mut Ledger,
    batch: &mut Batch<'_>,
    executed: Vec<(RequestKey, Option<Sha256Digest>)>,
) -> Result<(), StoreError> {
    if executed.is_empty() {
        return Ok(());
    }
    let keys: Vec<RequestKey> = executed.iter().map(|(key, _)| key.clone()).collect();
    let decided = decided(batch, &keys).await?;
    for (key, ran) in executed {
        match decided.get(&key.to_string()) {
            Some(allowed) => compare(ledger, batch, &key, allowed, ran).await?,
            None if ledger.unexplained.len() < KEPT => {
                ledger.due_at(batch.now.plus_ms(PATIENCE_MS));
                ledger.unexplained.push(Unexplained {
                    key,
                    ran,
                    look_at: batch.now.plus_ms(PATIENCE_MS),
                });
            }
            None => alarm(ledger, batch, "executed_without_decision", &key).await?,
        }
    }
    Ok(())
}

/// Looks again at executions whose patience is over; returns when to look next.
pub(super) async fn look_again(
    ledger: &mut Ledger,
    batch: &mut Batch<'_>,
) -> Result<Option<Timestamp>, StoreError> {
    let now = batch.now;
    let (due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut ledger.unexplained)
        .into_iter()
        .partition(|unexplained| unexplained.look_at <= now);
    ledger.unexplained = later;
    let keys: Vec<RequestKey> = due.iter().map(|one| one.key.clone()).collect();
    let decided = decided(batch, &keys).await?;
    for Unexplained { key, ran, .. } in due {
        match decided.get(&key.to_string()) {
            Some(allowed) => compare(ledger, batch, &key, allowed, ran).await?,
            None => alarm(ledger, batch, "executed_without_decision", &key).await?,
        }
    }
    Ok(ledger.unexplained.iter().map(|one| one.look_at).min())
}

/// What a decision says of running the call.
enum Permission {
    /// With the arguments of this digest.
    Digest(Option<String>),
    /// Somebody else answers for it: the agent itself, or its next approver.
    Elsewhere,
    /// Not at all.
    None,
}

async fn decided(
    batch: &mut Batch<'_>,
    keys: &[RequestKey],
) -> Result<HashMap<String, Permission>, StoreError> {
    Ok(decisions::outcomes(batch.tx, keys)
        .await?
        .into_iter()
        .map(|row| {
            let permission = match row.effective.as_deref() {
                Some("approve" | "modify") => Permission::Digest(row.args_digest),
                Some("respond" | "escalate") | None => Permission::Elsewhere,
                Some(_) => Permission::None,
            };
            let name = format!("{}/{}/{}", row.ws, row.agent, row.request_id);
            (name, permission)
        })
        .collect())
}

async fn compare(
    ledger: &Ledger,
    batch: &mut Batch<'_>,
    key: &RequestKey,
    allowed: &Permission,
    ran: Option<Sha256Digest>,
) -> Result<(), StoreError> {
    match (allowed, ran.map(|digest| digest.to_string())) {
        (Permission::None, _) => alarm(ledger, batch, "executed_without_approval", key).await,
        (Permission::Digest(Some(allowed)), Some(ran)) if *allowed != ran => {
            alarm(ledger, batch, "executed_digest_differs", key).await
        }
        _ => Ok(()),
    }
}

async fn alarm(
    ledger: &Ledger,
    batch: &mut Batch<'_>,
    code: &'static str,
    key: &RequestKey,
) -> Result<(), StoreError> {
    let actor = ledger.identity.auto_key().to_string();
    tracing::error!(request = %key, code, "an agent ran what was not approved");
    batch.alarm(&actor, code, &key.to_string()).await
}
