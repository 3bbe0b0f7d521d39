//! The expected state of a request from the stored messages alone: the protocol's rules once more, independent of the
//! projection.

use countersign_wire::{RequestKey, Stream, decision_subject, receipt_subject};
use serde_json::Value;

use super::bus::{MemoryBus, Stored};
use crate::domain::Timestamp;

/// How a request reads everywhere once everything is read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) state: &'static str,
    pub(super) verdict: String,
    pub(super) delivery: String,
    pub(super) alarms: Vec<&'static str>,
}

fn subject(word: &str, key: &RequestKey) -> String {
    let (ws, agent, id) = (&key.workspace, &key.agent, &key.request_id);
    format!("countersign.v1.{word}.{ws}.{agent}.{id}")
}

fn json(stored: &Stored) -> Value {
    serde_json::from_slice(&stored.payload).unwrap_or_default()
}

fn time(value: &Value) -> Option<Timestamp> {
    Timestamp::parse(value.as_str()?)
}

/// The request's deadline for a decision stored at `at`.
pub(super) fn deadline(bus: &MemoryBus, key: &RequestKey, at: Timestamp) -> Timestamp {
    let stored = bus
        .last(Stream::Requests, &subject("request", key))
        .unwrap();
    let body = json(stored);
    let asked = time(&body["requested_at"]).unwrap();
    let first = stored
        .stamp
        .plus_ms(time(&body["expires_at"]).unwrap().since_ms(asked));
    match bus.last(Stream::Requests, &subject("tighten", key)) {
        Some(tighten) if tighten.stamp <= at => match time(&json(tighten)["expires_at"]) {
            Some(wanted) => first.min(stored.stamp.plus_ms(wanted.since_ms(asked).max(0))),
            None => first,
        },
        _ => first,
    }
}

/// What everything that is stored makes of a request that was answered.
pub(super) fn expected(bus: &MemoryBus, key: &RequestKey) -> Option<Expected> {
    let decision = bus.last(Stream::Decisions, &decision_subject(key))?;
    let body = json(decision);
    let word = body["verdict"].as_str().unwrap_or_default().to_owned();
    let withdrawn = bus
        .last(Stream::Requests, &subject("withdraw", key))
        .is_some_and(|withdraw| withdraw.stamp <= decision.stamp);
    let late = decision.stamp >= deadline(bus, key, decision.stamp);
    let (state, verdict) = match word.as_str() {
        _ if decision.sig.is_none() => ("void", "void".to_owned()),
        "withdrawn" => ("withdrawn", word),
        // Section 6: the first that was stored wins, over an `expired` and over what is late too.
        _ if withdrawn => ("withdrawn", "withdrawn".to_owned()),
        "expired" => ("expired", word),
        _ if late => ("expired", "expired".to_owned()),
        _ => ("decided", word),
    };
    let id = body["decision_id"].as_str().unwrap_or("none");
    let mut delivery = 0;
    let mut alarms = Vec::new();
    if state == "void" {
        alarms.push("void_decision");
    }
    let receipts = bus.of(Stream::Receipts).iter();
    for receipt in receipts.filter(|stored| stored.subject == receipt_subject(key)) {
        let said = json(receipt);
        let stage = said["stage"].as_str().unwrap();
        let named = said["decision_id"] == id;
        if named {
            let rung = ["received", "failed", "executed"]
                .iter()
                .position(|word| *word == stage);
            delivery = delivery.max(rung.unwrap() + 1);
        }
        if stage == "received" {
            continue;
        }
        if !named && receipt.stamp < decision.stamp {
            alarms.push("executed_without_decision");
        } else if verdict == "approve" {
            if !named {
                alarms.push("executed_without_decision");
            } else if said["executed_args_digest"] != body["args_digest"] {
                alarms.push("executed_digest_differs");
            }
        } else {
            alarms.push("executed_without_approval");
        }
    }
    alarms.sort_unstable();
    alarms.dedup();
    Some(Expected {
        state,
        verdict,
        delivery: ["on_bus", "received", "failed", "executed"][delivery].to_owned(),
        alarms,
    })
}
