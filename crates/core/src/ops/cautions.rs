//! Gathers what is remarkable about a call from what is stored.
//!
//! What cannot be read of an agent's own words is skipped, so that the card still opens.

use countersign_wire::{AgentKey, ApprovalRequest};
use serde_json::Value;

use super::agents::credentials;
use super::arrivals::{IGNORED, UNREADABLE};
use super::reports;
use crate::Fault;
use crate::domain::CallWarning;
use crate::domain::cautions::{Described, changes, incomplete, outside_skill, through_gateway};
use crate::domain::facts::{Marks, decider};
use crate::runtime::App;
use crate::store::re_asks::{self, EarlierCall};
use crate::store::request_list::RequestSummary;
use crate::store::{Connection, StoreError, agents, audit, reader, tools};

/// The same call decided before, and everything that is remarkable about this one, that included.
pub(super) fn of(
    app: &App,
    sqlite: &Connection,
    line: &RequestSummary,
) -> Result<(Option<EarlierCall>, Vec<CallWarning>), StoreError> {
    let mut found = Vec::new();
    if let Some(key) = line.key() {
        let ignored = audit::details_of(sqlite, IGNORED, &key.to_string())?;
        let unreadable = |detail: &String| {
            let detail: Value = serde_json::from_str(detail).unwrap_or_default();
            detail.get("code").and_then(Value::as_str) == Some(UNREADABLE)
        };
        found.extend(
            ignored
                .iter()
                .any(unreadable)
                .then_some(CallWarning::TightenUnreadable),
        );
        let receipts = audit::details_of(sqlite, reports::UNREADABLE, &key.to_string())?;
        found.extend((!receipts.is_empty()).then_some(CallWarning::ReceiptUnreadable));
    }
    let request: Option<ApprovalRequest> = serde_json::from_slice(&line.raw).ok();
    found.extend(request.as_ref().and_then(through_gateway));
    let Some(tool) = &line.tool else {
        return Ok((None, found));
    };
    let repeats = re_asks::of(sqlite, &[line.id])?.remove(&line.id);
    let repeats = repeats.map(|earlier| app.with_its_listed_name(earlier));
    let denied = re_asks::denied(sqlite, &[line.id])?.remove(&line.id);
    let denied = denied.map(|earlier| app.with_its_listed_name(earlier));
    let name = |of: &EarlierCall| format!("{}/{}/{}", of.ws, of.agent, of.request_id);
    if let Some(earlier) = &denied {
        found.push(CallWarning::DeniedBefore {
            request: name(earlier),
            by: decider(earlier.decided_by.as_deref()).and_then(|by| by.name),
            reason: earlier.message.clone(),
            before_ms: line.stored_at - earlier.decided_at,
        });
    }
    // Each call is listed once.
    let other = repeats.as_ref().filter(|earlier| {
        let denied = denied.as_ref().map(|denied| denied.id);
        denied != Some(earlier.id)
    });
    if let Some(earlier) = other {
        found.push(CallWarning::ReAsk {
            request: name(earlier),
            verdict: earlier.verdict.clone().unwrap_or_default(),
            by: decider(earlier.decided_by.as_deref()).and_then(|by| by.name),
            before_ms: line.stored_at - earlier.decided_at,
        });
    }
    if let Some(known) = tools::one(sqlite, &line.ws, &line.agent, tool)? {
        let reported = request.as_ref().and_then(|request| request.tool.as_ref());
        let digest = reported
            .and_then(|tool| tool.definition_digest())
            .map(|digest| digest.to_string());
        // Where retention removed the request, its words are unknown.
        let comparable = request.is_some();
        found.extend(changes(&Described {
            hello: known.def_digest.as_deref(),
            approved_hello: known.approved_digest.as_deref(),
            call: digest.as_deref(),
            call_approved: known.call_approved_at.is_some() && comparable,
            approved_call: known.call_digest.as_deref(),
        }));
    }
    found.extend(request.as_ref().and_then(outside_skill));
    let agent: Option<AgentKey> = format!("{}/{}", line.ws, line.agent).parse().ok();
    if let Some(agent) = agent {
        let states = agents::credentials(sqlite, &agent)?;
        found.extend(incomplete(tool, &credentials(states.as_deref())));
    }
    Ok((repeats, found))
}

impl App {
    /// The marks of these rows.
    pub async fn marks(&self, ids: &[i64]) -> Result<Marks, Fault> {
        let ids = ids.to_vec();
        let read = self.reader().direct(move |sqlite| {
            let by_reader = reader::marked(sqlite, &serde_json::json!(ids).to_string())?;
            Ok::<_, StoreError>(Marks {
                denied: re_asks::denied(sqlite, &ids)?.into_keys().collect(),
                changed: tools::changed(sqlite, &ids)?.into_iter().collect(),
                by_reader: by_reader.into_iter().collect(),
            })
        });
        Ok(read.await?)
    }
}
