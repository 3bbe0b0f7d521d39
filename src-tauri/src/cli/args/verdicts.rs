//! The flags of the verdicts.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Id;

#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    pub(crate) id: Id,
    /// Approve these arguments instead: JSON as `{…}`, a JSON file, or `-` for standard input.
    #[arg(long, value_name = "JSON|FILE|-")]
    pub(crate) args: Option<String>,
    /// For the agent; `-` reads standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) message: Option<String>,
    /// Refuse unless the stored arguments have this digest.
    #[arg(long, value_name = "D")]
    pub(crate) digest: Option<String>,
    /// How far you mean the approval to reach. It is only recorded: the next call still asks.
    #[arg(long, value_enum, default_value_t = Scope::Once)]
    pub(crate) scope: Scope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    Once,
    Session,
    Always,
}

#[derive(Debug, Args)]
pub(crate) struct Deny {
    #[command(flatten)]
    pub(crate) id: Id,
    /// Why, or what to do instead, for the agent; `-` reads standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) message: String,
    /// Also end the agent's run. If the agent does not support that, the call is only denied.
    #[arg(long)]
    pub(crate) terminate: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Verdict {
    #[command(flatten)]
    pub(crate) id: Id,
    /// For the agent; `-` reads standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Respond {
    #[command(flatten)]
    pub(crate) id: Id,
    #[command(flatten)]
    pub(crate) answer: Answer,
    /// Key of the option that was chosen.
    #[arg(long, value_name = "KEY")]
    pub(crate) selected_key: Option<String>,
    /// For the agent; `-` reads standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Answer {
    /// The answer as text; `-` reads standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) content: Option<String>,
    /// The answer as a JSON file; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) json_content: Option<PathBuf>,
}
