//! The bridges to systems that have a bus of their own.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// A bridge to another system.
#[derive(Debug, Subcommand)]
pub(crate) enum Bridge {
    /// The bridge to CommonGround v1r4.
    #[command(subcommand)]
    Commonground(Commonground),
}

/// What the bridge to CommonGround does.
#[derive(Debug, Subcommand)]
pub(crate) enum Commonground {
    /// Run the bridge until SIGTERM or SIGINT; nothing is withdrawn then.
    Run(BridgeFile),
    /// Read the file, log in to both buses, look for the streams and the HTTP API.
    Check(BridgeFile),
    /// List every command that was stored, newest first.
    List {
        #[command(flatten)]
        file: BridgeFile,
        /// Only those in this state, such as `asked` or `forwarded`.
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
    },
    /// Print a tool's YAML with the gate in front of the tool.
    Register(Register),
}

/// Where the configuration is.
#[derive(Debug, Args)]
pub(crate) struct BridgeFile {
    /// The configuration (TOML).
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
}

/// A tool to guard.
#[derive(Debug, Args)]
pub(crate) struct Register {
    /// The tool's own YAML.
    pub(crate) tool: PathBuf,
    #[command(flatten)]
    pub(crate) file: BridgeFile,
    /// CommonGround's id of the project.
    #[arg(long, value_name = "ID")]
    pub(crate) project: String,
    /// How long CommonGround is to wait for an answer, in seconds.
    #[arg(long, value_name = "S")]
    pub(crate) suspend_timeout: Option<u64>,
    /// Send the guarded tool to CommonGround too.
    #[arg(long)]
    pub(crate) push: bool,
}
