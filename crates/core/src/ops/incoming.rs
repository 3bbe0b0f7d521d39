//! Parses stream messages into what the writer stores.
//!
//! What cannot be read becomes a rejected or a quarantined message with its bytes. Runs beside the writer, so that
//! transactions go on while messages are parsed.

use std::collections::BTreeSet;
use std::sync::Arc;

use countersign_wire::{
    AgentKey, CheckedValue, HelloReport, ParsedRequest, Receipt, Rejection, RequestKey, Signer,
    SpanStatus, Subject, Tighten, json_value, parse_receipt, parse_request, parse_span,
    parse_tighten, read_hello, read_json,
};

use serde::Deserialize;
use serde_json::Value;

use crate::bus::StreamMessage;
use crate::domain::Timestamp;
use crate::store::decisions::DecisionBody;
use crate::store::spans::NewSpan;
use crate::store::votes::VoteBody;

/// Where a message is in its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) seq: i64,
    pub(crate) stamp: Timestamp,
}

impl At {
    fn of(message: &StreamMessage) -> Self {
        Self {
            seq: i64::try_from(message.seq).unwrap_or(i64::MAX),
            stamp: message.stamp.into(),
        }
    }
}

/// A message of `CS_REQUESTS`.
pub(crate) struct IncomingRequest {
    pub(crate) at: At,
    pub(crate) subject: String,
    pub(crate) raw: Vec<u8>,
    pub(crate) what: RequestMessage,
}

/// What such a message is.
pub(crate) enum RequestMessage {
    Request(Arc<ParsedRequest>),
    Rejected(Rejection),
    Withdraw(RequestKey),
    Tighten(RequestKey, Option<Tighten>),
    /// A withdraw or tighten whose subject names nobody.
    Unusable,
}

/// A message of `CS_DECISIONS`.
pub(crate) struct IncomingDecision {
    pub(crate) at: At,
    pub(crate) subject: String,
    pub(crate) raw: Vec<u8>,
    pub(crate) signer: Option<String>,
    pub(crate) sig: Option<String>,
    /// Header `CS-Stored`, on a bus that was recovered.
    pub(crate) attestation: Option<String>,
    pub(crate) key: Option<RequestKey>,
    pub(crate) body: DecisionBody,
    /// What it is instead of a decision.
    pub(crate) vote: Option<IncomingVote>,
    /// The slot of the realm log that it is in.
    pub(crate) slot: Option<u64>,
}

/// An operator's vote.
pub(crate) struct IncomingVote {
    pub(crate) key: RequestKey,
    pub(crate) voter: Signer,
    pub(crate) body: VoteBody,
}

/// A message of `CS_RECEIPTS`.
pub(crate) struct IncomingReceipt {
    pub(crate) at: At,
    pub(crate) subject: String,
    pub(crate) raw: Vec<u8>,
    pub(crate) receipt: Result<(RequestKey, Receipt), String>,
}

/// A message of `CS_AGENTS`.
pub(crate) struct IncomingHello {
    pub(crate) at: At,
    pub(crate) subject: String,
    pub(crate) raw: Vec<u8>,
    /// An agent whose hello cannot be read is still known, where the subject names it.
    pub(crate) hello: Result<(AgentKey, Box<HelloReport>), (Option<AgentKey>, String)>,
}

/// A message of `CS_EVENTS`.
pub(crate) struct IncomingSpan {
    pub(crate) at: At,
    pub(crate) span: Result<NewSpan, Unreadable>,
}

/// A message that is kept for inspection only.
pub(crate) struct Unreadable {
    pub(crate) subject: String,
    pub(crate) raw: Vec<u8>,
    pub(crate) why: String,
}

/// Who sent the messages of a batch that no client can read from the wire: `WS/AGENT`, else the stream.
pub(crate) fn unreadable(batch: &[StreamMessage]) -> BTreeSet<String> {
    let unreadable = batch.iter().filter(|message| message.unreadable);
    unreadable
        .map(|message| match asker(&message.subject) {
            Some(agent) => agent.to_string(),
            None => message.stream.to_string(),
        })
        .collect()
}

/// Whose subject this is; what follows the agent may be outside the grammar.
pub(crate) fn asker(subject: &str) -> Option<AgentKey> {
    let mut words = subject.split('.').skip(3);
    let (workspace, agent) = words.next().zip(words.next())?;
    format!("{workspace}/{agent}").parse().ok()
}

/// A message of `CS_REQUESTS`, by its subject and what it holds.
pub(crate) fn request(message: StreamMessage) -> IncomingRequest {
    let at = At::of(&message);
    let what = match Subject::parse(&message.subject) {
        Some(Subject::Withdraw(key)) => RequestMessage::Withdraw(key),
        Some(Subject::Tighten(key)) => {
            let body = parse_tighten(&message.subject, &message.payload).ok();
            RequestMessage::Tighten(key, body)
        }
        Some(Subject::Request(_)) => parsed(&message),
        _ if is_under(&message.subject, "withdraw") || is_under(&message.subject, "tighten") => {
            RequestMessage::Unusable
        }
        _ => parsed(&message),
    };
    IncomingRequest {
        at,
        subject: message.subject,
        raw: message.payload.to_vec(),
        what,
    }
}

fn is_under(subject: &str, word: &str) -> bool {
    subject.split('.').nth(2) == Some(word)
}

fn parsed(message: &StreamMessage) -> RequestMessage {
    match parse_request(&message.subject, &message.payload) {
        Ok(request) => RequestMessage::Request(Arc::new(request)),
        Err(rejection) => RequestMessage::Rejected(rejection),
    }
}

/// A message of `CS_DECISIONS`; whether it verifies is judged by the writer, which knows the keys.
pub(crate) fn decision(message: StreamMessage) -> IncomingDecision {
    let (key, vote, slot) = match Subject::parse(&message.subject) {
        Some(Subject::Decision(key)) => (Some(key), None, None),
        Some(Subject::Vote(key, voter)) => {
            let body = vote_body(&message.payload);
            (None, Some(IncomingVote { key, voter, body }), None)
        }
        Some(Subject::Realm(slot)) => (None, None, Some(slot)),
        _ => (None, None, None),
    };
    let body = if key.is_some() {
        decision_body(&message.payload)
    } else {
        DecisionBody::default()
    };
    IncomingDecision {
        at: At::of(&message),
        body,
        key,
        vote,
        slot,
        signer: message.key,
        sig: message.sig,
        attestation: message.attestation,
        raw: message.payload.to_vec(),
        subject: message.subject,
    }
}

/// A decision as consoles write it, as far as lists show it.
#[derive(Deserialize)]
struct UsualBody {
    decision_id: String,
    verdict: String,
    origin: String,
    decided_by: CheckedValue,
    message: Option<String>,
    rule: Option<CheckedValue>,
    policy_digest: Option<String>,
    args_digest: Option<String>,
    scope: Option<String>,
}

impl UsualBody {
    fn is_usual(&self) -> bool {
        let rule = self.rule.as_ref();
        self.decided_by.0.is_object() && rule.is_none_or(|rule| rule.0.is_object())
    }
}

impl From<UsualBody> for DecisionBody {
    fn from(body: UsualBody) -> Self {
        let rule = body.rule.map(|rule| rule.0).unwrap_or_default();
        Self {
            decision_id: Some(body.decision_id),
            verdict: Some(body.verdict),
            origin: Some(body.origin),
            decided_by: Some(body.decided_by.0.to_string()),
            message: body.message,
            rule_id: rule.get("id").and_then(Value::as_str).map(str::to_owned),
            rule_version: rule.get("version").and_then(Value::as_i64),
            policy_digest: body.policy_digest,
            args_digest: body.args_digest,
            scope: body.scope,
        }
    }
}

/// Whatever can be read of a decision, also of one that will not verify: a person must see it.
pub(crate) fn decision_body(payload: &[u8]) -> DecisionBody {
    match read_json::<UsualBody>(payload) {
        Ok(body) if body.is_usual() => body.into(),
        _ => any_body(payload),
    }
}

fn any_body(payload: &[u8]) -> DecisionBody {
    let Some(value) = json_value(payload) else {
        return DecisionBody::default();
    };
    let text = |name: &str| value.get(name).and_then(|v| v.as_str()).map(str::to_owned);
    let rule = value.get("rule");
    DecisionBody {
        decision_id: text("decision_id"),
        verdict: text("verdict"),
        origin: text("origin"),
        decided_by: value
            .get("decided_by")
            .filter(|by| by.is_object())
            .map(ToString::to_string),
        message: text("message"),
        rule_id: rule.and_then(|r| r.get("id")?.as_str().map(str::to_owned)),
        rule_version: rule.and_then(|r| r.get("version")?.as_i64()),
        policy_digest: text("policy_digest"),
        args_digest: text("args_digest"),
        scope: text("scope"),
    }
}

/// Whatever can be read of a vote, also of one that will not verify.
fn vote_body(payload: &[u8]) -> VoteBody {
    let value = json_value(payload).unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    VoteBody {
        vote_id: text(&value["vote_id"]),
        verdict: text(&value["verdict"]),
        args_digest: text(&value["args_digest"]),
        name: text(&value["decided_by"]["name"]),
    }
}

/// A message of `CS_RECEIPTS`.
pub(crate) fn receipt(message: StreamMessage) -> IncomingReceipt {
    let receipt = match Subject::parse(&message.subject) {
        Some(Subject::Receipt(key)) => parse_receipt(&message.subject, &message.payload)
            .map(|receipt| (key, receipt))
            .map_err(|error| error.to_string()),
        _ => Err("the subject names no request".to_owned()),
    };
    IncomingReceipt {
        at: At::of(&message),
        receipt,
        raw: message.payload.to_vec(),
        subject: message.subject,
    }
}

/// A message of `CS_AGENTS`, as much of it as can be read.
pub(crate) fn hello(message: StreamMessage) -> IncomingHello {
    let hello = match Subject::parse(&message.subject) {
        Some(Subject::Hello(agent)) => match read_hello(&message.subject, &message.payload) {
            Ok(report) => Ok((agent, Box::new(report))),
            Err(error) => Err((Some(agent), error.to_string())),
        },
        _ => Err((None, "the subject names no agent".to_owned())),
    };
    IncomingHello {
        at: At::of(&message),
        hello,
        raw: message.payload.to_vec(),
        subject: message.subject,
    }
}

/// Bytes of an id in a span: longer ones would only fill an index.
const SPAN_ID: usize = 200;
/// Characters of a span's name that lists show.
const SPAN_NAME: usize = 200;

/// Bytes of payloads that are read at once, about: what is read takes up to twenty times as much until it is stored,
/// and a decision may wait for the transaction of a piece.
const AT_ONCE: usize = 1024 * 1024;

/// The messages of a batch, in as many pieces as their size asks for.
pub(crate) fn pieces(batch: Vec<StreamMessage>) -> Vec<Vec<StreamMessage>> {
    let mut pieces = Vec::new();
    let (mut piece, mut bytes) = (Vec::new(), 0);
    for message in batch {
        bytes += message.payload.len();
        piece.push(message);
        if bytes >= AT_ONCE {
            pieces.push(std::mem::take(&mut piece));
            bytes = 0;
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

/// A message of `CS_EVENTS`, as the row that is stored of it.
pub(crate) fn span(message: StreamMessage) -> IncomingSpan {
    let at = At::of(&message);
    let span = span_row(at, &message).map_err(|why| Unreadable {
        raw: message.payload.to_vec(),
        subject: message.subject,
        why,
    });
    IncomingSpan { at, span }
}

fn span_row(at: At, message: &StreamMessage) -> Result<NewSpan, String> {
    let Some(Subject::Event(agent)) = Subject::parse(&message.subject) else {
        return Err("the subject names no agent".to_owned());
    };
    let span = parse_span(&message.subject, &message.payload).map_err(|error| error.to_string())?;
    let optional = [&span.parent_span_id, &span.request_id, &span.call_id];
    let ids = optional.into_iter().flatten();
    if ids
        .chain([&span.trace_id, &span.span_id])
        .any(|id| id.len() > SPAN_ID)
    {
        return Err(format!("an id is longer than {SPAN_ID} bytes"));
    }
    if span.trace_id.is_empty() || span.span_id.is_empty() {
        return Err("trace_id or span_id is empty".to_owned());
    }
    let ms = |at: countersign_wire::Timestamp| Timestamp::from(at.get()).0;
    Ok(NewSpan {
        agent,
        trace_id: span.trace_id,
        span_id: span.span_id,
        parent_span_id: span.parent_span_id,
        name: span.name.chars().take(SPAN_NAME).collect(),
        kind: span.kind.as_str(),
        status: span.status.map(SpanStatus::as_str),
        started_at: ms(span.started_at),
        ended_at: span.ended_at.map(ms),
        request_id: span.request_id,
        call_id: span.call_id,
        stream_seq: at.seq,
        stored_at: at.stamp,
        body: message.payload.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_usual_decision_is_read_like_any_other() {
        let usual = json!({
            "v": 1, "decision_id": "d1", "request_id": "r1", "verdict": "approve", "message": "fine",
            "args_digest": "sha256:00", "scope": "once", "origin": "rule", "rule": { "id": "small", "version": 3 },
            "policy_digest": "sha256:11", "decided_by": { "name": "Ada \u{202e}", "key": "U1" },
            "decided_at": "2026-11-23T12:00:00.000Z",
        });
        let odd = [
            json!(null),
            json!(7),
            json!(-1.5),
            json!("text"),
            json!(["small", 3]),
            json!({ "id": 4, "version": "3" }),
            json!({ "version": u64::MAX }),
        ];
        let mut payloads = vec![
            usual.to_string(),
            format!(" {usual} "),
            "[]".into(),
            "{".into(),
        ];
        payloads.push(r#"["d","approve","rule",{},null,null,null,null,null]"#.into());
        for name in usual.as_object().unwrap().keys() {
            let mut without = usual.clone();
            without.as_object_mut().unwrap().shift_remove(name);
            payloads.push(without.to_string());
            for value in &odd {
                let mut other = usual.clone();
                other[name] = value.clone();
                payloads.push(other.to_string());
                let twice = format!(r#"{{"{name}":{value},{}"#, &usual.to_string()[1..]);
                payloads.push(twice);
            }
        }
        for payload in payloads {
            assert_eq!(
                decision_body(payload.as_bytes()),
                any_body(payload.as_bytes()),
                "{payload}"
            );
        }
    }
}
