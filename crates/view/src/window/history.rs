//! A line of the history, and a request's whole story.

use crate::{AuditRef, HistoryRow, RequestStoryView, SignatureView, VoteView};
use countersign_domain::State;
use countersign_domain::Timestamp as At;
use countersign_domain::facts::{
    AuditRef as LogRow, RequestDetails, RequestSummary, ShownVote, StoredDecision, decider,
};
use countersign_domain::reader::ReaderMark;
use countersign_redaction::Hiding;
use countersign_scrutiny::{Scrutiny, findings_of};
use countersign_wire::{Risk, escape, escape_lines, request_digest};

use super::card::card_view;
use super::details::{CardDetails, state_of};
use super::progress::{Delivery, decision_view, key_tail, on_bus_view, rule_ref, rungs};
use super::raw::raw_chunk;
use super::scrutiny::finding_view;
use super::summary::line_summary;
use crate::production::Production;

/// What the details of a request are made from.
pub struct HistoryReading {
    /// The request.
    pub story: RequestDetails,
    /// What a second reader added.
    pub reader: Vec<(ReaderMark, bool)>,
    /// What it does and what it is compared with.
    pub scrutiny: Scrutiny,
    /// Rows of the log about it.
    pub audit: Vec<LogRow>,
    /// Traces that it is in.
    pub traces: Vec<String>,
}

/// The line of a request. `own_key` is the operator's public key at this console.
pub fn history_row(line: &RequestSummary, hiding: &Hiding, own_key: &str) -> HistoryRow {
    let by = decider(line.decided_by.as_deref());
    let kind = line.kind.as_deref();
    HistoryRow {
        key: line
            .key()
            .map_or_else(|| line.request_id.clone(), |key| key.to_string()),
        seq: line.id,
        request_id: line.request_id.clone(),
        workspace: line.ws.clone(),
        agent: line.agent.clone(),
        kind: kind.and_then(|word| serde_json::from_value(word.into()).ok()),
        tool: line.tool.as_deref().map(|tool| hiding.escape(tool)),
        summary: match &line.effect {
            Some(effect) => Some(hiding.read_plain(effect)),
            None => line_summary(line),
        },
        finding: findings_of(line)
            .unwrap_or_default()
            .first()
            .map(finding_view),
        risk: Risk::effective(&line.risk),
        state: state_of(line),
        verdict: line.verdict.as_deref().map(escape),
        origin: line.origin.as_deref().map(escape),
        mine: by
            .as_ref()
            .is_some_and(|by| by.key.as_deref() == Some(own_key)),
        by: by.map(|by| escape(&by.name.unwrap_or_default())),
        message: line
            .message
            .as_deref()
            .map(|text| hiding.escape_lines(text)),
        rule: line.rule_id.as_deref().map(escape),
        delivery: line.delivery.clone(),
        error_code: line.error_code.clone(),
        stored_ms: line.stored_at,
        decided_ms: line.decided_at,
    }
}

/// The whole story.
pub fn story_view(
    reading: HistoryReading,
    key: &[u8; 32],
    own_key: &str,
    production: &Production,
    now: At,
) -> RequestStoryView {
    let HistoryReading {
        story,
        scrutiny,
        reader,
        audit,
        traces,
    } = reading;
    let line = &story.line;
    let row = history_row(line, &Hiding::new(*key), own_key);
    let decision = story.decision.as_ref();
    let rule = rule_ref(line, decision, story.rule_name.as_deref());
    let contradicting = story.contradicting.as_ref();
    let ladder = rungs(
        line,
        &Delivery {
            decision,
            contradicting,
            receipts: &story.receipts,
            alarms: &story.alarms,
        },
    );
    let removed_ms = story.removed.as_ref().map(|(at, _)| at.0);
    let digest = match &story.removed {
        Some((_, digest)) => digest.clone(),
        None => request_digest(&line.raw).to_string(),
    };
    RequestStoryView {
        args_digest: line.args_digest.clone(),
        request_digest: digest,
        request_seq: line.request_seq,
        deadline_ms: (row.state != State::Rejected).then_some(line.deadline_at),
        requested_ms: line.requested_at,
        received_ms: line.received_at,
        error_detail: line.error_detail.as_deref().map(escape_lines),
        raw: removed_ms
            .is_none()
            .then(|| raw_chunk(&line.raw, 0))
            .flatten(),
        removed_ms,
        votes: story.votes.iter().map(vote).collect(),
        rule: rule.clone(),
        signature: decision.and_then(signature),
        decision: decision.map(|decision| decision_view(decision, (line, rule), key, own_key)),
        on_bus: contradicting.map(|other| on_bus_view(other, key)),
        ladder,
        audit: audit.into_iter().filter_map(log_row).collect(),
        traces,
        row,
        // Last: it takes the story.
        card: CardDetails::read(story, scrutiny, reader)
            .ok()
            .map(|story| Box::new(card_view(&story, key, own_key, production, now))),
    }
}

fn vote(vote: &ShownVote) -> VoteView {
    match vote {
        ShownVote::Hidden => VoteView {
            by: None,
            key_tail: None,
            verdict: None,
            at_ms: None,
            stands: None,
            mine: false,
        },
        ShownVote::Open(vote) => VoteView {
            by: Some(escape(vote.name.as_deref().unwrap_or_default())),
            key_tail: Some(escape(&key_tail(&vote.key)).plain()),
            verdict: vote.verdict.as_deref().map(escape),
            at_ms: Some(vote.at),
            stands: vote.stands,
            mine: vote.mine,
        },
    }
}

fn signature(decision: &StoredDecision) -> Option<SignatureView> {
    Some(SignatureView {
        key: decision.key.as_deref().map(escape),
        sig: decision.sig.as_deref().map(escape),
        fault: decision.fault.clone(),
        stream_seq: decision.stream_seq,
        stored_ms: decision.stored_at,
        payload: raw_chunk(&decision.payload, 0)?,
    })
}

fn log_row(row: LogRow) -> Option<AuditRef> {
    Some(AuditRef {
        seq: row.seq,
        hash: row.hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        action: row.action,
        actor: escape(&row.actor),
        at_ms: At::parse(&row.at)?.0,
    })
}
