//! Arguments of `rules`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use countersign_core::policy::import::Source;

#[derive(Debug, Subcommand)]
pub(crate) enum Rules {
    /// List the workspace's rules with how often each decided.
    List,
    /// Show one rule in full.
    Show {
        /// Its id.
        id: String,
    },
    /// Check a rule file; nothing is changed.
    Check {
        /// TOML; `-` reads standard input.
        file: PathBuf,
    },
    /// Replace the workspace's rules with those of a file, and show what changed.
    Apply {
        /// TOML; `-` reads standard input. `version` is counted by the console.
        file: PathBuf,
        #[command(flatten)]
        accept: AcceptFile,
    },
    /// Remove one rule.
    Remove {
        /// Its id.
        id: String,
        #[command(flatten)]
        accept: Accept,
    },
    /// Turn one rule on.
    Enable {
        /// Its id.
        id: String,
        #[command(flatten)]
        accept: Accept,
    },
    /// Turn one rule off; it stays in the set.
    Disable {
        /// Its id.
        id: String,
        #[command(flatten)]
        accept: Accept,
    },
    /// Report that a decision by a rule, a setup key or a bypass was wrong: it is suspended. The decision stays
    /// final.
    Regret {
        /// The request: `ID` or `WS/AGENT/ID`.
        #[arg(value_name = "ID")]
        id: String,
        /// Why, for the other operators; `-` reads standard input.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Go ahead even if the rules would have approved calls that a person denied.
        #[arg(long)]
        accept_flips: bool,
    },
    /// Read rules from the policy of another system, and list what could not be carried over.
    Import(ImportRules),
    /// Suggest rules for what people approved at least 5 times in 30 days and nobody denied.
    Suggest,
    /// Show what the rules of a file would have done with past requests.
    Simulate {
        /// TOML; `-` reads standard input.
        file: PathBuf,
        /// Requests stored at or after: RFC 3339, a date, or an age such as 30m, 12h, 7d.
        #[arg(long, value_name = "T")]
        since: Option<String>,
    },
}

/// What may follow from a change of the rules.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Accept {
    /// Go ahead even if your key's limits, or the previous signer's, change what other rules approve.
    #[arg(long)]
    pub(crate) accept_limits: bool,
    /// Go ahead even if the rules would have approved calls that a person denied.
    #[arg(long)]
    pub(crate) accept_flips: bool,
    /// Go ahead even if this approves calls that are still waiting.
    #[arg(long)]
    pub(crate) accept_waiting: bool,
}

/// What may follow from a file of rules.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct AcceptFile {
    #[command(flatten)]
    pub(crate) change: Accept,
    /// Go ahead even if this turns a rule back on that a person reported as wrong.
    #[arg(long)]
    pub(crate) accept_regrets: bool,
}

impl From<Accept> for AcceptFile {
    fn from(change: Accept) -> Self {
        Self {
            change,
            accept_regrets: false,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ImportRules {
    /// Whose policy it is.
    #[arg(long, value_enum)]
    pub(crate) from: ImportFrom,
    /// A policy of selectools (YAML or JSON), or settings files of Claude Code that count together (user, project,
    /// local); `-` reads standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Only for agents whose name matches; can be given several times.
    #[arg(long, value_name = "GLOB")]
    pub(crate) agent: Vec<String>,
    /// Add the rules to the workspace's own; without this flag nothing is changed.
    #[arg(long)]
    pub(crate) apply: bool,
    #[command(flatten)]
    pub(crate) accept: AcceptFile,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFrom {
    Selectools,
    ClaudeCode,
}

impl ImportFrom {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Selectools => "selectools",
            Self::ClaudeCode => "claude-code",
        }
    }
}

impl From<ImportFrom> for Source {
    fn from(from: ImportFrom) -> Self {
        match from {
            ImportFrom::Selectools => Self::Selectools,
            ImportFrom::ClaudeCode => Self::ClaudeCode,
        }
    }
}
