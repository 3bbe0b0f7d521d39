//! What a rule with a limit has approved already, and which console counts for it.

use countersign_wire::{Effective, RequestKey, Sha256Digest, request_fields};

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
    let id = match rule.id.len() {
        ..64 => rule.id.clone(),
        // With the letter before it, it would be no request id.
        _ => Sha256Digest::of_bytes(rule.id.as_bytes()).hex()[..63].to_owned(),
    };
    let name = format!("{}/rules/r{id}", request.workspace);
    name.parse().unwrap_or_else(|_| request.clone())
}

/// What a request that a rule approved adds to its sum. One that is not known any more is too much.
pub(super) fn added(raw: &[u8], pointer: &str) -> f64 {
    let request = request_fields(raw).unwrap_or_default();
    let effective = request.get("effective").cloned().unwrap_or_default();
    let Ok(effective) = serde_json::from_value::<Option<Effective>>(effective) else {
        return f64::INFINITY;
    };
    amount(request.get("args"), effective.as_ref(), pointer).unwrap_or(f64::INFINITY)
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
            used.sum += added(&raw, &sum.pointer);
        })
        .await?;
        if calls > SUMMED_MAX {
            used.sum = f64::INFINITY;
        }
    }
    Ok(used)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::{added, counter};
    use crate::policy::body::read_rule;

    #[test]
    fn one_console_counts_for_all_requests_of_a_rule_however_long_its_id() {
        let one = "acme/bot/r1".parse().unwrap();
        let other = "acme/cat/r2".parse().unwrap();
        let mut names = Vec::new();
        for id in [
            "a".repeat(63),
            "a".repeat(64),
            format!("-{}", "a".repeat(63)),
        ] {
            let rule = read_rule(&format!("id = \"{id}\"\neffect = \"ask\"\n")).unwrap();
            assert_eq!(counter(&one, &rule), counter(&other, &rule), "{id}");
            names.push(counter(&one, &rule));
        }
        names.dedup();
        assert_eq!(names.len(), 3);
    }

    #[test]
    fn what_nobody_interprets_does_not_stop_a_sum() {
        let kept = [r#"{"s":"\ud800"}"#, r#"{"n":1e999}"#, r#"{"a":1,"a":2}"#];
        for kept in kept {
            let raw = format!(r#"{{"args":{{"amount":7}},"metadata":{kept},"native":{kept}}}"#);
            assert_eq!(
                added(raw.as_bytes(), "/amount").to_bits(),
                7.0_f64.to_bits(),
                "{raw}"
            );
        }
        for (effective, much) in [
            (json!({"fixed": {"amount": 9}}), 9.0_f64),
            (json!({"fixed": {"amount": 1}}), 7.0),
            (json!({"fixed": 1}), f64::INFINITY),
            (json!("?"), f64::INFINITY),
        ] {
            let raw = json!({"args": {"amount": 7}, "effective": effective}).to_string();
            let told = added(raw.as_bytes(), "/amount");
            assert_eq!(told.to_bits(), much.to_bits(), "{raw}");
        }
        for gone in ["", "{}", r#"{"args":{"amount":"7"}}"#] {
            assert!(added(gone.as_bytes(), "/amount").is_infinite(), "{gone}");
        }
    }
}
