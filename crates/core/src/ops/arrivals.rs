//! Projects `CS_REQUESTS`: requests, rejections, withdraws and tightens.
//!
//! A message that fits nowhere is quarantined with its bytes.

mod amendments;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use countersign_wire::{
    ParsedRequest, Rejection, RejectionCode, RequestKey, Risk, Sha256Digest, Stream, VerdictSet,
    tighten_subject,
};
use serde_json::json;

pub(crate) use self::amendments::{AFTER_DECISION, IGNORED, UNREADABLE};
use self::amendments::{tighten, withdraw};
use super::automatic::is_probe;
use super::automatic_answers;
use super::decisions::join_orphans;
use super::habits;
use super::incoming::{At, IncomingRequest, RequestMessage};
use super::votes;
use super::writer_state::{CONFLICT, Tx, WriterState};
use crate::domain::{State, Timestamp};
use crate::store::StoreError;
use crate::store::requests::{self, NewRequest};
use crate::store::tombstones::{self, TombstoneKind};

/// Stores a batch of the stream with its position.
pub(crate) fn apply(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    messages: &[IncomingRequest],
) -> Result<(), StoreError> {
    let Some(unread) = writer.unread(batch.tx, messages)? else {
        return Ok(());
    };
    let mut rows = Vec::with_capacity(unread.len());
    let mut follow = Vec::new();
    for message in *unread {
        let (at, raw) = (message.at, &message.raw);
        match &message.what {
            RequestMessage::Request(parsed) => {
                let mut row = row_of_request(writer, &unread.epoch, batch.now, at, raw, parsed);
                // While the past is read, most are decided already: what still waits is looked at when it is known.
                if writer.caught_up && row.state == State::Pending {
                    let (habits, agent) = (&mut writer.habits, parsed.key.agent_key());
                    let found = habits::look(habits, batch.tx, batch.now, &agent, &parsed.request)?;
                    row.findings = Some(found.text());
                    row.effect = found.effect;
                }
                rows.push((message.subject.as_str(), row, Some(parsed)));
            }
            RequestMessage::Rejected(rejection) => {
                let row = row_of_rejected(&unread.epoch, batch.now, at, raw, rejection.clone());
                rows.push((message.subject.as_str(), row, None));
            }
            RequestMessage::Withdraw(_) | RequestMessage::Tighten(..) => follow.push(message),
            RequestMessage::Unusable => {
                let why = "the subject names no request";
                let kept = (at, message.subject.as_str(), &raw[..]);
                let stream = (Stream::Requests, unread.epoch.as_str());
                batch.set_aside(stream, kept, ("bad_subject", why))?;
            }
        }
    }
    insert(writer, batch, rows)?;
    for message in follow {
        let (raw, at) = (&message.raw, message.at.stamp);
        match &message.what {
            RequestMessage::Withdraw(key) => withdraw(writer, batch, key, raw, at)?,
            RequestMessage::Tighten(key, body) => {
                tighten(writer, batch, key, body.as_ref(), raw, at)?;
            }
            _ => {}
        }
    }
    writer.projected(batch, unread)
}

fn row_of_request<'m>(
    writer: &mut WriterState,
    epoch: &str,
    now: Timestamp,
    at: At,
    raw: &'m [u8],
    parsed: &ParsedRequest,
) -> NewRequest<'m> {
    let agent = parsed.key.agent_key();
    let waiting = writer.counts.waiting.entry(agent).or_default();
    // While the past is read again, decisions lag behind their requests and the count is not true.
    let full = writer.caught_up && *waiting >= writer.waiting_limit;
    let lifetime_ms =
        i64::try_from(parsed.request.lifetime().whole_milliseconds()).unwrap_or(i64::MAX);
    if !full {
        *waiting += 1;
        let agent = parsed.key.agent_key();
        if writer.controls.read().stop_of(&agent).is_some() {
            writer.due_at(now);
        }
        writer.due_at(at.stamp.plus_ms(lifetime_ms));
    }
    let request = &parsed.request;
    let trace = request.trace_context();
    NewRequest {
        ws: parsed.key.workspace.to_string(),
        agent: parsed.key.agent.to_string(),
        request_id: parsed.key.request_id.to_string(),
        kind: Some(request.kind.as_str().to_owned()),
        tool: request.tool.as_ref().map(|tool| tool.name.clone()),
        device_effects: request.verifies_devices().then(|| request.effects()),
        risk: request.effective_risk(),
        allowed: request.allowed(),
        approvals_required: request.approvals_required(),
        requested_at: Some(request.requested_at.get().into()),
        title: request.title.clone(),
        run_id: request.run_id.clone(),
        thread_id: request.thread_id.clone(),
        call_id: request.call_id.clone(),
        trace_id: trace.as_ref().map(|trace| trace.trace_id.to_string()),
        span_id: trace.as_ref().map(|trace| trace.span_id.to_string()),
        group_id: request.group.as_ref().and_then(|group| group.id.clone()),
        args_digest: parsed.args_digest.map(|digest| digest.to_string()),
        request_digest: parsed.request_digest.to_string(),
        raw,
        stream_epoch: epoch.to_owned(),
        stream_seq: at.seq,
        stored_at: at.stamp,
        received_at: now,
        lifetime_ms,
        deadline_at: at.stamp.plus_ms(lifetime_ms),
        // Another console may have room: what is decided there must be judged here by what was asked.
        state: if full {
            State::Rejected
        } else {
            State::Pending
        },
        error: full.then(|| too_many(writer.waiting_limit)),
        tightened_at: None,
        tool_digest: parsed.tool_digest.map(|digest| digest.to_string()),
        findings: None,
        effect: None,
    }
}

fn row_of_rejected<'m>(
    epoch: &str,
    now: Timestamp,
    at: At,
    raw: &'m [u8],
    rejection: Rejection,
) -> NewRequest<'m> {
    let (ws, agent, request_id) = match &rejection.key {
        Some(key) => (
            key.workspace.to_string(),
            key.agent.to_string(),
            key.request_id.to_string(),
        ),
        None => (String::new(), String::new(), format!("rejected:{}", at.seq)),
    };
    NewRequest {
        ws,
        agent,
        request_id,
        kind: None,
        tool: None,
        device_effects: None,
        risk: Risk::Critical,
        title: None,
        run_id: None,
        thread_id: None,
        call_id: None,
        trace_id: None,
        span_id: None,
        group_id: None,
        allowed: VerdictSet::DENY_ONLY,
        approvals_required: 1,
        args_digest: None,
        request_digest: Sha256Digest::of_bytes(raw).to_string(),
        raw,
        stream_epoch: epoch.to_owned(),
        stream_seq: at.seq,
        requested_at: None,
        stored_at: at.stamp,
        received_at: now,
        lifetime_ms: 0,
        deadline_at: at.stamp,
        state: State::Rejected,
        error: Some((rejection.code.as_str().to_owned(), rejection.detail)),
        tightened_at: None,
        tool_digest: None,
        findings: None,
        effect: None,
    }
}

fn subject_of(row: &NewRequest<'_>) -> String {
    if row.ws.is_empty() {
        row.request_id.clone()
    } else {
        format!("{}/{}/{}", row.ws, row.agent, row.request_id)
    }
}

/// The subject, the row, and what was read where it could be.
type Arrival<'m> = (&'m str, NewRequest<'m>, Option<&'m Arc<ParsedRequest>>);

fn insert(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    arrived: Vec<Arrival<'_>>,
) -> Result<(), StoreError> {
    if arrived.is_empty() {
        return Ok(());
    }
    let (mut rows, mut sources) = (Vec::new(), Vec::new());
    for (subject, row, parsed) in arrived {
        rows.push(row);
        sources.push((subject, parsed));
    }
    let ids: HashMap<i64, i64> = requests::insert(batch.tx, &rows)?
        .into_iter()
        .map(|(id, seq)| (seq, id))
        .collect();
    let mut rejected = Vec::new();
    let mut keys = Vec::new();
    for (row, (subject, parsed)) in rows.into_iter().zip(sources) {
        let name = subject_of(&row);
        let Some(id) = ids.get(&row.stream_seq) else {
            conflict(writer, batch, row, subject, name)?;
            continue;
        };
        batch.effects.touched.push(*id);
        let actor = match row.ws.as_str() {
            "" => "unknown".to_owned(),
            ws => format!("{ws}/{}", row.agent),
        };
        let digest = &row.request_digest;
        match &row.error {
            None => batch.record(
                actor,
                "request",
                &name,
                json!({
                    "request_digest": digest, "stream_seq": row.stream_seq,
                }),
            ),
            Some((code, _)) => batch.record(
                actor,
                "rejected",
                &name,
                json!({
                    "request_digest": digest, "stream_seq": row.stream_seq, "code": code,
                }),
            ),
        }
        if let Ok(key) = name.parse::<RequestKey>() {
            match row.error {
                Some(_) => rejected.push(*id),
                None if row.state == State::Pending => {
                    if let Some(parsed) = parsed {
                        writer.judge.arrived(*id, Arc::clone(parsed));
                    }
                    // A probe is not announced as a card.
                    if !is_probe(row.tool.as_deref()) {
                        batch.effects.arrived.push(key.clone());
                    }
                }
                None => {}
            }
            keys.push(key);
        }
    }
    let answered = follow_up(writer, batch, &keys)?;
    rejected.retain(|id| !answered.contains(id));
    if writer.caught_up {
        automatic_answers::answer(writer, batch, &rejected)?;
    }
    Ok(())
}

/// Applies what came before its request, a rejected one too: first what moves the deadline, then votes and a
/// decision, then a withdraw. Returns the rows that have a decision.
fn follow_up(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    keys: &[RequestKey],
) -> Result<HashSet<i64>, StoreError> {
    let mut withdrawn = Vec::new();
    if writer.counts.tombstones > 0 {
        for key in keys {
            let kind = TombstoneKind::Tighten;
            if let Some(stone) = tombstones::get(batch.tx, key, kind)? {
                let body = countersign_wire::parse_tighten(&tighten_subject(key), &stone.raw).ok();
                tighten(writer, batch, key, body.as_ref(), &stone.raw, stone.at)?;
            }
            let kind = TombstoneKind::Withdraw;
            if let Some(stone) = tombstones::get(batch.tx, key, kind)? {
                withdrawn.push((key, stone));
            }
            writer.counts.tombstones -= tombstones::drop_used(batch.tx, key)?;
        }
    }
    if writer.counts.orphaned_votes > 0 {
        votes::join_orphans(writer, batch, keys)?;
    }
    let answered = match writer.counts.orphans {
        0 => HashSet::new(),
        _ => join_orphans(writer, batch, keys)?,
    };
    for (key, stone) in withdrawn {
        withdraw(writer, batch, key, &stone.raw, stone.at)?;
    }
    Ok(answered)
}

/// A second message where only one can be: kept, audited, left unanswered; the first one counts.
fn conflict(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    row: NewRequest<'_>,
    subject: &str,
    name: String,
) -> Result<(), StoreError> {
    if row.error.is_none()
        && let Ok(key) = name.parse::<RequestKey>()
    {
        writer.counts.closed(&key.agent_key());
    }
    // Published again by its agent, or read again: it keeps the deadline that it had.
    if requests::moved(batch.tx, &row)? {
        return Ok(());
    }
    let at = At {
        seq: row.stream_seq,
        stamp: row.stored_at,
    };
    let digest = row.request_digest.clone();
    let why = "another request has this id";
    let stream = (Stream::Requests, row.stream_epoch.as_str());
    batch.set_aside(stream, (at, subject, row.raw), (CONFLICT, why))?;
    let actor = format!("{}/{}", row.ws, row.agent);
    batch.record(
        actor,
        "conflict",
        name,
        json!({
            "request_digest": digest, "stream_seq": row.stream_seq,
        }),
    );
    Ok(())
}

/// Code and sentence for a request that is one too many.
fn too_many(limit: i64) -> (String, String) {
    (
        RejectionCode::TooManyWaiting.as_str().to_owned(),
        format!("more than {limit} requests of this agent are waiting"),
    )
}
