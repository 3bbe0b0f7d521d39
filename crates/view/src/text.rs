//! Values that are asked for one by one: revealed secrets and bytes as received.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::Shown;

/// Asks for one of a card's reveals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RevealArgs {
    /// Which request.
    pub key: String,
    /// Number of the reveal within the card.
    pub reveal: u32,
}

/// A value that was hidden, or that holds hidden characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Revealed {
    /// Number of the reveal within the card.
    pub reveal: u32,
    /// The value, escaped for showing.
    pub value: Shown,
    /// The value as a JSON string literal in pure ASCII: every hidden character by its number.
    pub ascii: String,
}

/// Asks for a part of the bytes of a request or of a rejected message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RawArgs {
    /// Which request or rejected message.
    pub key: String,
    /// First byte.
    #[ts(type = "number")]
    pub offset: u64,
}

/// A part of the bytes as received, at most 64 KiB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RawChunk {
    /// First byte of this part.
    #[ts(type = "number")]
    pub offset: u64,
    /// Bytes in all.
    #[ts(type = "number")]
    pub total: u64,
    /// Where the next part begins; none at the end.
    #[ts(type = "number | null")]
    pub next: Option<u64>,
    /// The part as text, escaped; bytes that are not UTF-8 appear as marks.
    pub text: Shown,
    /// The part in hexadecimal, 32 bytes a line.
    pub hex: String,
}
