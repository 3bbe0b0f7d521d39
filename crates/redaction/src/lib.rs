//! Which values look like secrets, and how they are hidden from shoulders, screenshots and exports. What runs is always
//! the unchanged value.

mod commands;
mod hiding;
mod names;
mod spans;
mod tokens;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

pub use hiding::{Hiding, hides_whole, leaf_text};
pub use names::is_secret_key;
pub use spans::{is_secret_value, secret_spans};

/// The lines of a table that is kept beside the code, without its remarks.
fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.starts_with('#'))
}

/// A hidden value: how long it is, and 8 hexadecimal digits, the same for equal values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redacted {
    /// Characters of the value.
    pub length: usize,
    /// 8 hexadecimal digits of a digest under a key that only this console has.
    pub keyed_digest: String,
}

impl Redacted {
    /// Hides a value. `key` is secret and the console's own, so that the
    /// digits cannot be tried out elsewhere (HMAC-SHA-256, cut).
    pub fn of(value: &str, key: &[u8; 32]) -> Self {
        // A key shorter than a block is padded with zeros (RFC 2104).
        let mut block = [0; 64];
        block[..key.len()].copy_from_slice(key);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(value.as_bytes());
        let digest = mac.finalize().into_bytes();
        Self {
            length: value.chars().count(),
            keyed_digest: HEXLOWER.encode(&digest[..4]),
        }
    }
}

impl std::fmt::Display for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "hidden: {} characters, {}",
            self.length, self.keyed_digest
        )
    }
}
