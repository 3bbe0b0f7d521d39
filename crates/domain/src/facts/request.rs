//! A request in a list, and the earlier one that it repeats.

use countersign_wire::RequestKey;

/// A request with what became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestSummary {
    /// Row number.
    pub id: i64,
    /// Workspace.
    pub ws: String,
    /// Agent.
    pub agent: String,
    /// Request id.
    pub request_id: String,
    /// Kind.
    pub kind: Option<String>,
    /// Tool name as the agent wrote it.
    pub tool: Option<String>,
    /// Effective risk.
    pub risk: String,
    /// Life-cycle state.
    pub state: String,
    /// As it reads everywhere.
    pub verdict: Option<String>,
    /// Who decided.
    pub origin: Option<String>,
    /// JSON `{name, key}`.
    pub decided_by: Option<String>,
    /// The operator's words.
    pub message: Option<String>,
    /// Digest of the arguments at the gate.
    pub args_digest: Option<String>,
    /// ms.
    pub requested_at: Option<i64>,
    /// ms.
    pub stored_at: i64,
    /// ms.
    pub received_at: i64,
    /// ms.
    pub deadline_at: i64,
    /// ms.
    pub decided_at: Option<i64>,
    /// Rung of the ladder.
    pub delivery: String,
    /// Sequence of the request.
    pub request_seq: i64,
    /// Sequence of the decision.
    pub stream_seq: Option<i64>,
    /// Rule that decided.
    pub rule_id: Option<String>,
    /// Its version.
    pub rule_version: Option<i64>,
    /// Why it was rejected.
    pub error_code: Option<String>,
    /// Why it was rejected.
    pub error_detail: Option<String>,
    /// Thread of the agent.
    pub thread_id: Option<String>,
    /// Run of the agent.
    pub run_id: Option<String>,
    /// Trace of the agent.
    pub trace_id: Option<String>,
    /// Span of that trace which waits for the answer.
    pub span_id: Option<String>,
    /// How many operators must agree, 1 to 5; 1 for a question or a form, whatever it asks for: one answers.
    pub approvals_required: i64,
    /// How many votes are valid and, once they are counted, count together; 0 where one operator is enough.
    pub votes: i64,
    /// How many votes are for something else than most, as far as that may be shown here.
    pub apart: i64,
    /// Whether this console's operator has voted: on the stream or on the way there.
    pub voted: bool,
    /// Valid votes, JSON `[[key, verdict, args_digest]]`, until they are counted; none where one operator is enough.
    pub ballots: Option<String>,
    /// Keys whose votes this console has sent or sends, JSON; the same.
    pub sent: Option<String>,
    /// What is remarkable about the call, JSON of the findings as they were made last before it was decided, the
    /// strongest first. None while it was not looked at, and where another console decided.
    pub findings: Option<String>,
    /// What will happen, where the console can be sure.
    pub effect: Option<String>,
    /// Payload as received; empty unless asked for.
    pub raw: Vec<u8>,
}

impl RequestSummary {
    /// Which request it is; none for a message whose subject named none.
    #[must_use]
    pub fn key(&self) -> Option<RequestKey> {
        format!("{}/{}/{}", self.ws, self.agent, self.request_id)
            .parse()
            .ok()
    }
}

/// An earlier decided call of the same agent, tool and arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierCall {
    /// Row number.
    pub id: i64,
    /// Workspace.
    pub ws: String,
    /// Agent.
    pub agent: String,
    /// Request id.
    pub request_id: String,
    /// As it reads everywhere.
    pub verdict: Option<String>,
    /// JSON `{name, key}`.
    pub decided_by: Option<String>,
    /// The operator's words to the agent.
    pub message: Option<String>,
    /// The server's stamp of the decision, ms.
    pub decided_at: i64,
}
