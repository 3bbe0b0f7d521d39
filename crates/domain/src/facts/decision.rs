//! What is stored of an answer and of its way to the agent.

/// A decision as other parts read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDecision {
    /// Row number.
    pub id: i64,
    /// The request's row.
    pub request: Option<i64>,
    /// From the subject.
    pub ws: String,
    /// From the subject.
    pub agent: String,
    /// From the subject.
    pub request_id: String,
    /// UUID.
    pub decision_id: Option<String>,
    /// Payload as stored.
    pub payload: Vec<u8>,
    /// Header `CS-Key`.
    pub key: Option<String>,
    /// Header `CS-Sig`.
    pub sig: Option<String>,
    /// Sequence in the stream.
    pub stream_seq: i64,
    /// The server's stamp, ms.
    pub stored_at: i64,
    /// How it reads everywhere.
    pub effective: Option<String>,
    /// Why it is void.
    pub fault: Option<String>,
    /// As sent.
    pub origin: Option<String>,
}

/// A decision on the bus where this console keeps another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradicting {
    /// Its position in the stream.
    pub stream_seq: i64,
    /// Its bytes.
    pub raw: Vec<u8>,
    /// The server's stamp, ms.
    pub at: i64,
}

/// A receipt as other parts read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReceipt {
    /// As sent.
    pub decision_id: String,
    /// `received`, `executed`, `failed` or `refused`.
    pub stage: String,
    /// The server's stamp, ms.
    pub at: i64,
    /// Payload as received.
    pub detail: Vec<u8>,
}

/// What this console has in its outbox for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The payload to be sent, byte for byte.
    pub payload: Vec<u8>,
    /// When a held message is signed and sent, ms.
    pub release_at: i64,
    /// Why it is not stored yet.
    pub last_error: Option<String>,
    /// One of `holding`, `queued`, `stored`, `lost`, `late`.
    pub state: String,
}
