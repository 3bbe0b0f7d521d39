//! What the floors of the bench have in common: a nats-server, its two write-once streams and how they are read.

pub mod decision;
pub mod read;
pub mod server;
pub mod streams;

use std::io::Write;

use clap::{Parser, Subcommand};
use countersign_load::{ConsoleArgs, Login, Ready, RoundArgs};

use crate::server::Server;

/// A floor's arguments.
#[derive(Debug, Parser)]
#[command(about = "A floor of the bench")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// One round of all phases
    Round(RoundArgs),
    /// The console that a round starts
    Console(ConsoleArgs),
}

/// Does what the arguments say: a round, or the console of one.
pub async fn main(
    console: impl AsyncFnOnce(&ConsoleArgs) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Console(args) => console(&args).await,
        Command::Round(args) => {
            let figures = countersign_load::run(&args).await?;
            println!("{}", serde_json::to_string(&figures)?);
            Ok(())
        }
    }
}

/// Starts the server and makes its streams.
pub async fn bus(args: &ConsoleArgs) -> anyhow::Result<(Server, async_nats::Client)> {
    let server = Server::start(&args.data).await?;
    let client = async_nats::connect(&server.url).await?;
    streams::create(&async_nats::jetstream::new(client.clone())).await?;
    Ok((server, client))
}

/// The ready line of a console whose agents need no login.
#[must_use]
pub fn ready(args: &ConsoleArgs, server: &Server) -> Ready {
    let agents = (0..args.agents).map(|number| Login {
        nats_url: server.url.clone(),
        workspace: "bench".to_owned(),
        agent: format!("agent-{number}"),
        nkey_seed: None,
        inbox_prefix: None,
    });
    Ready {
        agents: agents.collect(),
    }
}

/// Prints one line of JSON for the driver of the round.
pub fn tell(line: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, line)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}
