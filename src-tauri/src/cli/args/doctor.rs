//! Arguments of `doctor` and `status`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Print nothing: exit with 0 only while a console runs on this folder, is connected and has read everything.
    ///
    /// Else with 7 and one word on standard error: no_console, bus_disconnected, catching_up or read_only.
    #[arg(long)]
    pub(crate) ready: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Try the bus with this agent's enrolment [default: those in the data folder].
    #[arg(long, value_name = "FILE", conflicts_with = "gate")]
    pub(crate) agent_json: Option<PathBuf>,
    /// Also send a test event to the receiver of each feed.
    #[arg(long, conflicts_with = "gate")]
    pub(crate) feeds: bool,
    /// Check instead that the gate of a program denies a probe: claude-code, codex, gemini, cursor, copilot, opencode
    /// or mcp.
    ///
    /// Exits 0 only if it does.
    #[arg(long, value_name = "NAME")]
    pub(crate) gate: Option<String>,
    /// The program's settings [default: those that it reads in this folder; for mcp: .mcp.json].
    #[arg(long, value_name = "FILE", requires = "gate")]
    pub(crate) file: Option<PathBuf>,
    /// The server of an MCP configuration [default: each].
    #[arg(long, value_name = "NAME", requires = "gate")]
    pub(crate) server: Option<String>,
    /// Leave out the other hooks of the program: when they are tried, they act. The gate then counts as unproven.
    #[arg(long, requires = "gate")]
    pub(crate) no_others: bool,
    /// Start the program once with your own login, ask it to create a file, and deny that call.
    #[arg(long, requires = "gate")]
    pub(crate) run: bool,
}
