//! Uses of a rule with a limit, and the console that counts them.

use std::collections::HashMap;

use crate::store::Connection;
use countersign_wire::{Effective, RequestKey, Sha256Digest, request_fields};
use parking_lot::{Mutex, MutexGuard};

use crate::domain::Timestamp;
use crate::policy::evaluate::amount;
use crate::policy::{Enabled, Rule, Used};
use crate::store::rule_uses::{self, Approvals, SUMMED_MAX};
use crate::store::{StoreError, requests};

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

/// Bytes of past payloads that are read for sums at once, about: in a transaction everybody waits meanwhile.
const READ_AT_ONCE: usize = 4 * 1024 * 1024;
/// Amounts that are remembered.
const AMOUNTS: usize = 20_000;

/// What past calls add to the sums of rules. A request never changes, so each is read once.
#[derive(Default)]
pub(super) struct Amounts(Mutex<ReadAmounts>);

#[derive(Default)]
struct ReadAmounts {
    /// By a request's row and the pointer of the sum.
    amounts: HashMap<(i64, String), f64>,
    /// Bytes that were read since this last began.
    read: usize,
}

impl Amounts {
    fn locked(&self) -> MutexGuard<'_, ReadAmounts> {
        self.0.lock()
    }

    /// Another transaction begins, or another look.
    pub(super) fn begin(&self) {
        self.locked().read = 0;
    }

    fn get(&self, request: i64, pointer: &str) -> Option<f64> {
        let known = self.locked();
        known.amounts.get(&(request, pointer.to_owned())).copied()
    }

    pub(super) fn note(&self, request: i64, pointer: &str, amount: f64) {
        let mut known = self.locked();
        if known.amounts.len() >= AMOUNTS {
            known.amounts.clear();
        }
        known.amounts.insert((request, pointer.to_owned()), amount);
    }

    /// Whether as much was read at once as may be.
    fn is_spent(&self) -> bool {
        self.locked().read >= READ_AT_ONCE
    }

    /// Reads what this call adds.
    fn read(&self, tx: &Connection, request: i64, pointer: &str) -> Result<f64, StoreError> {
        let raw = requests::payload(tx, request)?;
        let raw = raw.unwrap_or_default();
        self.locked().read += raw.len();
        let amount = added(&raw, pointer);
        self.note(request, pointer, amount);
        Ok(amount)
    }
}

/// What a rule has approved in its windows.
pub(super) struct Counted {
    pub(super) used: Used,
    /// The sum is not known yet, and counts as too much: it is to be read on.
    pub(super) reads_on: bool,
}

/// What a request that a rule approved adds to its sum. One that is not known any more is too much.
fn added(raw: &[u8], pointer: &str) -> f64 {
    let request = request_fields(raw).unwrap_or_default();
    let effective = request.get("effective").cloned().unwrap_or_default();
    let Ok(effective) = serde_json::from_value::<Option<Effective>>(effective) else {
        return f64::INFINITY;
    };
    amount(request.get("args"), effective.as_ref(), pointer).unwrap_or(f64::INFINITY)
}

/// What a rule has approved in its windows. An amount that is not known any more counts as too much.
pub(super) fn used(
    (tx, now): (&Connection, Timestamp),
    amounts: &Amounts,
    ws: &str,
    rule: &Rule,
) -> Result<Counted, StoreError> {
    let within = |per_ms: i64| Approvals {
        ws,
        rule_id: &rule.id,
        since: now.plus_ms(-per_ms),
        shadow: rule.enabled == Enabled::Shadow,
    };
    let mut used = Used::default();
    let mut reads_on = false;
    if let Some(limit) = rule.limit {
        used.count = rule_uses::approved(tx, within(limit.per_ms))?;
    }
    if let Some(sum) = &rule.sum {
        let calls = rule_uses::approved_calls(tx, within(sum.per_ms), SUMMED_MAX + 1)?;
        let too_many = i64::try_from(calls.len()).is_ok_and(|calls| calls > SUMMED_MAX);
        for call in calls.into_iter().filter(|_| !too_many) {
            used.sum += match amounts.get(call, &sum.pointer) {
                Some(amount) => amount,
                None if amounts.is_spent() => {
                    reads_on = true;
                    break;
                }
                None => amounts.read(tx, call, &sum.pointer)?,
            };
        }
        if too_many || reads_on {
            used.sum = f64::INFINITY;
        }
    }
    Ok(Counted { used, reads_on })
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
            let reported = added(raw.as_bytes(), "/amount");
            assert_eq!(reported.to_bits(), much.to_bits(), "{raw}");
        }
        for gone in ["", "{}", r#"{"args":{"amount":"7"}}"#] {
            assert!(added(gone.as_bytes(), "/amount").is_infinite(), "{gone}");
        }
    }
}
