//! HTTP for agents.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The gateway, or its tokens.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Gateway {
    #[command(subcommand)]
    pub(crate) what: Option<GatewayTokens>,
    #[command(flatten)]
    pub(crate) run: GatewayRun,
}

/// How the gateway runs.
#[derive(Debug, Args)]
pub(crate) struct GatewayRun {
    /// The login of an agent, for each one that asks through the gateway [env: COUNTERSIGN_AGENT_JSON].
    #[arg(long, value_name = "FILE")]
    pub(crate) agent_json: Vec<PathBuf>,
    /// Where to listen, or `off`. Beyond loopback it needs --tls-cert and --tls-key.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4788")]
    pub(crate) listen: String,
    /// Listen on a socket of the file system too.
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) folder: GatewayFolder,
    /// A further host name under which clients reach the gateway.
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// An origin that callbacks may go to, such as https://n8n.example.org.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) callback: Vec<String>,
    /// Listen beyond loopback without TLS: tokens and arguments can be read on the way.
    #[arg(long)]
    pub(crate) allow_plain_text: bool,
}

/// Where tokens and asks are.
#[derive(Debug, Args)]
pub(crate) struct GatewayFolder {
    /// The folder of tokens and asks [default: `gateway` in the state folder of hooks].
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// The tokens of agents.
#[derive(Debug, Subcommand)]
pub(crate) enum GatewayTokens {
    /// Make a token for an agent. It is printed once.
    Token {
        /// The login of the agent.
        #[arg(long, value_name = "FILE")]
        agent_json: PathBuf,
        /// The token's name.
        #[arg(long, value_name = "NAME")]
        name: String,
        #[command(flatten)]
        folder: GatewayFolder,
    },
    /// List the tokens.
    Tokens {
        #[command(flatten)]
        folder: GatewayFolder,
    },
    /// End a token, also in a running gateway.
    Revoke {
        /// The token's name.
        name: String,
        #[command(flatten)]
        folder: GatewayFolder,
    },
}
