//! A request as a line of the list, and what happened to it as a notice.

use crate::{DecidePath, DecidedNotice, InboxRow};
use countersign_domain::State;
use countersign_domain::facts::{Marks, RequestSummary, decider};
use countersign_scrutiny::findings_of;
use countersign_wire::{ApprovalRequest, RequestKind, Risk, Shown};

use super::details::{path_of, read_request, state_of};
use super::hidden::{escape, read_plain, without_secrets};
use super::scrutiny::{finding_view, path_with};
use super::summary::{call_summary, clip};
use super::votes::votes_count;
use super::warning::is_warned;

/// Characters of one line; the card shows everything.
const LINE: usize = 160;
/// Characters of a thread's or a run's name.
const VALUE: usize = 60;

/// The line of a request that waits or whose verdict is on its way; none for any other.
pub fn inbox_row(line: &RequestSummary) -> Option<InboxRow> {
    let state = state_of(line);
    if !matches!(state, State::Pending | State::Holding | State::Queued) {
        return None;
    }
    let request = read_request(line)?;
    let name = name_of(&request);
    let args = request.args.as_ref();
    let findings = findings_of(line).unwrap_or_default();
    let summary = args
        .map(|args| call_summary(args, LINE))
        .unwrap_or_default();
    let says = request
        .reason
        .as_ref()
        .or(request.title.as_ref())
        .or(request.preview.as_ref());
    Some(InboxRow {
        key: line.key()?.to_string(),
        seq: line.id,
        kind: request.kind,
        tool: cut(&name, LINE),
        risk: Risk::effective(&line.risk),
        path: path_with(path_of(&request), &findings),
        summary: cut(&summary, LINE),
        effect: line.effect.as_deref().map(read_plain),
        finding: findings.first().map(finding_view),
        by_reader: false,
        says: says.map(|text| cut(text, LINE)),
        workspace: line.ws.clone(),
        agent: line.agent.clone(),
        thread: request.thread_id.as_deref().map(|text| cut(text, VALUE)),
        run: request.run_id.as_deref().map(|text| cut(text, VALUE)),
        deadline_ms: line.deadline_at,
        has_deadline: request.expires_at.is_some(),
        stored_ms: line.stored_at,
        state,
        warned: is_warned(&request),
        denied_before: false,
        votes: votes_count(line),
    })
}

/// Marks rows for what is stored of earlier calls.
pub fn mark<'r>(rows: impl IntoIterator<Item = &'r mut InboxRow>, marks: &Marks) {
    for row in rows {
        row.denied_before = marks.denied.contains(&row.seq);
        row.by_reader = marks.by_reader.contains(&row.seq);
        row.warned |= row.denied_before || marks.changed.contains(&row.seq);
        if row.denied_before {
            row.path = row.path.max(DecidePath::High);
        }
    }
}

/// What happened to a request, for the open card and for who decided on it.
pub fn notice(line: &RequestSummary, own_key: &str) -> Option<DecidedNotice> {
    let verdict = match state_of(line) {
        State::Decided => line.verdict.clone(),
        State::Expired => Some("expired".to_owned()),
        State::Withdrawn => Some("withdrawn".to_owned()),
        State::Void => Some("void".to_owned()),
        _ => None,
    };
    let by = decider(line.decided_by.as_deref());
    Some(DecidedNotice {
        key: line.key()?.to_string(),
        by: by
            .as_ref()
            .map(|by| escape(by.name.as_deref().unwrap_or_default())),
        mine: verdict.is_some() && by.is_some_and(|by| by.key.as_deref() == Some(own_key)),
        verdict,
    })
}

/// What a request is called in a list.
fn name_of(request: &ApprovalRequest) -> String {
    let words = match request.kind {
        RequestKind::ToolCall => request.tool.as_ref().map(|tool| &tool.name),
        RequestKind::Question => request.question.as_ref().map(|question| &question.text),
        RequestKind::Form => request.title.as_ref(),
    };
    words.cloned().unwrap_or_else(|| "form".to_owned())
}

fn cut(text: &str, limit: usize) -> Shown {
    escape(&clip(&without_secrets(text), limit))
}
