//! What a rule with a limit has approved already, and which console counts for it.

use countersign_wire::RequestKey;
use serde_json::Value;

use super::ledger::Batch;
use crate::policy::evaluate::amount;
use crate::policy::{Rule, Used};
use crate::store::StoreError;
use crate::store::rule_uses::{self, SUMMED_MAX};

pub(super) fn is_limited(rule: &Rule) -> bool {
    rule.limit.is_some() || rule.sum.is_some()
}

/// Which console counts for a limited rule: the same for all its requests, so that two consoles do not
/// each approve up to the limit.
pub(super) fn counter(request: &RequestKey, rule: &Rule) -> RequestKey {
    let name = format!("{}/rules/r{}", request.workspace, rule.id);
    name.parse().unwrap_or_else(|_| request.clone())
}

/// What a rule has approved in its windows. An amount that is not known any more counts as too much.
pub(super) async fn used(batch: &mut Batch<'_>, ws: &str, rule: &Rule) -> Result<Used, StoreError> {
    let mut used = Used::default();
    if let Some(limit) = rule.limit {
        let since = batch.now.plus_ms(-limit.per_ms);
        used.count = rule_uses::approved(batch.tx, ws, &rule.id, since).await?;
    }
    if let Some(sum) = &rule.sum {
        let since = batch.now.plus_ms(-sum.per_ms);
        let mut calls = 0;
        let of = (ws, rule.id.as_str(), since);
        rule_uses::approved_payloads(batch.tx, of, SUMMED_MAX + 1, |raw| {
            calls += 1;
            let request: Value = serde_json::from_slice(&raw).unwrap_or_default();
            used.sum += amount(request.get("args"), &sum.pointer).unwrap_or(f64::INFINITY);
        })
        .await?;
        if calls > SUMMED_MAX {
            used.sum = f64::INFINITY;
        }
    }
    Ok(used)
}
