//! A sentence with a fact about one place in the arguments.

use serde::{Deserialize, Serialize};

/// How wrong it usually is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(
    feature = "typescript",
    derive(ts_rs::TS),
    ts(rename = "FindingWeight")
)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Nearly always wrong: nothing automatic approves it.
    Stop,
    /// Marked, nothing else.
    Look,
}

/// What was found; the strongest first within a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// One or two letters from a known host, mail domain or account.
    NearMiss,
    /// A payee with another account than always.
    PairBroken,
    /// A person denied it before.
    DeniedBefore,
    /// Decides or changes something of the console itself, or of its own files.
    ChangesCountersign,
    /// Starts an agent in a way in which its calls ask nobody.
    UngatedAgent,
    /// Download or decoded text goes into an interpreter.
    RunsWhatItFetches,
    /// Removes, overwrites or formats without return.
    DestructiveCommand,
    /// Drops, truncates, changes every row.
    DestructiveSql,
    /// A file, the environment or a credential goes to a host.
    SendsOut,
    /// Gives rights to everybody.
    OpensRights,
    /// Writes what runs later on its own.
    Persists,
    /// A number whose check digits are wrong.
    BadChecksum,
    /// An address made to mislead, or of the metadata service.
    RiskyAddress,
    /// Contains what earlier calls named, and more.
    Wider,
    /// An amount far above the largest so far.
    Beyond,
    /// A value never seen where few were.
    NewValue,
    /// An argument that no earlier call had.
    NewArgument,
    /// A check is switched off.
    SafeguardOff,
    /// Production where another place was named before.
    ReachesProduction,
    /// It is unknown what the statement does.
    UnreadableSql,
    /// It is unknown what the command does.
    UnreadableCommand,
    /// Asks the approver not to check.
    Presses,
    /// Two values of the call do not go together.
    Disagrees,
    /// A part of a text cannot be seen, or is not what it looks like.
    HiddenText,
    /// Gives orders to agents that will read it.
    InstructsAgents,
    /// The agent says something else than the arguments.
    ClaimDiffers,
    /// An earlier call did it.
    DoneBefore,
}

countersign_wire::words!(Code {
    NearMiss => "near_miss", PairBroken => "pair_broken", DeniedBefore => "denied_before",
    ChangesCountersign => "changes_countersign", UngatedAgent => "ungated_agent",
    RunsWhatItFetches => "runs_what_it_fetches", DestructiveCommand => "destructive_command",
    DestructiveSql => "destructive_sql", SendsOut => "sends_out", OpensRights => "opens_rights",
    Persists => "persists", BadChecksum => "bad_checksum", RiskyAddress => "risky_address",
    Wider => "wider", Beyond => "beyond", NewValue => "new_value", NewArgument => "new_argument",
    SafeguardOff => "safeguard_off", ReachesProduction => "reaches_production",
    UnreadableSql => "unreadable_sql", UnreadableCommand => "unreadable_command",
    Presses => "presses", Disagrees => "disagrees", HiddenText => "hidden_text",
    InstructsAgents => "instructs_agents", ClaimDiffers => "claim_differs", DoneBefore => "done_before",
});

impl Code {
    /// Whether the console itself, or the gate of an agent, is concerned: nothing makes it usual, and a rule approves
    /// it only where its pattern writes the word (see [`written`](crate::written)).
    #[must_use]
    pub fn is_own(self) -> bool {
        matches!(self, Self::ChangesCountersign | Self::UngatedAgent)
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What kind.
    pub code: Code,
    /// How wrong it usually is.
    pub weight: Weight,
    /// JSON pointer to the innermost value concerned; empty for the whole call.
    pub at: String,
    /// English, escaped, with amounts as 12,490.00.
    pub message: String,
}

/// A hazard before the past had its say.
#[derive(Debug, Clone)]
pub(crate) struct Hazard {
    pub(crate) finding: Finding,
    /// What makes another one the same: program and options, path, statement shape or value.
    pub(crate) same: String,
}

impl Hazard {
    pub(crate) fn stop(code: Code, at: &str, same: impl Into<String>, message: String) -> Self {
        Self::new(code, Weight::Stop, at, same.into(), message)
    }

    pub(crate) fn look(code: Code, at: &str, same: impl Into<String>, message: String) -> Self {
        Self::new(code, Weight::Look, at, same.into(), message)
    }

    pub(crate) fn new(code: Code, weight: Weight, at: &str, same: String, message: String) -> Self {
        let at = at.to_owned();
        Self {
            finding: Finding {
                code,
                weight,
                at,
                message,
            },
            same,
        }
    }
}
