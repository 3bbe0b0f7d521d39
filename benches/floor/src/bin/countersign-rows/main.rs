//! The floor with the product's rows: what the agreed tables cost with no code of the product around them.
//!
//! Refuses to check anything, to sign, to hash, to read a request and to wait for the disk: what it loses to the
//! floor, it loses to the tables alone.

mod console;
mod store;

use clap::{Parser, Subcommand};
use countersign_load::{ConsoleArgs, RoundArgs};

#[derive(Parser)]
#[command(about = "The floor of the bench with the product's rows")]
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
