//! Rows of the store, as the rest of the bridge reads them.

use rusqlite::Row;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::command::Inbound;
use crate::store::{Listed, State};

pub(crate) const COLUMNS: &str = "id, project_id, state, subject, headers, payload, stream_seq, received_ms, deadline_ms, \
     card, request, decision, forward_from, report, reason, tool_name";
pub(crate) const LISTED: &str = "project_id, channel_id, tool_call_id, tool_name, agent_id, request_id, state, reason, \
     received_ms, resume_ms, forwarded_seq, report";

/// A command and how far it is.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) id: i64,
    pub(crate) project: String,
    pub(crate) state: State,
    pub(crate) message: Inbound,
    pub(crate) deadline_ms: i64,
    pub(crate) card: Option<Value>,
    pub(crate) request: Option<Vec<u8>>,
    pub(crate) decision: Option<Answer>,
    /// The last sequence of the stream before the forward was published.
    pub(crate) forward_from: Option<u64>,
    pub(crate) report: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) tool_name: Option<String>,
}

/// What of a decision the next steps need.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) verdict: String,
    pub(crate) by: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) decision_id: Option<String>,
    pub(crate) sequence: Option<u64>,
}

pub(crate) fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let json = |text: Option<String>| text.and_then(|text| serde_json::from_str(&text).ok());
    let headers: String = row.get("headers")?;
    let payload: Vec<u8> = row.get("payload")?;
    let state: String = row.get("state")?;
    let decision: Option<String> = row.get("decision")?;
    let forward_from: Option<i64> = row.get("forward_from")?;
    Ok(Stored {
        id: row.get("id")?,
        project: row.get("project_id")?,
        state: State::from_word(&state).unwrap_or(State::Rejected),
        message: Inbound {
            subject: row.get("subject")?,
            headers: serde_json::from_str(&headers).unwrap_or_default(),
            payload: payload.into(),
            stream_seq: row.get::<_, i64>("stream_seq")?.unsigned_abs(),
            at_ms: row.get("received_ms")?,
        },
        deadline_ms: row.get("deadline_ms")?,
        card: json(row.get("card")?),
        request: row.get("request")?,
        decision: decision.and_then(|text| serde_json::from_str(&text).ok()),
        forward_from: forward_from.map(i64::unsigned_abs),
        report: row.get("report")?,
        reason: row.get("reason")?,
        tool_name: row.get("tool_name")?,
    })
}

pub(crate) fn listed(row: &Row<'_>) -> rusqlite::Result<Listed> {
    let state: String = row.get("state")?;
    Ok(Listed {
        project_id: row.get("project_id")?,
        channel_id: row.get("channel_id")?,
        tool_call_id: row.get("tool_call_id")?,
        tool_name: row.get("tool_name")?,
        agent_id: row.get("agent_id")?,
        request_id: row.get("request_id")?,
        state: State::from_word(&state).map_or("rejected", State::as_str),
        reason: row.get("reason")?,
        received_at: stamp(row.get("received_ms")?),
        resume_deadline: row.get::<_, Option<i64>>("resume_ms")?.map(stamp),
        forwarded_seq: row.get("forwarded_seq")?,
        report: row.get("report")?,
    })
}

/// RFC 3339 of milliseconds since 1970.
pub(crate) fn stamp(ms: i64) -> String {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000)
        .ok()
        .and_then(|at| at.format(&Rfc3339).ok())
        .unwrap_or_default()
}

/// Milliseconds since 1970 of RFC 3339.
pub(crate) fn unstamp(text: &str) -> Option<i64> {
    let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok()
}

/// By this machine's clock: the only one that CommonGround's deadlines can be compared with while its bus is away.
#[expect(
    clippy::disallowed_methods,
    reason = "CommonGround names its deadlines by the wall clock"
)]
pub(crate) fn now_ms() -> i64 {
    let now = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000;
    i64::try_from(now).unwrap_or(i64::MAX)
}
