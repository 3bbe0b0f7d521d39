//! The project's own tasks: `cargo xtask <task>`.
//!
//! It installs nothing: `scripts/setup.sh` does that.

mod bench;
mod chaos;
mod codegen;
mod seed;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own tasks")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Measure the product beside the floor program
    Bench(bench::BenchArgs),
    /// Break everything in random order under load, and check that the promises hold
    Chaos(chaos::ChaosArgs),
    /// Write the files that are generated from the Rust types
    Codegen {
        /// Write nothing; fail when a file differs
        #[arg(long)]
        check: bool,
    },
    /// Make a store with a million requests, and measure how it is read
    Seed(seed::SeedArgs),
    /// Check the rules of direction, file sizes, names and migrations
    Tidy {
        /// Add migrations that are not on the checksum list yet
        #[arg(long)]
        record_migrations: bool,
    },
}

fn main() -> ExitCode {
    let done = match Cli::parse().task {
        Task::Bench(args) => bench::run(&args),
        Task::Chaos(args) => chaos::run(&args),
        Task::Codegen { check } => codegen::run(check),
        Task::Seed(args) => seed::run(&args),
        Task::Tidy { record_migrations } => tidy::run(record_migrations),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
