//! The Operators screen: who may decide in the realm, since when and by whom.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::{KeyRole, Risk, Shown};

/// One line of the realm's list of operators: a term of a key, or a key that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OperatorLine {
    /// As it named itself, or as an operator named it.
    pub name: Shown,
    /// The public key.
    pub key: String,
    /// What it may sign.
    pub role: KeyRole,
    /// `in_force`, `not_yet`, `waiting`, `retired`.
    pub state: String,
    /// Since when; for a waiting key, when it asked.
    #[ts(type = "number")]
    pub from_ms: i64,
    /// Until when.
    #[ts(type = "number | null")]
    pub until_ms: Option<i64>,
    /// Whether it is this console's.
    pub mine: bool,
    /// None: all.
    pub workspaces: Option<Vec<String>>,
    /// None: any.
    pub max_risk: Option<Risk>,
    /// The operator who entered it; none where this console came later, or nobody has accepted it yet.
    pub by: Option<Shown>,
    /// Its own console entered it, with nobody else's word. False for the founder, before whom there was nobody.
    pub joined: bool,
    /// When its console was last heard.
    #[ts(type = "number | null")]
    pub seen_ms: Option<i64>,
}

/// The realm's list of operators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OperatorsView {
    /// In the order of the list; none before it was read from the bus.
    pub operators: Vec<OperatorLine>,
    /// Whether a new key must be accepted by an operator.
    pub approval: bool,
    /// The server's time now.
    #[ts(type = "number")]
    pub server_ms: i64,
}
