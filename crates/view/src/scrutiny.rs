//! What the console finds in a call, and the earlier calls that it is compared with.

use countersign_scrutiny::Weight;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{ArgPart, DiffLine};
use countersign_wire::Shown;

/// A sentence with a fact about one place in the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct FindingView {
    /// What kind, such as `near_miss`.
    pub code: String,
    /// How wrong it usually is.
    pub weight: Weight,
    /// JSON pointer to the innermost value concerned; empty for the whole call.
    pub at: Shown,
    /// The sentence, in English; amounts as 12,490.00.
    pub message: Shown,
}

/// Why a piece of a value is marked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PartMark {
    /// Places in the card's findings; empty in a comparison.
    pub findings: Vec<u32>,
    /// These are the letters concerned.
    pub letters: bool,
}

/// One place at which a call differs from an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DiffersView {
    /// The place, for a person: `attendees[2]`.
    pub place: Shown,
    /// Then; none where there was none, and where `lines` shows both.
    pub was: Option<Vec<ArgPart>>,
    /// Now; none where it is gone, and where `lines` shows both.
    pub is: Option<Vec<ArgPart>>,
    /// Both line by line, where one of them has several lines; empty otherwise.
    pub lines: Vec<DiffLine>,
}

/// The nearest call that a person approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ComparedView {
    /// `WORKSPACE/AGENT/ID`.
    pub key: String,
    /// When it was approved.
    #[ts(type = "number")]
    pub at_ms: i64,
    /// Who approved it.
    pub by: Option<Shown>,
    /// Only what differs, in the order of the arguments.
    pub differs: Vec<DiffersView>,
    /// How many arguments are the same.
    pub same: u32,
}

/// The newest call like it that a person denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeniedView {
    /// `WORKSPACE/AGENT/ID`.
    pub key: String,
    /// When it was denied.
    #[ts(type = "number")]
    pub at_ms: i64,
    /// Who denied it.
    pub by: Option<Shown>,
    /// What the person wrote.
    pub why: Option<Shown>,
}
