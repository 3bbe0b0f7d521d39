//! Arguments of `bypass`.

use clap::{Args, Subcommand};

use super::Agent;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Bypass {
    #[command(subcommand)]
    pub(crate) end: Option<EndBypass>,
    /// `WS/AGENT`, or `AGENT` in the default workspace.
    #[arg(value_name = "WS/AGENT", required = true)]
    pub(crate) agent: Option<String>,
    /// The highest risk that runs without asking; critical calls always ask.
    #[arg(long, value_name = "RISK", required = true, value_parser = ["safe", "low", "medium", "high"])]
    pub(crate) up_to: Option<String>,
    /// For how long, at most 8h: 90s, 30m, 1h.
    #[arg(long = "for", value_name = "TIME", required = true)]
    pub(crate) lasting: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EndBypass {
    /// End a bypass early. An agent named `off` is written `WS/off`.
    Off(Agent),
}
