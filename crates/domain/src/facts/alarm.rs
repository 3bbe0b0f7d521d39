//! An alarm, and a row of the audit log.

/// Something that must not have happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alarm {
    /// Its number in this folder; 0 for one that could not be written.
    pub id: i64,
    /// Stable word.
    pub code: String,
    /// `WS/AGENT/ID`, a stream, or the name of the thing.
    pub subject: String,
    /// When, server time, ms.
    pub at: i64,
    /// When somebody said that it was seen, server time, ms.
    pub acknowledged_at: Option<i64>,
    /// Public key of who said so.
    pub acknowledged_by: Option<String>,
}

/// A row of the log that is about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRef {
    /// Row number of the request.
    pub request: i64,
    /// Number of the row in the log.
    pub seq: i64,
    /// Its hash.
    pub hash: Vec<u8>,
    /// RFC 3339, ms.
    pub at: String,
    /// Who.
    pub actor: String,
    /// What.
    pub action: String,
}
