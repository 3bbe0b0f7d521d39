//! `cargo xtask bench`: the product and its floors under the same load, in turns, on one machine.
//!
//! It does not judge: a missed goal is printed, not an error. What could not be measured is said so.

mod large;
mod machine;
mod rows;
mod table;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use clap::Args;

/// Figures by name, of one program.
type Figures = BTreeMap<String, f64>;

/// Arguments of the task.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Rounds of each program; the median counts
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds of each throughput phase
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Requests of each latency phase
    #[arg(long, default_value_t = 200)]
    samples: usize,
    /// Requests of the large store, each with five spans; 0 for none
    #[arg(long, default_value_t = 20_000)]
    requests: u64,
    /// Seconds for which spans are sent over OTLP; 0 for none
    #[arg(long, default_value_t = 10)]
    span_seconds: u64,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// Builds the programs, runs them in turns and prints the figures.
///
/// # Errors
/// When something broke; never because a goal was missed.
pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<()> {
    ensure!(args.rounds > 0, "at least one round");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()?;
    let target = build(
        &root,
        &[
            "countersign-floor",
            "countersign-bench",
            "countersign-bench-spans",
            "countersign-seed",
            "countersign",
        ],
    )?;
    let data = target.join("bench");
    let mut floor = Vec::new();
    let mut rows = Vec::new();
    let mut product = Vec::new();
    let (mut with_reader, mut with_feed) = (Vec::new(), Vec::new());
    for round in 1..=args.rounds {
        let mut turns = [
            ("countersign-floor", None, &mut floor),
            ("countersign-rows", None, &mut rows),
            ("countersign-bench", None, &mut product),
            ("countersign-bench", Some("--reader"), &mut with_reader),
            ("countersign-bench", Some("--feed"), &mut with_feed),
        ];
        // Whoever comes second finds a warmer machine.
        if round % 2 == 0 {
            turns.reverse();
        }
        for (program, word, rounds) in turns {
            eprintln!("bench: round {round} of {}: {program}", args.rounds);
            rounds.push(figures(
                Command::new(target.join("release").join(program))
                    .arg("round")
                    .args(["--seconds", &args.seconds.to_string()])
                    .args(["--samples", &args.samples.to_string()])
                    .arg("--data")
                    .arg(&data)
                    .args(word),
            )?);
        }
    }
    let mut product = medians(product);
    let with_reader = medians(with_reader);
    product
        .extend((with_reader.into_iter()).map(|(name, value)| (format!("reader_{name}"), value)));
    for (name, value) in medians(with_feed) {
        if let Some(without) = product.get(&name).copied() {
            product.insert(format!("feed_{name}_percent"), 100.0 * value / without);
        }
        product.insert(format!("feed_{name}"), value);
    }
    let mut missing = footprint(&target, &data, &mut product)?;
    missing.extend(large::measure(&target, &data, args, &mut product)?);
    let mut floor = medians(floor);
    beside(&target, &data, &mut floor, &mut product)?;
    let report = table::Report {
        floor,
        rows: medians(rows),
        product,
        machine: machine::describe(),
        missing,
    };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report.json())?);
    } else {
        print!("{}", report.text());
    }
    Ok(())
}

/// Builds these packages in the release profile; the target folder.
pub(crate) fn build(root: &Path, packages: &[&str]) -> anyhow::Result<PathBuf> {
    eprintln!("bench: building the release programs");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "--quiet"])
        .args(packages.iter().flat_map(|package| ["-p", package]))
        .current_dir(root)
        .status()?;
    ensure!(status.success(), "the build failed");
    let metadata = cargo_metadata::MetadataCommand::new()
        .no_deps()
        .current_dir(root)
        .exec()?;
    Ok(metadata.target_directory.into())
}

/// Runs a program that prints its figures.
fn figures(command: &mut Command) -> anyhow::Result<Figures> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .context(program.clone())?;
    ensure!(
        output.status.success(),
        "{program} ended with {}",
        output.status
    );
    serde_json::from_slice(&output.stdout).with_context(|| format!("{program} printed no figures"))
}

fn medians(rounds: Vec<Figures>) -> Figures {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, value) in rounds.into_iter().flatten() {
        all.entry(name).or_default().push(value);
    }
    all.into_iter()
        .map(|(name, mut values)| {
            values.sort_by(f64::total_cmp);
            let middle = values[values.len() / 2];
            (name, middle)
        })
        .collect()
}

/// Start-up and memory of the installed programs; what could not be measured, in sentences.
fn footprint(target: &Path, data: &Path, product: &mut Figures) -> anyhow::Result<Vec<String>> {
    eprintln!("bench: start-up time and memory");
    let bench = target.join("release/countersign-bench");
    let console = target.join("release/countersign");
    let mut command = Command::new(&bench);
    command
        .arg("footprint")
        .arg("--data")
        .arg(data)
        .arg("--console")
        .arg(console);
    product.extend(figures(&mut command)?);

    let Some(window) = std::env::var_os("COUNTERSIGN_APP") else {
        let why = "the window was not measured: COUNTERSIGN_APP names no program built with the feature gui";
        return Ok(vec![why.to_owned()]);
    };
    let display = match std::env::var("DISPLAY") {
        Ok(display) => Ok((None, display)),
        Err(_) => virtual_display().map(|(server, display)| (Some(server), display)),
    };
    let (server, display) = match display {
        Ok(found) => found,
        Err(error) => {
            return Ok(vec![format!(
                "the window was not measured: no display ({error:#})"
            )]);
        }
    };
    let mut command = Command::new(&bench);
    command
        .arg("footprint")
        .arg("--data")
        .arg(data)
        .arg("--window")
        .arg(window);
    command.env("DISPLAY", display);
    let measured = figures(&mut command);
    if let Some(mut server) = server {
        server.kill()?;
        server.wait()?;
    }
    product.extend(measured?);
    Ok(Vec::new())
}

/// What hooks, the MCP proxy and the gateway add; their floors are the program that only starts, the server without the
/// proxy, and the bare protocol with two flushes of the disk.
fn beside(
    target: &Path,
    data: &Path,
    floor: &mut Figures,
    product: &mut Figures,
) -> anyhow::Result<()> {
    eprintln!("bench: hooks, the MCP proxy and the gateway");
    let release = target.join("release");
    let mut command = Command::new(release.join("countersign-bench"));
    command.arg("beside").arg("--data").arg(data);
    let command = command.arg("--console").arg(release.join("countersign"));
    for (name, value) in figures(command)? {
        match name.strip_prefix("floor_") {
            Some(name) => floor.insert(name.to_owned(), value),
            None => product.insert(name, value),
        };
    }
    for name in [
        "proxy_unasked_p99_ms",
        "proxy_allowed_p99_ms",
        "gateway_p50_ms",
        "gateway_p99_ms",
    ] {
        if let (Some(direct), Some(through)) = (floor.get(name), product.get(name)) {
            product.insert(format!("{name}_added"), through - direct);
        }
    }
    Ok(())
}

/// An X server without a screen, and its display.
fn virtual_display() -> anyhow::Result<(Child, String)> {
    let mut server = Command::new("Xvfb")
        .args([
            "-displayfd",
            "1",
            "-screen",
            "0",
            "1280x800x24",
            "-nolisten",
            "tcp",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("Xvfb does not start")?;
    let mut line = String::new();
    if let Some(out) = server.stdout.take() {
        BufReader::new(out).read_line(&mut line)?;
    }
    let number = line.trim();
    ensure!(!number.is_empty(), "Xvfb told no display");
    Ok((server, format!(":{number}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_three_rounds_is_the_middle_one() {
        let rounds = [3.0, 1.0, 2.0].map(|value| Figures::from([("x".to_owned(), value)]));
        assert_eq!(
            medians(rounds.into()),
            Figures::from([("x".to_owned(), 2.0)])
        );
    }
}
