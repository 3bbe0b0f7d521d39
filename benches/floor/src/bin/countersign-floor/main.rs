//! The floor of the bench: nats-server, async-nats and SQLite without any code of the product.
//!
//! Refuses to do less than the product's pipeline must: every request is on a write-once stream and
//! in a committed row with an audit row and the stream position before its write-once decision.

mod console;
mod store;

use clap::{Parser, Subcommand};
use countersign_load::{ConsoleArgs, RoundArgs};

#[derive(Parser)]
#[command(about = "The floor of the bench")]
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
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Console(args) => console::run(&args).await,
        Command::Round(args) => {
            let figures = countersign_load::run(&args).await?;
            println!("{}", serde_json::to_string(&figures)?);
            Ok(())
        }
    }
}
