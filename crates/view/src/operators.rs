//! The Operators screen: who may decide in the realm, since when and by whom.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::{KeyRole, Risk, Shown};

/// A key that the realm log has named, or that asks to be let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OperatorLine {
    /// As it named itself, or as an operator named it.
    pub name: Shown,
    /// The key.
    pub key: String,
    /// What it may sign.
    pub role: KeyRole,
    /// `in_force`, `waiting`, `ended`.
    pub state: String,
    /// Whether its operator is an administrator.
    pub admin: bool,
    /// Since when; for a waiting key, when it asked. None of a newcomer who was turned away.
    #[ts(type = "number | null")]
    pub from_ms: Option<i64>,
    /// Until when.
    #[ts(type = "number | null")]
    pub until_ms: Option<i64>,
    /// Whether it is this console's.
    pub mine: bool,
    /// None: all.
    pub workspaces: Option<Vec<String>>,
    /// None: any.
    pub max_risk: Option<Risk>,
    /// The operator who let it in; none where nobody has.
    pub by: Option<Shown>,
    /// No person let it in: the console of an administrator did.
    pub joined: bool,
    /// When its console was last heard, if it is there now.
    #[ts(type = "number | null")]
    pub seen_ms: Option<i64>,
}

/// The operators of the realm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OperatorsView {
    /// In the order in which they came; none before the log was read.
    pub operators: Vec<OperatorLine>,
    /// Whether newcomers wait for a person.
    pub approval: bool,
    /// The server's time now.
    #[ts(type = "number")]
    pub server_ms: i64,
}
