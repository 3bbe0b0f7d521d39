//! What the core remembers of a request in order to decide on it.

use super::{Delivery, State, Timestamp};
use countersign_wire::{RequestKey, Risk};

/// A request as the life cycle sees it. The payload itself stays in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// Row number: the order of arrival in this console.
    pub id: i64,
    /// Who asks, and under which name.
    pub key: RequestKey,
    /// Where it stands.
    pub state: State,
    /// How far it and its answer have come.
    pub delivery: Delivery,
    /// Effective risk: an unknown word reads critical.
    pub risk: Risk,
    /// Digest of the arguments at the gate; none for questions and forms.
    pub args_digest: Option<String>,
    /// Digest of the payload as stored.
    pub request_digest: String,
    /// Verdicts that the agent can honour.
    pub allowed: AllowedVerdicts,
    /// How many operators must agree, 1 to 5.
    pub approvals_required: u8,
    /// The server's stamp of the stored request.
    pub stored_at: Timestamp,
    /// From here on no approval takes effect.
    pub deadline_at: Timestamp,
    /// The agent's arguments are shown and can be edited.
    pub has_args: bool,
}

/// Operator verdicts that an agent can honour, as words; `deny` is always among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedVerdicts(Vec<String>);

impl AllowedVerdicts {
    /// Takes the words of a request; unknown ones were ignored by the parser.
    pub fn new<I: IntoIterator<Item = S>, S: Into<String>>(words: I) -> Self {
        let mut words: Vec<String> = words.into_iter().map(Into::into).collect();
        if !words.iter().any(|word| word == "deny") {
            words.push("deny".to_owned());
        }
        Self(words)
    }

    /// From the store: words divided by blanks.
    #[must_use]
    pub fn from_words(words: &str) -> Self {
        Self::new(words.split_ascii_whitespace())
    }

    /// For the store.
    #[must_use]
    pub fn to_words(&self) -> String {
        self.0.join(" ")
    }

    /// Whether the agent can honour `verdict`.
    #[must_use]
    pub fn contains(&self, verdict: &str) -> bool {
        self.0.iter().any(|word| word == verdict)
    }

    /// All of them, in the agent's order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}
