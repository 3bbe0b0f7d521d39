//! Watches the delivery ladder: an answer whose next rung does not come in time is an alarm until it moves (protocol,
//! section 6).
//!
//! Decisions are spared the cost: answers are looked at when their time has come, in the order of the stream, and only
//! those that wait then are remembered one by one.

use countersign_wire::{
    RequestKey, Verdict, decision_subject, json_value, parse_request, request_subject,
};

use super::writer_state::{Tx, WriterState};
use crate::domain::stall::{Look, Progress, judge_progress};
use crate::domain::{AlarmCode, Stall, StallLimits, Timestamp};
use crate::store::stalls::{self, Watched};
use crate::store::{StoreError, meta, quarantine, receipts, requests};

const AT_ONCE: i64 = 500;
/// Answers are looked at no more often than this.
const EVERY_MS: i64 = 1_000;
/// Alarms about answers that are active at the same time: more would hide each other.
const MOST: i64 = 200;
/// When an answer that would have been one alarm too many is looked at again.
const TURN_MS: i64 = 30_000;
/// Agents of this framework hand the decision to a script and are gone before it runs.
const SCRIPT: &str = "countersign ask";
/// What an agent says in `degraded` that cannot see the call run.
const NO_REPORT: &str = "no_execution_report";

/// How long after it was stored a decision is looked at.
pub(super) fn first_look_ms(limits: &StallLimits) -> i64 {
    limits.received_ms.min(limits.executed_ms)
}

/// Looks at what is due; returns when to look next.
pub(super) fn sweep(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
) -> Result<Option<Timestamp>, StoreError> {
    if let Some(next) = writer.next_sweep
        && batch.now < next
    {
        return Ok(Some(next));
    }
    let (now, limits) = (batch.now, writer.stall_limits);
    if !writer.reports_known {
        // What looks unsent may be stored and not read yet.
        let since = *writer.unknown_since.get_or_insert(now);
        let due = since.plus_ms(limits.on_bus_ms);
        if now < due {
            writer.next_sweep = Some(due);
            return Ok(writer.next_sweep);
        }
    }
    let mut due = stalls::unsent(batch.tx, now.plus_ms(-limits.on_bus_ms), AT_ONCE)?;
    let mut next_stored = None;
    if writer.reports_known {
        let (waiting, next) = passed(writer, batch)?;
        next_stored = next;
        due.extend(waiting);
        due.extend(stalls::due(batch.tx, now, AT_ONCE)?);
    }
    due.sort_unstable();
    due.dedup();
    judge(writer, batch, &due)?;
    let oldest = stalls::oldest_unsent(batch.tx)?;
    let parked = match writer.reports_known {
        true => stalls::next_look(batch.tx)?,
        false => None,
    };
    let next = [
        next_stored,
        oldest.map(|at| at.plus_ms(limits.on_bus_ms)),
        parked,
    ]
    .into_iter()
    .flatten()
    .min();
    writer.next_sweep = Some(next.map_or(Timestamp(i64::MAX), |at| at.max(now.plus_ms(EVERY_MS))));
    Ok(writer.next_sweep)
}

/// Moves on along the stored decisions: those with a rung still to come, and when the next is to be looked at.
fn passed(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
) -> Result<(Vec<i64>, Option<Timestamp>), StoreError> {
    let after = swept(writer, batch)?;
    let wait = first_look_ms(&writer.stall_limits);
    let rows = stalls::unswept(batch.tx, after, AT_ONCE)?;
    let due = |stored_at: i64| Timestamp(stored_at).plus_ms(wait);
    let taken = rows
        .iter()
        .take_while(|row| due(row.stored_at) <= batch.now)
        .count();
    let (taken, later) = rows.split_at(taken);
    if let Some(last) = taken.last() {
        writer.swept = Some(last.id);
        meta::put(batch.tx, meta::LADDER_SWEPT, &last.id.to_string())?;
    }
    let waiting = taken.iter().filter(|row| row.waits);
    // A full page means that more is due at once.
    let next = match later.first() {
        Some(row) => Some(due(row.stored_at)),
        None if rows.len() >= AT_ONCE as usize => Some(batch.now),
        None => None,
    };
    Ok((waiting.filter_map(|row| row.request).collect(), next))
}

fn swept(writer: &mut WriterState, batch: &mut Tx<'_>) -> Result<i64, StoreError> {
    if let Some(swept) = writer.swept {
        return Ok(swept);
    }
    let kept = meta::stored(batch.tx, meta::LADDER_SWEPT)?;
    let swept = kept.and_then(|kept| kept.parse().ok()).unwrap_or(0);
    writer.swept = Some(swept);
    Ok(swept)
}

/// Looks at one decision that found its request after the sweep had passed it.
pub(super) fn found_late(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    decision: i64,
    request: i64,
) -> Result<(), StoreError> {
    if decision > swept(writer, batch)? {
        return Ok(());
    }
    stalls::park(batch.tx, request, batch.now)?;
    writer.counts.watched += 1;
    writer.sweep_at(batch.now);
    Ok(())
}

/// Looks again at those of the changed rows that are watched: what has moved is an alarm no longer.
pub(super) fn moved(writer: &mut WriterState, batch: &mut Tx<'_>) -> Result<(), StoreError> {
    if writer.counts.watched == 0 || batch.effects.touched.is_empty() {
        return Ok(());
    }
    let mut touched = batch.effects.touched.clone();
    touched.sort_unstable();
    touched.dedup();
    let watched = stalls::watched_of(batch.tx, &touched)?;
    judge(writer, batch, &watched)
}

fn judge(writer: &mut WriterState, batch: &mut Tx<'_>, ids: &[i64]) -> Result<(), StoreError> {
    if ids.is_empty() {
        return Ok(());
    }
    let (_, mut alarmed) = stalls::counts(batch.tx)?;
    for watched in stalls::look_up(batch.tx, ids)? {
        let mut seen = judge_progress(&progress(writer, &watched), &writer.stall_limits, batch.now);
        if let Look::Stalled(stall) = seen
            && (is_contradicted(batch, &watched)?
                || stall == Stall::NotExecuted
                    && (is_script(batch, &watched)? || reports_nothing(batch, &watched)?))
        {
            seen = Look::Done;
        }
        let current = match seen {
            Look::Stalled(stall) => watched.alarmed == Some(stall),
            _ => false,
        };
        if let Some(stall) = watched.alarmed
            && !current
        {
            let actor = writer.identity.auto_key().to_string();
            batch.clear_alarm(&actor, AlarmCode::Stalled(stall), &name(&watched))?;
            alarmed -= 1;
        }
        match seen {
            Look::Stalled(_) if current => {}
            Look::Stalled(stall) if alarmed < MOST => {
                raise(writer, batch, &watched, stall)?;
                alarmed += 1;
            }
            Look::Stalled(_) => {
                stalls::park(batch.tx, watched.request, batch.now.plus_ms(TURN_MS))?;
            }
            Look::Again(at) => stalls::park(batch.tx, watched.request, at)?,
            Look::Done => stalls::forget(batch.tx, watched.request)?,
        }
        if let Look::Again(at) = seen {
            writer.sweep_at(at);
        }
    }
    writer.counts.watched = stalls::counts(batch.tx)?.0;
    Ok(())
}

fn progress(writer: &WriterState, watched: &Watched) -> Progress {
    Progress {
        state: watched.state,
        delivery: watched.delivery,
        runs: watched.is_call
            && watched
                .verdict
                .as_deref()
                .and_then(Verdict::from_word)
                .is_some_and(Verdict::lets_it_run),
        queued_at: watched.queued_at,
        stored_at: watched.stored_at,
        received_at: watched.received_at,
        deadline_at: watched.deadline_at,
        heard_at: watched.heard_at,
        alive_since: watched.alive_since,
        outbox_moved_at: writer.outbox_moved_at,
        reports_execution: true,
    }
}

/// Whether the bus holds another decision: what this console knows of it reaches no agent.
fn is_contradicted(batch: &mut Tx<'_>, watched: &Watched) -> Result<bool, StoreError> {
    match name(watched).parse::<RequestKey>() {
        Ok(key) => quarantine::is_contradicted(batch.tx, &decision_subject(&key)),
        Err(_) => Ok(false),
    }
}

/// Whether a shell script was gated: nobody reports what became of the call.
fn is_script(batch: &mut Tx<'_>, watched: &Watched) -> Result<bool, StoreError> {
    let Ok(key) = name(watched).parse::<RequestKey>() else {
        return Ok(false);
    };
    let raw = requests::payload(batch.tx, watched.request)?;
    let parsed = parse_request(&request_subject(&key), &raw.unwrap_or_default());
    Ok(parsed.is_ok_and(|parsed| parsed.request.agent.framework.as_deref() == Some(SCRIPT)))
}

/// Whether its receipt said that nobody will report what became of the call.
fn reports_nothing(batch: &mut Tx<'_>, watched: &Watched) -> Result<bool, StoreError> {
    let Ok(key) = name(watched).parse::<RequestKey>() else {
        return Ok(false);
    };
    let receipts = receipts::of_requests(batch.tx, &[key])?;
    Ok(receipts.iter().any(|receipt| {
        let said = json_value(&receipt.detail).unwrap_or_default();
        let degraded = said["degraded"].as_array().into_iter().flatten();
        receipt.stage == "received" && degraded.into_iter().any(|word| word == NO_REPORT)
    }))
}

fn name(watched: &Watched) -> String {
    format!("{}/{}/{}", watched.ws, watched.agent, watched.request_id)
}

fn raise(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    watched: &Watched,
    stall: Stall,
) -> Result<(), StoreError> {
    stalls::mark(batch.tx, watched.request, stall, batch.now)?;
    let Ok(key) = name(watched).parse() else {
        return Ok(());
    };
    let (code, actor) = (stall.code(), writer.identity.auto_key().to_string());
    let raised = batch.alarm_of_request(actor, code, &key, batch.now);
    if let Some(about) = raised? {
        tracing::warn!(about, code, "an answer is stuck");
        batch.effects.touched.push(watched.request);
    }
    Ok(())
}
