//! The streams and the bucket that hold the protocol's messages (protocol, section 1).
//!
//! How they are configured is the bus's part.

/// What every subject of this version starts with.
pub const SUBJECT_PREFIX: &str = "countersign.v1.";

/// The key-value bucket of the shared policy (protocol, section 8).
pub const POLICY_BUCKET: &str = "CS_POLICY";

/// A JetStream stream of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// Requests, withdrawals and earlier deadlines.
    Requests,
    /// Decisions, votes and the realm log.
    Decisions,
    /// Receipts of decisions.
    Receipts,
    /// Spans.
    Events,
    /// Agents that said hello.
    Agents,
    /// Signed heads of the consoles' audit chains.
    Audit,
}

impl Stream {
    /// Every stream, in the order of section 1.
    pub const ALL: [Self; 6] = [
        Self::Requests,
        Self::Decisions,
        Self::Receipts,
        Self::Events,
        Self::Agents,
        Self::Audit,
    ];

    /// The stream's name on the server.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "CS_REQUESTS",
            Self::Decisions => "CS_DECISIONS",
            Self::Receipts => "CS_RECEIPTS",
            Self::Events => "CS_EVENTS",
            Self::Agents => "CS_AGENTS",
            Self::Audit => "CS_AUDIT",
        }
    }

    /// The subject filters that the stream takes in.
    pub const fn subjects(self) -> &'static [&'static str] {
        match self {
            Self::Requests => &[
                "countersign.v1.request.>",
                "countersign.v1.withdraw.>",
                "countersign.v1.tighten.>",
            ],
            Self::Decisions => &[
                "countersign.v1.decision.>",
                "countersign.v1.vote.>",
                "countersign.v1.realm.*",
            ],
            Self::Receipts => &["countersign.v1.receipt.>"],
            Self::Events => &["countersign.v1.event.>"],
            Self::Agents => &["countersign.v1.hello.>"],
            Self::Audit => &["countersign.v1.audit.>"],
        }
    }
}

impl std::fmt::Display for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
