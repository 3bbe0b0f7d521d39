//! Keys that sign, and what they may sign (protocol, sections 5 and 8).
//!
//! A text must be the public nkey of a user, checksum included.

use std::sync::Arc;

use data_encoding::BASE32_NOPAD;
use nkeys::KeyPair;
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

/// What the first byte of a user's public nkey is: its letter `U`.
const USER: u8 = 20 << 3;

impl PublicKey {
    fn check(text: &str) -> Result<(), KeyError> {
        Self::bytes(text).map(|_| ())
    }

    /// The key of a pair which can sign.
    pub fn of(pair: &KeyPair) -> Result<Self, KeyError> {
        pair.public_key().parse()
    }

    /// The 32 bytes of a text with the right checksum. Whether they are a point is the signature's question, so that
    /// every reader takes the same texts for keys.
    pub(crate) fn bytes(text: &str) -> Result<[u8; 32], KeyError> {
        let raw = BASE32_NOPAD.decode(text.as_bytes()).map_err(|_| KeyError)?;
        let (body, checksum) = raw.split_last_chunk::<2>().ok_or(KeyError)?;
        match body.split_first() {
            Some((&USER, key)) if crc16(body).to_le_bytes() == *checksum => {
                key.try_into().map_err(|_| KeyError)
            }
            _ => Err(KeyError),
        }
    }
}

/// CRC-16/XMODEM, which nkeys end with.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc: u16, _| {
            let carry = crc & 0x8000 != 0;
            crc << 1 ^ if carry { 0x1021 } else { 0 }
        })
    })
}

/// Whether it is a device's key by its form: `W` and 52 letters of base 32.
pub(crate) fn is_device_key(text: &str) -> bool {
    let letter = |byte: u8| matches!(byte, b'A'..=b'Z' | b'2'..=b'7');
    text.strip_prefix('W')
        .is_some_and(|rest| rest.len() == 52 && rest.bytes().all(letter))
}

text_newtype!(
    PublicKey,
    KeyError,
    "^U[A-Z2-7]{55}$",
    "A public nkey of a user"
);

/// Neither the public nkey of a user nor a device's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a key that signs (a public nkey of a user, or W and 52 letters of base 32)")]
pub struct SignerError;

/// Who signs decisions, votes and values of the shared policy: a key (`U…`, with an ed25519 signature) or a device
/// (`W…`, with an assertion).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signer(Arc<str>);

impl Signer {
    fn check(text: &str) -> Result<(), SignerError> {
        let known = is_device_key(text) || PublicKey::check(text).is_ok();
        known.then_some(()).ok_or(SignerError)
    }

    /// The key; `None` of a device.
    pub fn public_key(&self) -> Option<PublicKey> {
        (!is_device_key(&self.0)).then(|| PublicKey(self.0.clone()))
    }
}

impl From<PublicKey> for Signer {
    fn from(key: PublicKey) -> Self {
        Self(key.0)
    }
}

impl PartialEq<PublicKey> for Signer {
    fn eq(&self, other: &PublicKey) -> bool {
        self.0 == other.0
    }
}

text_newtype!(
    Signer,
    SignerError,
    "^(U[A-Z2-7]{55}|W[A-Z2-7]{52})$",
    "A public nkey of a user, or the key of a device"
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
    /// What an operator decided, on a device.
    Device,
}

crate::words::words!(KeyRole { Human => "human", Auto => "auto", Device => "device" });

/// A key in force, as the ready line of `serve` names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TrustedKey {
    /// The key.
    pub key: Signer,
    /// The operator's name, for display.
    pub name: String,
    /// What it may sign.
    pub role: KeyRole,
}
