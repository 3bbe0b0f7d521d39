//! A request's whole story on one page.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{Card, DecisionView, HistoryRow, OnBusView, RawChunk, Rung};
use countersign_wire::Shown;

/// A vote of one operator on a request that several must agree on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct VoteView {
    /// Name of the operator; none while it may not be shown: the second approver must not see the first verdict.
    pub by: Option<Shown>,
    /// Last characters of the key.
    pub key_tail: Option<String>,
    /// `approve` or `modify`.
    pub verdict: Option<Shown>,
    /// When it was stored.
    #[ts(type = "number | null")]
    pub at_ms: Option<i64>,
    /// Whether it counts; none while that is unknown or may not be shown.
    pub stands: Option<bool>,
    /// Whether this console's operator gave it.
    pub mine: bool,
}

/// The rule that decided, as the signed decision names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RuleRef {
    /// Its id.
    pub id: Shown,
    /// Its name in the set that was in force; none where that is not kept here, and of a setup key.
    pub name: Option<Shown>,
    /// Its version.
    #[ts(type = "number | null")]
    pub version: Option<i64>,
    /// Digest of the whole set of rules.
    pub policy_digest: Option<Shown>,
}

/// Who signed the stored decision, and what over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SignatureView {
    /// Public key; none where it is unsigned.
    pub key: Option<Shown>,
    /// The signature, base64url.
    pub sig: Option<Shown>,
    /// Why it does not verify; none when it does.
    pub fault: Option<String>,
    /// Sequence in the stream of decisions.
    #[ts(type = "number")]
    pub stream_seq: i64,
    /// When the server stored it.
    #[ts(type = "number")]
    pub stored_ms: i64,
    /// The signed bytes.
    pub payload: RawChunk,
}

/// A row of the audit log that is about the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AuditRef {
    /// Number of the row.
    #[ts(type = "number")]
    pub seq: i64,
    /// Its hash, hexadecimal.
    pub hash: String,
    /// What happened.
    pub action: String,
    /// Who did it: a public key, or `WORKSPACE/AGENT`.
    pub actor: Shown,
    /// When.
    #[ts(type = "number")]
    pub at_ms: i64,
}

/// A request's whole story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RequestStoryView {
    /// The line of the history.
    pub row: HistoryRow,
    /// What a person saw: words, arguments, warnings, what led here; none where the bytes cannot be read or are gone.
    pub card: Option<Box<Card>>,
    /// `sha256:…` of the arguments at the gate.
    pub args_digest: Option<String>,
    /// `sha256:…` of the bytes as received.
    pub request_digest: String,
    /// Sequence in the stream of requests.
    #[ts(type = "number")]
    pub request_seq: i64,
    /// From here on no approval takes effect; none for what was rejected.
    #[ts(type = "number | null")]
    pub deadline_ms: Option<i64>,
    /// The agent's clock.
    #[ts(type = "number | null")]
    pub requested_ms: Option<i64>,
    /// When this console read it.
    #[ts(type = "number")]
    pub received_ms: i64,
    /// What exactly was wrong with a rejected message.
    pub error_detail: Option<Shown>,
    /// The first part of the bytes as received; `raw` gives the others. None once retention took them.
    pub raw: Option<RawChunk>,
    /// When retention took the bytes away.
    #[ts(type = "number | null")]
    pub removed_ms: Option<i64>,
    /// The votes of several operators, as far as they may be shown.
    pub votes: Vec<VoteView>,
    /// The valid decision.
    pub decision: Option<DecisionView>,
    /// Another decision on the bus.
    pub on_bus: Option<OnBusView>,
    /// The rule that decided.
    pub rule: Option<RuleRef>,
    /// The signature under it.
    pub signature: Option<SignatureView>,
    /// Stored, decided, on the bus, received, executed.
    pub ladder: Vec<Rung>,
    /// What the audit log says about it, oldest first; at most 200 rows.
    pub audit: Vec<AuditRef>,
    /// Traces that it belongs to: its own first, then those whose spans name it.
    pub traces: Vec<String>,
}
