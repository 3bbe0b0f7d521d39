//! The writer's jobs about the bus as a whole: its identity, whether its past is known, and whether this console may
//! write.

use std::collections::BTreeMap;

use countersign_wire::Stream;
use serde_json::{Value, json};

use super::outbox::rescan;
use crate::bus::POLICY_STREAM;
use crate::domain::AlarmCode;
use crate::ops::job::{BusBinding, Job, PastKnown};
use crate::ops::realm::feed;
use crate::ops::votes::close;
use crate::ops::writer_state::{Tx, WriterState};
use crate::runtime::StreamPlace;
use crate::store::unanswered::EndedCursor;
use crate::store::{StoreError, alarms, bus_stream, meta, policy, realm_log};

/// The console is connected to a bus that is the remembered one, or the first.
pub(in crate::ops) fn bound(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    binding: &BusBinding,
) -> Result<(), StoreError> {
    let realm = binding.realm.to_string();
    if meta::put(batch.tx, meta::REALM, &realm)? {
        let auto = writer.identity.auto_key().to_string();
        batch.record(auto, "realm", realm, json!({}));
    }
    meta::put(batch.tx, meta::ROOT, &binding.root.to_string())?;
    // Also of those that nothing is projected from: one that is made anew has lost what it held.
    for (stream, epoch) in &binding.epochs {
        bus_stream::remember(batch.tx, stream, epoch)?;
        let before = bus_stream::epoch(batch.tx, stream)?;
        // Another console's recovery renewed it, and what was read here is still there.
        if bus_stream::renew(batch.tx, stream, epoch)?
            && let Some(of) = Stream::ALL.into_iter().find(|of| of.name() == *stream)
        {
            if of == Stream::Decisions {
                realm_log::renew(batch.tx, &before.unwrap_or_default(), epoch)?;
            }
            let next = bus_stream::next_seq(batch.tx, stream, epoch)?;
            let (epoch, next) = (epoch.clone(), u64::try_from(next).unwrap_or(1));
            batch
                .effects
                .positions
                .insert(of, StreamPlace { epoch, next });
        }
    }
    let agents = Stream::Agents;
    if let Some(epoch) = binding
        .epochs
        .get(agents.name())
        .filter(|_| binding.hello_gap)
    {
        bus_stream::restart(batch.tx, agents.name(), epoch)?;
        let (epoch, next) = (epoch.clone(), 1);
        batch
            .effects
            .positions
            .insert(agents, StreamPlace { epoch, next });
    }
    feed::restore(writer, batch.tx, binding)?;
    writer.bus = Some(binding.clone());
    writer.hellos_missed_before = Some(batch.now);
    batch.effects.status = true;
    Ok(())
}

/// Everything that was stored before the console connected is projected.
pub(in crate::ops) fn caught_up(reported: PastKnown) -> Job {
    Job::kept(move |writer, batch| know_the_past(writer, batch, &reported))
}

fn know_the_past(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    reported: &PastKnown,
) -> Result<(), StoreError> {
    writer.caught_up = true;
    writer.habits.look_at_all();
    writer.next_due = None;
    let reported = reported.clone();
    batch.reply(move || reported.announce());
    batch.effects.status = true;
    writer.answers_owed = Some(EndedCursor::default());
    rescan(writer, batch)?;
    close::catch_up(writer, batch)
}

/// The same of what agents report.
pub(in crate::ops) fn reports_known() -> Job {
    Job::kept(|writer, _| {
        writer.reports_known = true;
        writer.unknown_since = None;
        writer.next_sweep = None;
        writer.next_due = None;
        Ok(())
    })
}

/// The connection was lost: the past is to be read again.
pub(in crate::ops) fn lagging(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
) -> Result<(), StoreError> {
    writer.caught_up = false;
    writer.reports_known = false;
    writer.forget();
    batch.effects.status = true;
    Ok(())
}

/// Streams that were lost have what this console knew of them again: they are read from their beginning.
pub(in crate::ops) fn recovered(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    epochs: &BTreeMap<&'static str, String>,
    detail: &Value,
) -> Result<(), StoreError> {
    for (stream, epoch) in epochs {
        bus_stream::restart(batch.tx, stream, epoch)?;
        if stream == &POLICY_STREAM {
            policy::forget_revisions(batch.tx)?;
        }
    }
    let word = uuid::Uuid::new_v4().to_string();
    meta::put(batch.tx, meta::RECOVERED, &word)?;
    let me = writer.identity.human_key().to_string();
    batch.record(me, "bus_recover", "bus", detail.clone());
    Ok(())
}

/// The console takes no decisions from now on (code and reason), or does again.
pub(in crate::ops) fn read_only(why: Option<(String, String)>) -> Job {
    Job::kept(move |writer, batch| keep_read_only(writer, batch, why.as_ref()))
}

fn keep_read_only(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    why: Option<&(String, String)>,
) -> Result<(), StoreError> {
    let now = why.map(|(code, _)| code.as_str());
    for ended in alarms::subjects(batch.tx, AlarmCode::ReadOnly.as_str())? {
        if now != Some(ended.as_str()) {
            let auto = writer.identity.auto_key().to_string();
            batch.clear_alarm(&auto, AlarmCode::ReadOnly, &ended)?;
        }
    }
    // Other processes of this folder must know it too.
    let auto = writer.identity.auto_key().to_string();
    let console = writer.identity.console_id.to_string();
    match why {
        Some((code, reason)) => {
            let kept = format!("{reason} ({code})");
            // The bus is compared again and again.
            let news = meta::put(batch.tx, meta::READ_ONLY, &kept)?;
            if news || !alarms::is_active(batch.tx, AlarmCode::ReadOnly.as_str(), code)? {
                tracing::error!(code, reason, "this console is read-only now");
                batch.alarm(&auto, AlarmCode::ReadOnly, code)?;
            }
            if news {
                batch.record(auto, "read_only", console, json!({ "code": code }));
            }
        }
        None => {
            if meta::clear(batch.tx, meta::READ_ONLY)? {
                batch.record(auto, "read_only_ended", console, json!({}));
            }
        }
    }
    batch.effects.read_only = Some(why.map(|(_, reason)| reason.clone()));
    writer.read_only = why.cloned();
    batch.effects.status = true;
    Ok(())
}
