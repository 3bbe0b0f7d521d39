//! Arguments of `connect` and `disconnect`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::hook::Asks;

#[derive(Debug, Args)]
pub(crate) struct Connect {
    /// claude-code, codex, gemini, cursor, copilot, opencode, mcp, or a framework such as pydantic-ai.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) place: ConfigTarget,
    /// Agent to ask as [default: `default/NAME`].
    #[arg(long, value_name = "WS/NAME")]
    pub(crate) agent: Option<String>,
    /// Ask about every call, or only where the program itself would ask (Claude Code).
    #[arg(long, value_enum, default_value_t = Mode::Gate)]
    pub(crate) mode: Mode,
    #[command(flatten)]
    pub(crate) asks: Asks,
    /// Replace the login of an agent that was enrolled into a file elsewhere; that file ends.
    #[arg(long)]
    pub(crate) force: bool,
    /// Leave out the other hooks of the program when the gate is checked at the end.
    #[arg(long)]
    pub(crate) no_others: bool,
    /// End the turn while a call waits that no rule answers (Claude Code with `-p`).
    #[arg(long)]
    pub(crate) defer: bool,
    /// Print the resulting file and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Disconnect {
    /// claude-code, codex, gemini, cursor, copilot, opencode or mcp.
    #[arg(required_unless_present = "all")]
    pub(crate) name: Option<String>,
    /// Remove them from every settings file that `connect` wrote into.
    #[arg(long, conflicts_with_all = ["name", "scope", "file", "server"])]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) place: ConfigTarget,
    /// Print the resulting file, or with --all the names of the files, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Which file is changed.
#[derive(Debug, Args)]
pub(crate) struct ConfigTarget {
    /// Settings to change: yours, this project's, or your local ones for this project (Claude Code).
    #[arg(long, value_enum, default_value_t = Scope::User)]
    pub(crate) scope: Scope,
    /// The MCP configuration.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Only these servers of the MCP configuration.
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    User,
    Project,
    Local,
}

countersign_wire::words!(Scope { User => "user", Project => "project", Local => "local" });

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Gate,
    Prompt,
}
