//! Learns what people decide: counts per place, value and day, in the store and in the past at hand.

use countersign_scrutiny::{Call, Denial, Fact, Kind, Past, facts};
use countersign_wire::args_digest;

use super::past::{Pasts, ToolName, day_of};
use super::{Habits, Tx, WriterState};
use crate::domain::Timestamp;
use crate::ops::scrutiny::{APPROVED_MS, is_approval, person, ran};
use crate::store::habits::{self, Denied, Value};
use crate::store::people_decided::{self, Decided, PersonDecided};
use crate::store::{Connection, StoreError};

/// The most values that are kept of a place.
const VALUES: usize = 200;
/// The most calls of which all values are remembered.
pub(super) const ROWS: u32 = 40;
/// Between the parts of a value.
const PART: char = '\u{1f}';
/// Decisions that are read together.
const AT_ONCE: usize = 200;

/// What people decided in this transaction.
pub(super) fn decided(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    requests: &[i64],
) -> Result<(), StoreError> {
    let Habits { pasts, again, .. } = &mut writer.habits;
    for decided in people_decided::of(batch.tx, requests, 0)? {
        let tool = ToolName::of(&decided);
        learn(pasts, batch.tx, batch.now, &tool, &decided)?;
        again.want(tool);
    }
    Ok(())
}

/// Runs of which the first receipts came that they failed or were refused: what was approved of them is not a yardstick.
pub(super) fn failed(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    mut requests: Vec<i64>,
) -> Result<(), StoreError> {
    requests.sort_unstable();
    let Habits { pasts, again, .. } = &mut writer.habits;
    for reported in requests.chunk_by(|one, other| one == other) {
        let times = i64::try_from(reported.len()).unwrap_or(i64::MAX);
        for decided in people_decided::of(batch.tx, &reported[..1], times)? {
            let decision = &decided.decision;
            if !is_approval(decision) {
                continue;
            }
            let tool = ToolName::of(&decided);
            let past = pasts.of(batch.tx, batch.now, &tool)?;
            if let Some(facts) = facts_of(&tool, decision, past) {
                let (day, values) = (day_of(decision.decided_at), values(past, &facts));
                habits::take_back(batch.tx, tool.parts(), day, &values)?;
            }
            pasts.forget(&tool);
            again.want(tool);
        }
    }
    Ok(())
}

/// Learns a tool anew from history. Returns how many decisions it learned.
pub(super) fn anew(
    pasts: &mut Pasts,
    tx: &Connection,
    now: Timestamp,
    tool: &ToolName,
) -> Result<u64, StoreError> {
    habits::forget(tx, tool.parts())?;
    pasts.forget(tool);
    let requests = people_decided::of_tool_since(tx, tool.parts(), now.0 - APPROVED_MS)?;
    let mut learned = 0;
    for page in requests.chunks(AT_ONCE) {
        for decided in people_decided::of(tx, page, 0)? {
            learn(pasts, tx, now, tool, &decided)?;
            learned += u64::from(decided.times);
        }
    }
    Ok(learned)
}

fn learn(
    pasts: &mut Pasts,
    tx: &Connection,
    now: Timestamp,
    tool: &ToolName,
    Decided {
        decision, times, ..
    }: &Decided,
) -> Result<(), StoreError> {
    let past = pasts.of(tx, now, tool)?;
    let Some(mut facts) = facts_of(tool, decision, past) else {
        return Ok(());
    };
    if decision.decided_at < now.0 - APPROVED_MS {
        return Ok(());
    }
    let day = day_of(decision.decided_at);
    if is_approval(decision) {
        habits::approve(tx, tool.parts(), (day, *times), &values(past, &facts))?;
        past.approve(&facts, *times);
        remember(past, tool, decision, *times);
    } else {
        facts.retain(|fact| fact.kind.is_kept_of_a_denial());
        let denied = Denied {
            at: decision.decided_at,
            by: person(decision),
            why: decision.message.clone(),
        };
        let values = values(past, &facts);
        habits::deny(tx, tool.parts(), (day, &denied), &values)?;
        past.deny(&facts, &denial(denied));
        remember(past, tool, decision, 1);
    }
    let full = past.full(&facts, VALUES);
    let most = i64::try_from(VALUES).unwrap_or(i64::MAX);
    for (kind, place) in &full {
        habits::shorten(tx, tool.parts(), (kind.as_str(), place), most)?;
    }
    if !full.is_empty() {
        pasts.forget(tool);
    }
    Ok(())
}

/// The values of a call as it ran, as often as it ran on that day.
pub(super) fn remember(past: &mut Past, tool: &ToolName, decision: &PersonDecided, times: u32) {
    let Some(args) = ran(decision) else {
        return;
    };
    let mut call = Call::new(&tool.tool, &args);
    if let Ok(digest) = args_digest(&args) {
        call.digest = digest.to_string();
    }
    call.today = Some(day_of(decision.decided_at));
    let denied = (!is_approval(decision)).then(|| {
        denial(Denied {
            at: decision.decided_at,
            by: person(decision),
            why: decision.message.clone(),
        })
    });
    if past.remember(&decision.request_id, &call, denied.as_ref()) {
        for _ in 1..times.min(ROWS) {
            past.remember("", &call, denied.as_ref());
        }
    }
}

pub(super) fn denial(denied: Denied) -> Denial {
    Denial {
        by: denied.by,
        at: Some(denied.at),
        why: denied.why,
    }
}

/// What is kept of a call as it ran; of what joins a secret with something else, nothing.
fn facts_of(tool: &ToolName, decision: &PersonDecided, past: &Past) -> Option<Vec<Fact>> {
    let args = ran(decision)?;
    let mut call = Call::new(&tool.tool, &args);
    if let Ok(digest) = args_digest(&args) {
        call.digest = digest.to_string();
    }
    let mut facts = facts(&call);
    facts.retain(|fact| {
        let mut parts = fact.value.split(PART);
        !fact.value.contains(PART) || parts.all(|part| past.key(part) == part)
    });
    Some(facts)
}

/// As they are stored; each amount is a value of its own, so that the largest is known after others are gone.
fn values(past: &Past, facts: &[Fact]) -> Vec<Value> {
    let value = |fact: &Fact| {
        let mut value = past.key(&fact.value);
        if let Some(amount) = fact.amount {
            value = format!("{value}{PART}{amount}");
        }
        Value {
            kind: fact.kind.as_str(),
            place: fact.place.clone(),
            value,
        }
    };
    facts.iter().map(value).collect()
}

/// A stored value and its amount.
pub(super) fn parted(kind: Kind, stored: &str) -> (&str, Option<f64>) {
    match stored.rsplit_once(PART) {
        Some((value, amount)) if kind == Kind::Amount => (value, amount.parse().ok()),
        _ => (stored, None),
    }
}
