//! A whole run: a round with two consoles on an outside bus, and one with a console's own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::json;

use crate::child::die_with_parent;
use crate::fault::Kind;
use crate::report::RoundReport;
use crate::round::{self, Bus, Round};
use crate::{checks, ground};

/// Part of the time that the round with two consoles takes.
const OUTSIDE_PART: f64 = 0.65;

/// Arguments of the command `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The program `countersign`
    #[arg(long)]
    program: PathBuf,
    /// Where logs and stores go; a folder of the seed's name is made in it
    #[arg(long)]
    folder: PathBuf,
    /// What the order of faults comes from; a new one if absent
    #[arg(long)]
    seed: Option<u64>,
    /// Seconds of faults, in all
    #[arg(long, default_value_t = 120.0)]
    seconds: f64,
    /// Questions that each agent has open at a time
    #[arg(long, default_value_t = 8)]
    lanes: u64,
    /// Only the round with this bus
    #[arg(long, value_parser = ["outside", "embedded"])]
    only: Option<String>,
    /// Only faults of these kinds
    #[arg(long, value_enum, value_delimiter = ',')]
    kinds: Vec<Kind>,
    /// The process has mount and network namespaces of its own
    #[arg(long)]
    isolated: bool,
    /// Keep the folder also when every promise held
    #[arg(long)]
    keep: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs; whether every promise held.
pub(crate) async fn run(args: &RunArgs) -> anyhow::Result<bool> {
    die_with_parent()?;
    ensure!(args.seconds > 0.0, "no time for faults");
    if args.isolated {
        ground::prepare_namespace().await?;
    }
    let seed = args
        .seed
        .unwrap_or_else(|| rand::random_range(0..1_000_000));
    let isolation = if args.isolated {
        "with namespaces"
    } else {
        "without namespaces: no disks and networks of its own"
    };
    eprintln!(
        "chaos: seed {seed}, {} s of faults, {isolation}",
        args.seconds
    );
    let folder = args.folder.join(seed.to_string());
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    let rounds: Vec<(Bus, &'static str, f64)> = [
        (Bus::Outside, "outside", OUTSIDE_PART),
        (Bus::Embedded, "embedded", 1.0 - OUTSIDE_PART),
    ]
    .into_iter()
    .filter(|(_, name, _)| args.only.as_deref().is_none_or(|only| only == *name))
    .collect();
    let parts: f64 = rounds.iter().map(|(.., part)| part).sum();
    let mut reports = Vec::new();
    for (bus, name, part) in rounds {
        let here = folder.join(name);
        let round = Round {
            bus,
            seed,
            time: Duration::from_secs_f64(args.seconds * part / parts),
            folder: &here,
            program: &args.program,
            isolated: args.isolated,
            lanes: args.lanes,
            kinds: &args.kinds,
        };
        eprintln!("chaos: round {name}, {:.0} s", round.time.as_secs_f64());
        let outcome = round::run(&round).await;
        let outcome = outcome.with_context(|| kept(seed, &folder))?;
        let checks = checks::all(&outcome.facts);
        let report = RoundReport::new(name, &outcome, checks);
        if !report.sound() || args.keep {
            std::fs::write(here.join("report.json"), report.json().to_string())?;
            ground::keep(&here, args.isolated).await?;
        }
        reports.push(report);
    }
    let sound = reports.iter().all(RoundReport::sound);
    if args.json {
        let rounds: Vec<_> = reports.iter().map(RoundReport::json).collect();
        let isolated = args.isolated;
        println!(
            "{}",
            json!({ "seed": seed, "seconds": args.seconds, "isolated": isolated, "sound": sound, "rounds": rounds })
        );
    } else {
        for report in &reports {
            print!("{}", report.text());
        }
    }
    if !sound {
        eprintln!("chaos: {}", kept(seed, &folder));
    } else if !args.keep {
        clear(&folder).await;
    }
    Ok(sound)
}

fn kept(seed: u64, folder: &Path) -> String {
    format!(
        "a promise was broken with seed {seed}; logs and journals are in {}",
        folder.display()
    )
}

/// Mounted disks stay until the namespace is gone; what lies below them goes then.
async fn clear(folder: &Path) {
    // What cannot be removed now is overwritten by the next run with this seed.
    let _ = std::fs::remove_dir_all(folder);
}
