//! A request of the core, read into its protocol type.

use crate::{DecidePath, IpcError, TypedTarget};
use countersign_domain::CallWarning;
use countersign_domain::State;
use countersign_domain::facts::{
    Alarm, Contradicting, EarlierCall, Outgoing, RequestDetails, RequestSummary, ShownVote,
    StoredDecision, StoredReceipt,
};
use countersign_domain::reader::ReaderMark;
use countersign_scrutiny::{Finding, Scrutiny, findings_of};
use countersign_wire::ErrorCode;
use countersign_wire::{ApprovalRequest, Effects, RequestKey, request_digest};
use serde_json::Value;

use super::fault::refuse;
use super::scrutiny::{path_with, read_ms};
use super::target::typed_target;

/// One request whole, readable.
pub struct CardDetails {
    /// Which.
    pub key: RequestKey,
    /// Its line, with the payload.
    pub line: RequestSummary,
    /// As the agent asked it.
    pub request: ApprovalRequest,
    /// Digest of its payload.
    pub request_digest: String,
    /// The decision on the stream.
    pub decision: Option<StoredDecision>,
    pub(crate) contradicting: Option<Contradicting>,
    pub(crate) outgoing: Option<Outgoing>,
    pub(crate) receipts: Vec<StoredReceipt>,
    pub(crate) alarms: Vec<Alarm>,
    pub(crate) votes: Vec<ShownVote>,
    /// What was found in it; nothing while nobody looked at it.
    pub(crate) findings: Vec<Finding>,
    /// What a second reader added, each with whether the value was edited since.
    pub(crate) reader: Vec<(ReaderMark, bool)>,
    /// What it does and what it is compared with; nothing for what is not a call.
    pub(crate) scrutiny: Scrutiny,
    pub(crate) rule_name: Option<String>,
    pub(crate) repeats: Option<EarlierCall>,
    pub(crate) cautions: Vec<CallWarning>,
    /// The argument that an operator wants typed on the critical way.
    pub(crate) chosen_target: Option<String>,
}

impl CardDetails {
    /// Refuses what was rejected: it has no card.
    pub fn read(
        story: RequestDetails,
        scrutiny: Scrutiny,
        reader: Vec<(ReaderMark, bool)>,
    ) -> Result<Self, IpcError> {
        let rejected = || {
            refuse(
                ErrorCode::NotApprovable,
                "this message was rejected; see it under Rejected",
            )
        };
        if let Some((at, _)) = &story.removed {
            return Err(refuse(
                ErrorCode::NotApprovable,
                &format!(
                    "retention removed the request's content on {at}; the decision is in the history"
                ),
            ));
        }
        let key = story.line.key().ok_or_else(rejected)?;
        let request = read_request(&story.line).ok_or_else(rejected)?;
        Ok(Self {
            key,
            request_digest: request_digest(&story.line.raw).to_string(),
            request,
            decision: story.decision,
            contradicting: story.contradicting,
            outgoing: story.outgoing,
            receipts: story.receipts,
            alarms: story.alarms,
            votes: story.votes,
            findings: findings_of(&story.line).unwrap_or_default(),
            reader,
            scrutiny,
            rule_name: story.rule_name,
            repeats: story.repeats,
            cautions: story.cautions,
            chosen_target: story.typed_target,
            line: story.line,
        })
    }

    /// Which way an approval takes: with a finding that stops, and for what a person denied before, that of high risk
    /// at least.
    pub fn path(&self) -> DecidePath {
        let denied = |caution: &CallWarning| matches!(caution, CallWarning::DeniedBefore { .. });
        let path = path_with(path_of(&self.request), &self.findings);
        match self.cautions.iter().any(denied) {
            true => path.max(DecidePath::High),
            false => path,
        }
    }

    /// How long it takes to read what is not the same as in the compared call, ms.
    pub fn read_ms(&self) -> i64 {
        read_ms(self.request.args.as_ref(), self.scrutiny.compared.as_ref())
    }

    /// What must be typed on the critical way before these arguments run.
    pub fn typed_target(&self, args: Option<&Value>, key: &[u8; 32]) -> TypedTarget {
        let tool = self.request.tool.as_ref().map(|tool| tool.name.as_str());
        typed_target(tool, args, self.chosen_target.as_deref(), key)
    }
}

/// Which way an approval takes, by what a request says about itself.
pub fn path_of(request: &ApprovalRequest) -> DecidePath {
    DecidePath::of(
        request.effective_risk(),
        request.effects() == Effects::Irreversible,
    )
}

/// The request of a row; none when it was rejected.
pub fn read_request(line: &RequestSummary) -> Option<ApprovalRequest> {
    if state_of(line) == State::Rejected {
        return None;
    }
    serde_json::from_slice(&line.raw).ok()
}

/// The row's state; a word that is not known reads void, which nothing can be decided on.
pub fn state_of(line: &RequestSummary) -> State {
    serde_json::from_value(line.state.as_str().into()).unwrap_or(State::Void)
}
