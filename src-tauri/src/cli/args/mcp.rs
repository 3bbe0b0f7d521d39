//! Flags of the commands that speak MCP.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use countersign_wire::Risk;

use super::hook::risk;

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Enrolment file [env: COUNTERSIGN_AGENT_JSON] [default: that of the agent `claude-code` in the data folder, else of
    /// `local`].
    #[arg(long, value_name = "FILE")]
    pub(crate) agent_json: Option<PathBuf>,
    /// Seconds to wait for an answer, at most 30 days.
    #[arg(long, value_name = "S", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..=2_592_000))]
    pub(crate) timeout: u64,
}

#[derive(Debug, Args)]
pub(crate) struct McpProxy {
    /// What the server is called on cards [default: the last path element of the command].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Enrolment file [env: COUNTERSIGN_AGENT_JSON] [default: that of the agent `local` in the data folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) agent_json: Option<PathBuf>,
    /// Tools that ask; `*`, `?` and `[…]` as in a shell [default: all].
    #[arg(long, value_name = "GLOB")]
    pub(crate) ask: Vec<String>,
    /// Tools that do not ask, even if `--ask` matches them.
    #[arg(long, value_name = "GLOB")]
    pub(crate) unasked: Vec<String>,
    /// Risk of tools: safe, low, medium, high or critical; the first match counts [default: critical].
    #[arg(long, value_name = "GLOB=WORD", value_parser = risk)]
    pub(crate) risk: Vec<(String, Risk)>,
    /// Seconds to wait for an answer, at most 30 days.
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=2_592_000))]
    pub(crate) timeout: u64,
    /// Seconds after which a call returns while its request keeps waiting; the same call again gets the answer
    /// [default: calls wait until they are answered].
    #[arg(long, value_name = "S", requires = "name", value_parser = clap::value_parser!(u64).range(1..=2_592_000))]
    pub(crate) hold: Option<u64>,
    /// Variables that make the server another one, such as its database: a call that `--hold` keeps is for their values.
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) env: Vec<String>,
    /// Who fills in the forms of the server.
    #[arg(long, value_enum, default_value_t = Elicitation::Console)]
    pub(crate) elicitation: Elicitation,
    /// A server over streamable HTTP, instead of a command [env: COUNTERSIGN_MCP_URL].
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// A header to send with every request to it.
    #[arg(long, value_name = "K=V", conflicts_with = "command", value_parser = header)]
    pub(crate) header: Vec<(String, String)>,
    /// Serve clients over streamable HTTP at `/mcp`, instead of standard input and output; port 0 picks a free one.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Allow an address that other machines can reach.
    #[arg(long, requires = "listen")]
    pub(crate) allow_remote: bool,
    /// The server's command.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Elicitation {
    /// A person at the console: the form is a card.
    Console,
    /// The client: the form is relayed.
    Client,
}

fn header(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').ok_or("write it as K=V")?;
    Ok((parts.0.to_owned(), parts.1.to_owned()))
}
