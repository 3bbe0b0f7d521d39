//! A store of any size, the same for the same seed, and the time in which its screens are read.
//!
//! `countersign-seed fill` writes it through the row code of the product; `countersign-seed measure` prints
//! figures as JSON.

mod chance;
mod fill;
mod judgement;
mod measure;
mod request;
mod rules;
mod span;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// As the program has it.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(about = "A seeded store of any size, and the time in which its screens are read")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a store in an empty folder
    Fill(FillArgs),
    /// Read it as the screens do
    Measure(MeasureArgs),
    /// Judge by many rules: single calls, and a simulation over the store
    Rules(rules::RulesArgs),
    /// Look at the calls of the sets, and at long ones
    Judgement(judgement::JudgementArgs),
}

/// What to make.
#[derive(Debug, Clone, Args)]
pub(crate) struct FillArgs {
    /// An empty folder, or a new one
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// Requests
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) requests: u64,
    /// Spans of each request's trace, but for one trace of 10,000
    #[arg(long, default_value_t = 5)]
    pub(crate) spans: u64,
    /// The same seed makes the same store, but for keys, ids of the console and the present
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// What to read.
#[derive(Debug, Clone, Args)]
pub(crate) struct MeasureArgs {
    /// A folder that `fill` made
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// Measure the start of this program `countersign` too
    #[arg(long)]
    pub(crate) console: Option<PathBuf>,
    /// Times that each thing is read
    #[arg(long, default_value_t = 20)]
    pub(crate) rounds: usize,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let figures = match Cli::parse().command {
        Command::Fill(args) => fill::run(&args).await?,
        Command::Measure(args) => measure::run(&args).await?,
        Command::Rules(args) => rules::run(&args).await?,
        Command::Judgement(args) => judgement::run(&args)?,
    };
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}
