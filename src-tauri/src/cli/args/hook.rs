//! Arguments of `hook`, and those of which calls ask, which others share.

use std::path::PathBuf;

use clap::{Args, ValueEnum as _};
use countersign_hooks::{Phase, Program};
use countersign_wire::Risk;

#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// claude-code, codex, gemini, cursor, copilot or opencode.
    #[arg(value_parser = program)]
    pub(crate) program: Program,
    /// What the entry is for: before, after or end; another event is never a yes.
    #[arg(long, value_name = "WORD", value_parser = phase, overrides_with = "event")]
    pub(crate) event: Option<Phase>,
    /// The entry's name: another entry that asks about the same call gets the same answer.
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    /// Enrolment file [env: COUNTERSIGN_AGENT_JSON] [default: that of `default/PROGRAM` in the data folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) agent_json: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) asks: Asks,
    /// Wait 2 s for a rule, then end the turn while the call waits (Claude Code with `-p`).
    #[arg(long)]
    pub(crate) defer: bool,
}

/// Which calls ask, and for how long.
#[derive(Debug, Clone, Args)]
pub(crate) struct Asks {
    /// Globs of tool names that ask; repeatable [default: *].
    #[arg(long, value_name = "GLOB")]
    pub(crate) ask: Vec<String>,
    /// Globs of tool names that do not ask [default: for Claude Code, the tools that only read].
    #[arg(long, value_name = "GLOB")]
    pub(crate) unasked: Vec<String>,
    /// Risk of tools; the first match counts [default: high].
    #[arg(long, value_name = "GLOB=WORD", value_parser = risk)]
    pub(crate) risk: Vec<(String, Risk)>,
    /// Seconds that a person has to answer, at most 30 days.
    #[arg(long, value_name = "S", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..=2_592_000))]
    pub(crate) timeout: u64,
}

pub(crate) fn program(word: &str) -> Result<Program, String> {
    let known = Program::ALL.iter().find(|program| program.name() == word);
    known
        .copied()
        .ok_or_else(|| format!("use one of {}", Program::ALL.map(Program::name).join(", ")))
}

fn phase(word: &str) -> Result<Phase, String> {
    Phase::named(word).ok_or_else(|| "use before, after or end".to_owned())
}

pub(super) fn risk(text: &str) -> Result<(String, Risk), String> {
    let wrong = || "use GLOB=WORD with safe, low, medium, high or critical".to_owned();
    let (glob, word) = text.rsplit_once('=').ok_or_else(wrong)?;
    let risk = super::Risk::from_str(word, false).map_err(|_| wrong())?;
    Ok((glob.to_owned(), risk.into()))
}
