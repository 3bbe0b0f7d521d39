//! `cargo xtask chaos`: builds the fault runner and the program, and runs it in namespaces of its own
//! where the system allows that.
//!
//! It leaves nothing behind: when this process ends, however it ends, so does everything below it.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use clap::Args;

/// What the runner uses of its namespaces: a mount, and a network device that reaches another network.
const TRIAL: &str = "set -e; command -v nsenter prlimit env >/dev/null; mount -t tmpfs -o size=64k tmpfs \"$1\"; \
     mount -o remount,size=128k \"$1\"; ip link set lo up; ip link add trial0 type veth peer name trial1";

/// Arguments of the task.
#[derive(Debug, Args)]
pub(crate) struct ChaosArgs {
    /// What the order of faults comes from; printed, a new one if absent
    #[arg(long)]
    seed: Option<u64>,
    /// Seconds of faults; setting up and settling come on top
    #[arg(long, default_value_t = 120.0)]
    seconds: f64,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    /// Questions that each agent has open at a time
    #[arg(long, default_value_t = 8)]
    lanes: u64,
    /// Only the round with two consoles on an outside bus, or only the one with a console's own
    #[arg(long, value_parser = ["outside", "embedded"])]
    only: Option<String>,
    /// Only faults of these kinds, separated by commas: kill, restart, pause, cut, stall, deafen, unplug, full-disk
    #[arg(long)]
    kinds: Option<String>,
    /// Use the programs that are built already
    #[arg(long)]
    built: bool,
    /// Build and run with optimisation
    #[arg(long)]
    release: bool,
    /// Without namespaces, as on a system that forbids them
    #[arg(long)]
    plain: bool,
    /// Keep logs and journals also when every promise held
    #[arg(long)]
    keep: bool,
}

/// Runs the faults and the checks.
///
/// # Errors
/// When a promise was broken, or something could not be checked.
pub(crate) fn run(args: &ChaosArgs) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()?;
    if !args.built {
        build(&root, args.release)?;
    }
    let metadata = cargo_metadata::MetadataCommand::new()
        .no_deps()
        .current_dir(&root)
        .exec()?;
    let target = metadata.target_directory.into_std_path_buf();
    let programs = target.join(if args.release { "release" } else { "debug" });
    let runner = programs.join("countersign-chaos");
    let folder = target.join("chaos");
    std::fs::create_dir_all(&folder)?;
    let namespaces = match args.plain {
        true => None,
        false => namespaces(&folder)?,
    };
    let mut command = Command::new(&runner);
    command.args(["child", "--"]);
    if let Some(namespaces) = &namespaces {
        command.args(namespaces).arg(&runner).args(["init", "--"]);
    }
    command.arg(&runner).arg("run");
    command.arg("--program").arg(programs.join("countersign"));
    command.arg("--folder").arg(&folder);
    command.args(["--seconds", &args.seconds.to_string()]);
    command.args(["--lanes", &args.lanes.to_string()]);
    if let Some(seed) = args.seed {
        command.args(["--seed", &seed.to_string()]);
    }
    if let Some(only) = &args.only {
        command.args(["--only", only]);
    }
    if let Some(kinds) = &args.kinds {
        command.args(["--kinds", kinds]);
    }
    for (given, flag) in [
        (namespaces.is_some(), "--isolated"),
        (args.json, "--json"),
        (args.keep, "--keep"),
    ] {
        command.args(given.then_some(flag));
    }
    let status = command
        .status()
        .with_context(|| runner.display().to_string())?;
    ensure!(status.success(), "chaos: not every promise held");
    Ok(())
}

fn build(root: &Path, release: bool) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "-p", "countersign"])
        .args(["-p", "countersign-chaos"])
        .args(release.then_some("--release"))
        .current_dir(root)
        .status()?;
    ensure!(status.success(), "the build failed");
    Ok(())
}

/// The command that gives namespaces, as root or with a user namespace; none where neither works.
fn namespaces(folder: &Path) -> anyhow::Result<Option<Vec<String>>> {
    let place = folder.join("trial");
    std::fs::create_dir_all(&place)?;
    let common = [
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ];
    for first in [&["unshare"][..], &["unshare", "--map-root-user"]] {
        let words: Vec<String> = first
            .iter()
            .chain(&common)
            .map(|word| (*word).to_owned())
            .collect();
        let tried = Command::new(&words[0])
            .args(&words[1..])
            .args(["sh", "-c", TRIAL, "sh"])
            .arg(&place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if tried.is_ok_and(|status| status.success()) {
            return Ok(Some(words));
        }
    }
    Ok(None)
}
