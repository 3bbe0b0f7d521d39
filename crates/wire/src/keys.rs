//! Public keys that sign, and what they may sign (protocol, section 5).
//!
//! A text must be the public nkey of a user, checksum included.

use std::sync::Arc;

use nkeys::{KeyPair, KeyPairType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text_newtype::text_newtype;

/// Not the public nkey of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a public nkey of a user (56 characters that start with U)")]
pub struct KeyError;

/// The public nkey of a user, `U` and 55 characters of base 32.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey(Arc<str>);

impl PublicKey {
    fn check(text: &str) -> Result<(), KeyError> {
        if text.len() == 56 && text.starts_with('U') {
            Self::pair(text).map(|_| ())
        } else {
            Err(KeyError)
        }
    }

    /// The key of a pair which can sign.
    pub fn of(pair: &KeyPair) -> Result<Self, KeyError> {
        pair.public_key().parse()
    }

    fn pair(text: &str) -> Result<KeyPair, KeyError> {
        let pair = KeyPair::from_public_key(text).map_err(|_| KeyError)?;
        if pair.key_pair_type() == KeyPairType::User {
            Ok(pair)
        } else {
            Err(KeyError)
        }
    }

    pub(crate) fn verifier(text: &str) -> Result<KeyPair, KeyError> {
        Self::check(text)?;
        Self::pair(text)
    }
}

text_newtype!(
    PublicKey,
    KeyError,
    "^U[A-Z2-7]{55}$",
    "A public nkey of a user"
);

/// What a signing key may sign.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum KeyRole {
    /// What an operator decided.
    Human,
    /// Decisions of rules, setup keys, time-outs and the system.
    Auto,
}

impl KeyRole {
    /// The role of a key by all of its entries that count; none when it has both, or no entry.
    pub fn of_all(mut roles: impl Iterator<Item = Self>) -> Option<Self> {
        let first = roles.next()?;
        roles.all(|role| role == first).then_some(first)
    }
}

crate::words::words!(KeyRole { Human => "human", Auto => "auto" });

/// A key that an agent trusts (`trusted_keys` of `agent.json`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TrustedKey {
    /// The public key.
    pub key: PublicKey,
    /// The operator's or the console's name, for display.
    pub name: String,
    /// What it may sign.
    pub role: KeyRole,
}
