//! What is remarkable about a call, against what people decided on the agent's tool before.
//!
//! Reads the past, decides nothing: `countersign-scrutiny` finds, the writer keeps what it found.

#[cfg(test)]
mod tests;

use countersign_redaction::is_secret_key;
use countersign_scrutiny::{Call, Past, differs, effect, nearest, shares, written};
pub use countersign_scrutiny::{
    Code, Compared, Denied, Difference, Finding, Scrutiny, Weight, findings_of,
};
use countersign_wire::{ApprovalRequest, json_value};
use serde_json::Value;

use super::tool_record::call_of;
use crate::Fault;
use crate::domain::facts::decider;
use crate::policy::Stop;
use crate::runtime::App;
use crate::store::findings;
use crate::store::people_decided::{self, PersonDecided};
use crate::store::request_list::RequestSummary;
use crate::store::tool_record::ToolCall;

/// How long an approval is a yardstick, and a denial is remembered, ms.
pub(super) const APPROVED_MS: i64 = 180 * 86_400_000;
pub(super) const DENIED_MS: i64 = 90 * 86_400_000;
/// The most calls of the past that are read.
pub(super) const MOST: i64 = 200;

impl App {
    /// What will happen, and the nearest call that a person approved before this one was decided; none for what is no
    /// call or whose payload is gone.
    pub async fn scrutiny(&self, line: &RequestSummary) -> Result<Option<Scrutiny>, Fault> {
        let request: Option<ApprovalRequest> = serde_json::from_slice(&line.raw).ok();
        let (Some(request), Some(call)) = (request, call_of(line)) else {
            return Ok(None);
        };
        let Some(mut examined) = Call::of(&request) else {
            return Ok(None);
        };
        examined.hides = is_secret_key;
        let until = line.decided_at.unwrap_or(i64::MAX);
        let now = line.decided_at.unwrap_or(self.now().0);
        let before = ToolCall {
            before: i64::MAX,
            ..call
        };
        let times = (now - APPROVED_MS, until);
        let decided = people_decided::of_tool(&self.reader().0, before, times, MOST).await?;
        let approved = decided
            .iter()
            .filter(|one| is_approval(one))
            .filter_map(|one| Some((one, ran(one)?)));
        let nearest = nearest(call.tool, examined.args, approved);
        let denied = denied_like(&examined, &decided, nearest.as_ref())
            .filter(|one| now - one.decided_at <= DENIED_MS)
            .map(|one| Denied {
                request_id: one.request_id.clone(),
                at: one.decided_at,
                by: person(one),
                why: one.message.clone().filter(|why| !why.trim().is_empty()),
            });
        let compared = nearest.map(|(one, args)| Compared {
            request_id: one.request_id.clone(),
            at: one.decided_at,
            by: person(one),
            differs: differs(&args, examined.args),
        });
        Ok(Some(Scrutiny {
            denied,
            // As kept with the call: it knows what was approved before.
            effect: line
                .effect
                .clone()
                .or_else(|| effect(&examined, &Past::default())),
            compared,
        }))
    }

    /// How many waiting calls a finding stops.
    pub async fn stopped_by_findings(&self) -> Result<i64, Fault> {
        Ok(findings::stopped(self.reader()).await?)
    }
}

/// Findings as they are stored; none where they are not made.
#[must_use]
pub(super) fn read_findings(stored: Option<&str>) -> Vec<Finding> {
    let read = stored.and_then(|stored| serde_json::from_str(stored).ok());
    read.unwrap_or_default()
}

/// The most findings of a call: where all of them weigh `stop`, there may be more.
const FINDINGS: usize = 8;

/// Those that keep a call from being approved automatically.
#[must_use]
pub(super) fn stops_of(findings: &[Finding], request: &ApprovalRequest) -> Vec<Stop> {
    let stops = findings.iter().filter(|of| of.weight == Weight::Stop);
    let own = findings.iter().any(|of| of.code.is_own());
    let must = Call::of(request)
        .filter(|_| own)
        .map_or_else(Vec::new, |call| written(&call));
    let mut stops: Vec<Stop> = stops
        .map(|of| Stop {
            at: of.at.clone(),
            always: of.code == Code::DeniedBefore,
            written: must
                .iter()
                .filter(|(at, _)| of.code.is_own() && *at == of.at)
                .map(|(_, words)| words.clone())
                .collect(),
        })
        .collect();
    if stops.len() >= FINDINGS {
        stops.push(Stop {
            at: String::new(),
            always: true,
            written: Vec::new(),
        });
    }
    stops
}

/// The newest denial of this very call, else the newest denied call that is nearer than the nearest approved one.
fn denied_like<'d>(
    call: &Call<'_>,
    decided: &'d [PersonDecided],
    approved: Option<&(&PersonDecided, Value)>,
) -> Option<&'d PersonDecided> {
    let near = approved.map_or(0, |(_, args)| shares(call.tool, call.args, args));
    let same = approved.filter(|(_, args)| args == call.args);
    // An approval ends a denial that came before it.
    let since = same.map_or(i64::MIN, |(one, _)| one.decided_at);
    let newest = |like: &dyn Fn(Value) -> bool| {
        let mut denied = decided
            .iter()
            .filter(|one| !is_approval(one) && one.decided_at > since);
        denied.find(|one| ran(one).is_some_and(like))
    };
    newest(&|args| args == *call.args)
        .or_else(|| newest(&|args| shares(call.tool, call.args, &args) > near))
}

/// Whether a person let it run.
pub(super) fn is_approval(one: &PersonDecided) -> bool {
    matches!(one.verdict.as_str(), "approve" | "modify")
}

/// The arguments that ran.
pub(super) fn ran(one: &PersonDecided) -> Option<Value> {
    match &one.edited {
        Some(decision) => json_value(decision)?.get("edited_args").cloned(),
        None => json_value(&one.raw)?.get("args").cloned(),
    }
}

/// The name of the person.
pub(super) fn person(one: &PersonDecided) -> Option<String> {
    decider(one.decided_by.as_deref())?.name
}
