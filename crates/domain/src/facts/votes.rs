//! The votes of several operators.

use countersign_wire::RequestKey;

use super::RequestSummary;

/// A vote as other parts read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredVote {
    /// Row number.
    pub id: i64,
    /// From the subject.
    pub ws: String,
    /// From the subject.
    pub agent: String,
    /// From the subject.
    pub request_id: String,
    /// The voter's public key.
    pub key: String,
    /// UUID.
    pub vote_id: Option<String>,
    /// `approve` or `modify` where it is valid.
    pub verdict: Option<String>,
    /// Digest of the arguments that may run.
    pub args_digest: Option<String>,
    /// The voter's name, as sent.
    pub name: Option<String>,
    /// Payload as stored.
    pub payload: Vec<u8>,
    /// Header `CS-Key`.
    pub signer: Option<String>,
    /// Header `CS-Sig`.
    pub sig: Option<String>,
    /// Sequence in the stream.
    pub stream_seq: i64,
    /// The server's stamp, ms.
    pub at: i64,
    /// Whether every check held when it was stored.
    pub stands: Option<bool>,
    /// Whether this console's operator gave it.
    pub mine: bool,
}

impl StoredVote {
    /// The request that it is about.
    #[must_use]
    pub fn request_key(&self) -> Option<RequestKey> {
        format!("{}/{}/{}", self.ws, self.agent, self.request_id)
            .parse()
            .ok()
    }
}

/// How far several operators are with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approvals {
    /// How many must agree.
    pub required: i64,
    /// How many agree, with keys that are active now. Who has yet to vote never learns that all required ones did: that
    /// they did not decide would say that they differ.
    pub given: i64,
    /// How many more votes count, but for something else; 0 for who has yet to vote.
    pub apart: i64,
    /// Whether the operator of this console has voted, with the key that signs now.
    pub mine: bool,
}

impl Approvals {
    /// Of a request that needs several; none where one is enough.
    #[must_use]
    pub fn of(line: &RequestSummary) -> Option<Self> {
        (line.approvals_required > 1).then_some(Self {
            required: line.approvals_required,
            given: line.votes,
            apart: line.apart,
            mine: line.voted,
        })
    }

    /// What to do where there are votes that do not count together.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        let votes = match self.apart {
            0 => return None,
            1 => "1 vote is".to_owned(),
            more => format!("{more} votes are"),
        };
        Some(format!(
            "{votes} for a different answer and not counted here. Another operator must agree, or somebody denies it"
        ))
    }
}

/// A vote that counts, as far as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownVote {
    /// Somebody voted; what and who is shown once the operator here has voted or all is decided.
    Hidden,
    /// A vote.
    Open(Box<StoredVote>),
}
