//! The status bar's figures and the empty inbox's instructions.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::{Risk, Shown};

/// The bus as this console sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BusView {
    /// Whether it is connected.
    pub connected: bool,
    /// The server's address, without user and password.
    pub url: String,
    /// The server's version.
    pub server_version: Option<String>,
    /// What is insecure: `single_account`, `no_tls`, `open_permissions`.
    pub insecure: Vec<String>,
}

/// A thing that wants a person's eyes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AlarmView {
    /// Its number, for acknowledging it; 0 for one that could not be written.
    #[ts(type = "number")]
    pub id: i64,
    /// A stable word.
    pub code: String,
    /// What happened and what to do next, for a person.
    pub sentence: String,
    /// To whom or to what.
    pub subject: Shown,
    /// When.
    #[ts(type = "number")]
    pub at_ms: i64,
}

/// A paused or stopped agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ControlView {
    /// `WORKSPACE/AGENT`.
    pub agent: String,
    /// New calls are denied; otherwise only automatic approvals are off.
    pub stopped: bool,
    /// Who did it.
    pub by: Shown,
}

/// An agent whose calls need not ask for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BypassView {
    /// `WORKSPACE/AGENT`.
    pub agent: String,
    /// The highest risk that it covers.
    pub up_to: Risk,
    /// From here on it is over.
    #[ts(type = "number")]
    pub until_ms: i64,
    /// Who started it.
    pub by: Shown,
}

/// The head of the audit chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AuditView {
    /// Rows so far.
    #[ts(type = "number")]
    pub seq: i64,
    /// Hash of the last one, lowercase hex.
    pub hash: String,
    /// Last row whose hash is anchored on the bus.
    #[ts(type = "number | null")]
    pub anchored_seq: Option<i64>,
}

/// What the status bar shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    /// The bus.
    pub bus: BusView,
    /// Everything stored at connect has been read; nothing is shown as pending before.
    pub caught_up: bool,
    /// Messages in the streams that are not read yet.
    #[ts(type = "number")]
    pub lag: i64,
    /// Requests that wait.
    #[ts(type = "number")]
    pub waiting: i64,
    /// Rejected messages.
    #[ts(type = "number")]
    pub rejected: i64,
    /// Decisions on their way to the bus.
    #[ts(type = "number")]
    pub outbox: i64,
    /// Agents that were heard of.
    #[ts(type = "number")]
    pub agents: i64,
    /// Who turned every automatic approval off; none while panic is off.
    pub panic: Option<Shown>,
    /// Agents that are paused or stopped.
    pub brakes: Vec<ControlView>,
    /// Agents whose calls need not ask for a while.
    pub bypasses: Vec<BypassView>,
    /// Rules that approve now, in all workspaces; none under panic.
    #[ts(type = "number")]
    pub rules_approving: u64,
    /// Open alarms.
    pub alarms: Vec<AlarmView>,
    /// Where arguments of which workspaces go, while a second reader is on.
    pub reader: Option<String>,
    /// The desktop session is locked: nothing on the page is armed.
    pub locked: bool,
    /// Why no decision is taken at the moment; none when decisions are taken.
    pub read_only: Option<String>,
    /// Name of the operator at this console.
    pub operator: Shown,
    /// Last characters of the operator's public key.
    pub operator_key_tail: String,
    /// The audit chain.
    pub audit: AuditView,
}

/// Since when the day counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TodayArgs {
    /// Midnight where the operator is, which only the page knows.
    #[ts(type = "number")]
    pub since_ms: i64,
}

/// What people decided today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TodayView {
    /// Decisions.
    #[ts(type = "number")]
    pub decided: u64,
    /// Half of the requests waited no longer; none when there is none.
    #[ts(type = "number | null")]
    pub waiting_ms: Option<i64>,
    /// Half of the cards that were decided in this console's window were no longer in front and armed; none when
    /// there is none.
    #[ts(type = "number | null")]
    pub front_ms: Option<i64>,
    /// No more requests than these are looked at, the newest that people decided.
    pub newest: u32,
}

/// The server's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerTime {
    /// Now.
    #[ts(type = "number")]
    pub server_ms: i64,
}

/// A command for a person to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ConnectCommand {
    /// What it does.
    pub label: String,
    /// The command, to be copied whole.
    pub command: String,
}

/// How to connect an agent to this console.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConnectHint {
    /// Address of the bus, without user and password.
    pub nats_url: String,
    /// Enrolment file for a local agent; none on an outside server.
    pub agent_json: Option<String>,
    /// This program and its data folder, as the beginning of a command.
    pub program: String,
    /// Commands that work on this machine unchanged.
    pub commands: Vec<ConnectCommand>,
}
