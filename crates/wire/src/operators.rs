//! Who may sign, and since when (protocol, section 8, "Operators").
//!
//! Refuses to answer without a time: a key counts only between its `from` and `until`.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use time::OffsetDateTime;

use crate::{KeyRole, PublicKey, Timestamp};

/// One signing key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorEntry {
    /// The public key.
    pub key: PublicKey,
    /// The operator's or the console's name, for display.
    pub name: String,
    /// What it may sign.
    pub role: KeyRole,
    /// Counts for decisions stored from this moment of the server's time.
    pub from: Timestamp,
    /// Counts no longer from this moment; null while it counts.
    #[serde(default)]
    pub until: Option<Timestamp>,
}

/// The value of the policy key `operators`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperatorList {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::alive::version_schema")]
    pub v: u8,
    /// Every key that ever counted.
    pub operators: Vec<OperatorEntry>,
}

impl OperatorList {
    /// A list of these entries.
    pub fn new(operators: Vec<OperatorEntry>) -> Self {
        Self { v: 1, operators }
    }

    /// The role of a key for what was stored at this moment of the server's
    /// time. A key with entries of both roles at once is trusted with neither.
    pub fn role_at(&self, key: &str, stored_at: OffsetDateTime) -> Option<KeyRole> {
        let mut roles = self
            .operators
            .iter()
            .filter(|entry| {
                entry.key.as_str() == key
                    && entry.from.get() <= stored_at
                    && entry.until.is_none_or(|until| stored_at < until.get())
            })
            .map(|entry| entry.role);
        let first = roles.next()?;
        roles.all(|role| role == first).then_some(first)
    }
}

impl<'de> Deserialize<'de> for OperatorList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Object {
                v: u8,
                operators: Vec<OperatorEntry>,
            },
            Bare(Vec<OperatorEntry>),
        }
        match Form::deserialize(from)? {
            Form::Object { v: 1, operators } | Form::Bare(operators) => Ok(Self::new(operators)),
            Form::Object { .. } => Err(serde::de::Error::custom("v is not 1")),
        }
    }
}
