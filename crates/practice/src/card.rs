//! A practice card.

use serde_json::Value;

use crate::kind::ChangeKind;

/// A call that people approved, as it ran.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovedCall {
    /// `WORKSPACE/AGENT/ID`.
    pub key: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments.
    pub args: Value,
}

/// What was changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its kind.
    pub kind: ChangeKind,
    /// JSON pointer to the one value that differs.
    pub at: String,
    /// The approved value; none where there was none.
    pub was: Option<Value>,
    /// The value on the card.
    pub is: Value,
}

/// A card for practice. It is neither copied, nor serialised, nor made of anything but approved calls.
#[derive(Debug, PartialEq)]
pub struct PracticeCard {
    pub(crate) key: String,
    pub(crate) source: ApprovedCall,
    pub(crate) args: Value,
    pub(crate) change: Option<Change>,
}

impl PracticeCard {
    /// `WORKSPACE/AGENT/ID` with an id that no request has.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The approved call that it is made of.
    #[must_use]
    pub fn source(&self) -> &ApprovedCall {
        &self.source
    }

    /// The arguments on the card.
    #[must_use]
    pub fn args(&self) -> &Value {
        &self.args
    }

    /// What was changed; none where only the ids differ.
    #[must_use]
    pub fn change(&self) -> Option<&Change> {
        self.change.as_ref()
    }
}
