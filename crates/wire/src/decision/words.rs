//! The words of a decision (protocol, section 5).
//!
//! An unknown verdict permits nothing: it counts as `deny`.

use std::{borrow::Cow, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Verdict, words::words};

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DecisionVerdict {
    /// Run it as asked.
    Approve,
    /// Run it with other arguments.
    Modify,
    /// Do not run it.
    Deny,
    /// Do not run it, without denying it.
    Skip,
    /// Do not run it; here is the answer.
    Respond,
    /// Ask the agent's own next approver.
    Escalate,
    /// Do not run it and end the run.
    Terminate,
    /// The deadline passed.
    Expired,
    /// The agent withdrew.
    Withdrawn,
    /// The request was rejected.
    Rejected,
    /// A word that this version does not know; counts as `deny`.
    Other(String),
}

impl DecisionVerdict {
    /// The word of the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Approve => "approve",
            Self::Modify => "modify",
            Self::Deny => "deny",
            Self::Skip => "skip",
            Self::Respond => "respond",
            Self::Escalate => "escalate",
            Self::Terminate => "terminate",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Rejected => "rejected",
            Self::Other(word) => word,
        }
    }

    /// The verdict of a word; every word has one.
    pub fn from_word(word: &str) -> Self {
        match (Verdict::from_word(word), word) {
            (Some(verdict), _) => verdict.into(),
            (None, "expired") => Self::Expired,
            (None, "withdrawn") => Self::Withdrawn,
            (None, "rejected") => Self::Rejected,
            (None, other) => Self::Other(other.to_owned()),
        }
    }

    /// The operator's verdict; an unknown word is `deny`, system verdicts are none.
    pub fn operator(&self) -> Option<Verdict> {
        match self {
            Self::Approve => Some(Verdict::Approve),
            Self::Modify => Some(Verdict::Modify),
            Self::Deny | Self::Other(_) => Some(Verdict::Deny),
            Self::Skip => Some(Verdict::Skip),
            Self::Respond => Some(Verdict::Respond),
            Self::Escalate => Some(Verdict::Escalate),
            Self::Terminate => Some(Verdict::Terminate),
            Self::Expired | Self::Withdrawn | Self::Rejected => None,
        }
    }
}

impl From<Verdict> for DecisionVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Approve => Self::Approve,
            Verdict::Modify => Self::Modify,
            Verdict::Deny => Self::Deny,
            Verdict::Skip => Self::Skip,
            Verdict::Respond => Self::Respond,
            Verdict::Escalate => Self::Escalate,
            Verdict::Terminate => Self::Terminate,
        }
    }
}

impl fmt::Display for DecisionVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for DecisionVerdict {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for DecisionVerdict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(from).map(|word| Self::from_word(&word))
    }
}

impl JsonSchema for DecisionVerdict {
    fn schema_name() -> Cow<'static, str> {
        "DecisionVerdict".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "approve, modify, deny, skip, respond, escalate, terminate, expired, \
                            withdrawn or rejected; any other word counts as deny",
            "type": "string",
        })
    }
}

crate::text_newtype::ts_as_string!(DecisionVerdict);

/// Who decided.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A person.
    Operator,
    /// A rule.
    Rule,
    /// A setup key.
    SetupKey,
    /// The deadline.
    Timeout,
    /// The agent, by withdrawing.
    Agent,
    /// The console, by rejecting.
    System,
}

words!(Origin {
    Operator => "operator", Rule => "rule", SetupKey => "setup_key", Timeout => "timeout",
    Agent => "agent", System => "system",
});

/// How far the operator meant it; informative.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This call.
    Once,
    /// This session.
    Session,
    /// Always.
    Always,
}

words!(Scope { Once => "once", Session => "session", Always => "always" });
