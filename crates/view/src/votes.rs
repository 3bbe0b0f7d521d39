//! How far several operators are with a request.
//!
//! An operator who has yet to vote never receives who voted what.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::Shown;

/// How many operators have agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct VotesCount {
    /// How many must agree, 2 to 5.
    pub required: u8,
    /// How many agree, with keys that count now.
    pub given: u8,
    /// How many more count, but for something else; 0 for who has yet to vote.
    pub apart: u8,
    /// Whether the operator of this console has voted, with the key that signs now.
    pub mine: bool,
}

/// A valid vote, as far as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum BallotView {
    /// Somebody voted; who and what is shown once the operator here has voted or all is decided.
    Hidden,
    /// A vote.
    Open {
        /// `approve` or `modify`.
        verdict: String,
        /// Who gave it.
        by: Shown,
        /// Last characters of their key.
        key_tail: String,
        /// When it was stored.
        #[ts(type = "number")]
        at_ms: i64,
        /// Whether this console's operator gave it.
        mine: bool,
    },
}

/// The votes on a request that needs several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct VotesView {
    /// How many.
    pub count: VotesCount,
    /// Which, in the order of the stream.
    pub votes: Vec<BallotView>,
}
