//! `cargo xtask seed`: a store of any size, the same for the same seed, and the time in which it is read.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;
use clap::Args;

/// Arguments of the task.
#[derive(Debug, Args)]
pub(crate) struct SeedArgs {
    /// A new folder for the store
    #[arg(long)]
    data: PathBuf,
    /// Requests
    #[arg(long, default_value_t = 1_000_000)]
    requests: u64,
    /// Spans of each request's trace, but for one trace of 10,000
    #[arg(long, default_value_t = 5)]
    spans: u64,
    /// The same seed makes the same requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Read it as the screens do afterwards, and start a console on it
    #[arg(long)]
    measure: bool,
}

/// Builds the program that does it, and runs it.
///
/// # Errors
/// When something broke, or the folder has a store already.
pub(crate) fn run(args: &SeedArgs) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()?;
    let target = crate::bench::build(&root, &["countersign-seed", "countersign"])?;
    let program = target.join("release/countersign-seed");
    let mut fill = Command::new(&program);
    fill.arg("fill").arg("--data").arg(&args.data);
    for (flag, value) in [
        ("--requests", args.requests),
        ("--spans", args.spans),
        ("--seed", args.seed),
    ] {
        fill.args([flag, &value.to_string()]);
    }
    done(&mut fill)?;
    if args.measure {
        let mut measure = Command::new(&program);
        measure.arg("measure").arg("--data").arg(&args.data);
        measure
            .arg("--console")
            .arg(target.join("release/countersign"));
        done(&mut measure)?;
    }
    Ok(())
}

fn done(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status()?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}
