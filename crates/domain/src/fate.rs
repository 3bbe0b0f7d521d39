//! What became of a request: the part of its row that counting looks at.

use super::{State, Timestamp};

/// The state of a request, and how it came there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate {
    /// Its state.
    pub state: State,
    /// The verdict as it reads everywhere.
    pub verdict: Option<String>,
    /// Who decided.
    pub origin: Option<String>,
    /// Server time.
    pub stored_at: Timestamp,
    /// Server time.
    pub decided_at: Option<Timestamp>,
}

impl Fate {
    /// How long the decision took, ms, never less than 0; none without one.
    #[must_use]
    pub fn took_ms(&self) -> Option<i64> {
        Some(self.decided_at?.since_ms(self.stored_at).max(0))
    }
}
