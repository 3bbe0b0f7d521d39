//! What `ask` takes.

use std::path::PathBuf;

use clap::Args;
use countersign_wire::ToolOrigin;

use super::Risk;

const ASK_EXITS: &str = "\
Exit codes: 0 approved or modified, then the arguments that may run are printed; 5 expired;
7 the bus cannot be reached, or could not be read at the deadline; 2 no usable agent.json or wrong usage; 6 the request was rejected; 1 everything
else: denied, skipped, answered instead of run, escalated, withdrawn, or a decision that does not verify.
Ctrl+C withdraws the request, unless it has a key.";

#[derive(Debug, Args)]
#[command(after_help = ASK_EXITS)]
pub(crate) struct Ask {
    /// Name of the tool to be called.
    #[arg(long)]
    pub(crate) tool: String,
    /// The arguments as JSON; `-` reads standard input.
    #[arg(
        long,
        value_name = "JSON|-",
        default_value = "{}",
        allow_hyphen_values = true
    )]
    pub(crate) args: String,
    /// How dangerous the call is.
    #[arg(long, value_enum, default_value_t = Risk::Medium)]
    pub(crate) risk: Risk,
    /// Why, in the agent's words.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) explain: Option<String>,
    /// Seconds to wait for the answer, at most 30 days.
    #[arg(long, value_name = "S", default_value_t = 900, value_parser = clap::value_parser!(u64).range(1..=2_592_000))]
    pub(crate) timeout: u64,
    /// The same key with the same call waits for the same request, also after this process was killed; an answer is
    /// printed once.
    #[arg(long, value_name = "K")]
    pub(crate) key: Option<String>,
    /// The caller's own id of the call.
    #[arg(long, value_name = "ID")]
    pub(crate) call_id: Option<String>,
    /// The caller's own id of its conversation.
    #[arg(long, value_name = "ID")]
    pub(crate) thread: Option<String>,
    /// Where the tool comes from: local, provider_defined, hosted, mcp or marketplace.
    #[arg(long, value_name = "O", value_parser = origin)]
    pub(crate) origin: Option<ToolOrigin>,
    /// File with the JSON Schema of the arguments.
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Enrolment file [env: COUNTERSIGN_AGENT_JSON] [default: that of the agent `local` in the data folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) agent_json: Option<PathBuf>,
}

fn origin(word: &str) -> Result<ToolOrigin, String> {
    ToolOrigin::from_word(word).ok_or_else(|| {
        let words: Vec<_> = ToolOrigin::ALL.iter().map(|of| of.as_str()).collect();
        format!("use one of {}", words.join(", "))
    })
}
