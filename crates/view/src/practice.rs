//! Practice cards: their switch, and what came of them.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::Shown;

/// What came of a practice card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PracticeAnswer {
    /// The change was caught, or nothing was changed and nothing refused.
    pub right: bool,
    /// What was changed and whether it was caught, in one line.
    pub words: Shown,
}

/// Turns practice on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetPracticeArgs {
    /// Whether practice cards come.
    pub on: bool,
    /// About one card in this many is practice, 2 to 10,000.
    pub one_in: u32,
}

/// The switch, and what people saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PracticeView {
    /// Whether practice cards come.
    pub on: bool,
    /// About one card in this many is practice.
    pub one_in: u32,
    /// Who answered a card, by name.
    pub operators: Vec<PracticePerson>,
}

/// The practice of one person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PracticePerson {
    /// The name.
    pub name: Shown,
    /// The key.
    pub key: String,
    /// Answered cards, unchanged ones too.
    pub shown: u32,
    /// Changes that were caught.
    pub caught: u32,
    /// Changes that were missed.
    pub missed: u32,
    /// Unchanged cards that were refused.
    pub false_alarms: u32,
    /// How well changed and unchanged cards are distinguished; none of too few.
    pub d_prime: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}
