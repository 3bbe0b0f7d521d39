//! The fault runner. `cargo xtask chaos` builds it, gives it namespaces of its own where the system
//! allows that, and runs `countersign-chaos run`.
//!
//! A run is sound only if every check was made. Every process that it starts dies with the one that started it.

mod agent;
mod bus;
mod checks;
mod child;
mod console;
mod facts;
mod fault;
mod grants;
mod ground;
mod journal;
mod operator;
mod process;
mod proxy;
mod report;
mod round;
mod run;
mod settle;
mod store;
mod world;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Agents under load while consoles and the bus fail in random order")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// A whole run: set up, break, heal, check
    Run(run::RunArgs),
    /// An agent that asks and writes down what it did
    Agent(agent::AgentArgs),
    /// An operator who decides what waits
    Operator(operator::OperatorArgs),
    /// Runs a command that dies with whoever started this one
    Child(child::ChildArgs),
    /// Runs a command as the first process of a process namespace
    Init(child::ChildArgs),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|_| "warn".into()))
        .with_writer(std::io::stderr)
        .init();
    let done = match Cli::parse().command {
        Command::Run(args) => run::run(&args).await,
        Command::Agent(args) => agent::run(args).await.map(|()| true),
        Command::Operator(args) => operator::run(args).await.map(|()| true),
        Command::Child(args) => child::become_it(&args).map(|()| true),
        Command::Init(args) => child::init(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("chaos: {error:#}");
            ExitCode::FAILURE
        }
    }
}
