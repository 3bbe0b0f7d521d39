//! The product under the load of `countersign-load`: `countersign-bench round` prints the figures of
//! one round as JSON, `countersign-bench footprint` those of the installed programs.

mod beside;
mod console;
mod footprint;
mod gateway;
mod receiver;

use clap::{Parser, Subcommand};
use countersign_load::{ConsoleArgs, RoundArgs};

/// As the program has it.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(about = "The product under the load of the bench")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// One round of all phases
    Round(RoundArgs),
    /// The console that a round starts
    Console(ConsoleArgs),
    /// Start-up time and memory
    Footprint(footprint::FootprintArgs),
    /// What hooks, the MCP proxy and the gateway add
    Beside(beside::BesideArgs),
    /// The MCP server behind the proxy
    Answers,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|_| "warn".into()))
        .with_writer(std::io::stderr)
        .init();
    // A reading program is guarded by the program that asks it.
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if let [reader, guard, _, line @ ..] = words.as_slice()
        && (reader, guard) == (&"reader".into(), &"guard".into())
    {
        std::process::exit(countersign_reader::guard::run(line).into());
    }
    let figures = match Cli::parse().command {
        Command::Console(args) => return console::run(&args).await,
        Command::Answers => return beside::answers().await,
        Command::Beside(args) => beside::run(&args).await?,
        Command::Round(args) => countersign_load::run(&args).await?,
        Command::Footprint(args) => footprint::run(&args).await?,
    };
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}
