//! One request with everything that is known of it.

use std::collections::BTreeSet;

use super::{
    Alarm, Contradicting, EarlierCall, Outgoing, RequestSummary, ShownVote, StoredDecision,
    StoredReceipt,
};
use crate::{CallWarning, State, Timestamp};

/// One request with everything that is known of it.
#[derive(Debug, Clone)]
pub struct RequestDetails {
    /// The request and what became of it; with its payload.
    pub line: RequestSummary,
    /// The decision on the stream.
    pub decision: Option<StoredDecision>,
    /// Another one on the stream than this console knew when the bus lost its streams: the one that agents read.
    pub contradicting: Option<Contradicting>,
    /// What this console has in its outbox for it.
    pub outgoing: Option<Outgoing>,
    /// What the agent reported.
    pub receipts: Vec<StoredReceipt>,
    /// What a person must look at about it: a stalled delivery, an execution that nobody approved.
    pub alarms: Vec<Alarm>,
    /// The votes of several operators, as far as they may be shown.
    pub votes: Vec<ShownVote>,
    /// The name of the rule that decided, in the set that was in force; none where that is not kept here.
    pub rule_name: Option<String>,
    /// The same call, decided before this one was asked.
    pub repeats: Option<EarlierCall>,
    /// What else a person should know of the call.
    pub cautions: Vec<CallWarning>,
    /// The argument that an operator wants typed before a critical call of this tool; none is the tool's name.
    pub typed_target: Option<String>,
    /// When retention took the payload away, and the digest that it had; none while it is here.
    pub removed: Option<(Timestamp, String)>,
    /// How a person looked at it before deciding it here, JSON `{via, front_ms, to_end, shown}`.
    pub looked: Option<String>,
}

impl RequestDetails {
    /// What was decided: the payload on the stream, or of this console where it is queued.
    #[must_use]
    pub fn given(&self) -> Option<&[u8]> {
        let queued = (self.line.state == State::Queued.as_str())
            .then_some(self.outgoing.as_ref())
            .flatten();
        let current = self.decision.as_ref().map(|current| &current.payload);
        current
            .or(queued.map(|queued| &queued.payload))
            .map(Vec::as_slice)
    }
}

/// What marks calls in a list, beside what they say themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// Rows of calls that a person denied before.
    pub denied: BTreeSet<i64>,
    /// Rows of calls whose tool is described otherwise than when a person last approved one.
    pub changed: BTreeSet<i64>,
    /// Rows of calls that a second reader marked.
    pub by_reader: BTreeSet<i64>,
}

/// A place that the schema does not allow as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// JSON pointer; empty for the whole.
    pub place: String,
    /// Why, without the value.
    pub why: String,
}
