//! `doctor --gate`: proves that the gate in front of a program denies what nobody approved.
//!
//! Decides nothing but the one call that `--run` makes the program ask. The console of the data folder keeps the result.

mod kept;
mod run;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use countersign_core::data_dir::DataDir;
use countersign_hooks::{
    Configuration, McpServer, Program, Proof, is_connected, mcp_servers, other_hooks, prove,
};
use countersign_mcp::{Probed, probe, probe_url};
use countersign_wire::{ErrorCode, Timestamp};
use serde_json::json;

use super::args::{Doctor, program};
use super::config::Settings;
use super::connect::place;
use super::failure::Failure;
use super::output::{Output, plain, wrong};
pub(super) use kept::never_asked;

const MCP: &str = "mcp";
const NO_HOOKS: &str = "a session that is started with --bare, --safe-mode, --setting-sources or --settings may have no hooks";
/// What an administrator sets for everybody.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

/// Prints what became of a probe; fails where the gate does not hold.
pub(crate) async fn run(
    settings: &Settings,
    out: Output,
    name: &str,
    wanted: &Doctor,
) -> Result<(), Failure> {
    let proof = match program(name) {
        Ok(program) if wanted.run => {
            let proof = run::run(settings, out, program).await?;
            let configuration = configuration(settings, program, None)?;
            kept::of_program(settings, program, &configuration, &proof).await;
            proof
        }
        Ok(program) => {
            let configuration = Configuration {
                version: place::version(program).await,
                others: !wanted.no_others,
                ..configuration(settings, program, wanted.file.as_deref())?
            };
            of_program(settings, program, &configuration).await
        }
        Err(_) if name == MCP => {
            let file = wanted.file.clone().unwrap_or_else(|| ".mcp.json".into());
            let servers: Vec<_> = wanted.server.iter().cloned().collect();
            of_servers(settings, &file, &servers).await?
        }
        Err(why) => return Err(Failure::usage(format!("no gate {name:?}: {why}, or mcp"))),
    };
    let printed = print_proof(out, name, &proof);
    let answer = match proof.holds {
        true => Ok(()),
        false => Err(Failure::Printed(ErrorCode::Failed)),
    };
    Failure::answered(printed, answer)
}

/// The probe of a program, and of the other hooks of its event where they may act.
pub(crate) async fn of_program(
    settings: &Settings,
    program: Program,
    configuration: &Configuration,
) -> Proof {
    let run = match configuration.others {
        true => other_hooks(program, configuration),
        false => Vec::new(),
    };
    if !run.is_empty() {
        let run = plain(&run.join(", "));
        settings.out.caution(&format!(
            "now runs the other hooks, which will act, for a probe, `git status`, `ls -la`, `npm test` and a write (--no-others leaves them out): {run}"
        ));
    }
    let proof = prove(program, configuration).await;
    kept::of_program(settings, program, configuration, &proof).await;
    proof
}

/// As the program reads it in the folder in which this runs; of an unknown version, without its other hooks.
pub(crate) fn configuration(
    settings: &Settings,
    program: Program,
    file: Option<&Path>,
) -> Result<Configuration, Failure> {
    let mut files = files(program);
    let mut managed = (program == Program::ClaudeCode).then(|| MANAGED.into());
    files.extend(managed.clone());
    if let Some(file) = file {
        (files, managed) = (vec![file.to_owned()], None);
    }
    Ok(Configuration {
        files,
        folder: here()?,
        managed,
        default_agent: kept::default_of(settings, program.name()),
        version: None,
        others: false,
    })
}

pub(crate) fn here() -> Result<PathBuf, Failure> {
    env::current_dir().map_err(|error| Failure::environment(error.to_string()))
}

fn files(program: Program) -> Vec<PathBuf> {
    let files = place::files(program).into_iter();
    files.map(|(_, file)| file).collect()
}

/// The programs that have entries of ours in the settings that they read here.
pub(crate) fn connected() -> Vec<Program> {
    let is = |program: &Program| {
        files(*program)
            .iter()
            .any(|file| is_connected(*program, file))
    };
    Program::ALL.into_iter().filter(is).collect()
}

/// Whether a console that could deny a probe runs in the data folder.
pub(crate) fn console_runs(settings: &Settings) -> bool {
    let data = settings
        .data_dir
        .is_dir()
        .then(|| DataDir::open(&settings.data_dir));
    data.is_some_and(|data| data.is_ok_and(|data| data.is_running()))
}

/// The first server whose gate does not hold counts for all.
pub(crate) async fn of_servers(
    settings: &Settings,
    file: &Path,
    servers: &[String],
) -> Result<Proof, Failure> {
    let invalid =
        |why: String| Failure::new(ErrorCode::InvalidArgs, format!("{}: {why}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| invalid(error.to_string()))?;
    let found = mcp_servers(&text, servers).map_err(invalid)?;
    let folder = here()?;
    let mut held = Proof::open("none", "it names no server", "name one");
    for server in found {
        let proof = of_server(&server, &folder, file).await;
        let enrolment = kept::of_server(settings, &server);
        kept::of_enrolment(settings, &enrolment, &proof).await;
        if !proof.holds {
            return Ok(proof);
        }
        held = proof;
    }
    Ok(held)
}

async fn of_server(server: &McpServer, folder: &Path, file: &Path) -> Proof {
    let (name, shown) = (&server.name, file.display());
    let probed = match &server.url {
        // Our proxy at an address is on this machine: what cannot be reached elsewhere is not behind it.
        Some(url) => match probe_url(url, &server.headers).await {
            Err(_) if !is_loopback(url) => Ok(Probed::PassedOn),
            probed => probed,
        },
        None => probe(&server.command, &server.environment, folder).await,
    };
    match probed {
        Ok(Probed::Denied(words)) => {
            Proof::held("deny", (!words.ends_with(": probe")).then_some(words))
        }
        Ok(Probed::PassedOn) => {
            let why = format!("server {name} does not go through countersign mcp-proxy");
            let fix = format!("countersign connect mcp --file {shown} --server {name}");
            Proof::open("none", why, fix)
        }
        Err(why) => {
            let why = format!("server {name} cannot be asked: {why}");
            let fix = format!("correct the entry of {name} in {shown}");
            Proof::open("error", why, fix)
        }
    }
}

fn is_loopback(url: &str) -> bool {
    let behind = url.split_once("://").map_or("", |(_, behind)| behind);
    ["127.0.0.1", "localhost", "[::1]"]
        .iter()
        .any(|host| behind.starts_with(host))
}

/// One line for a program; for a person what is wrong and what to do.
fn print_proof(out: Output, name: &str, proof: &Proof) -> Result<(), Failure> {
    if out.json {
        return Ok(out.json_line(&json!({
            "gate": name, "holds": proof.holds, "verdict": proof.verdict, "ran": proof.ran,
            "at": Timestamp::new(place::now()),
            "why": proof.why.as_deref().map(plain), "fix": proof.fix.as_deref().map(plain),
        }))?);
    }
    for line in words(name, proof) {
        out.line(&line)?;
    }
    Ok(())
}

/// What a person reads of a probe.
pub(crate) fn words(name: &str, proof: &Proof) -> Vec<String> {
    let why = proof.why.as_deref().map(plain);
    let fix = proof.fix.as_deref().map(plain);
    let mut lines = vec![match (proof.holds, why) {
        (true, None) => format!("the gate of {name} holds: the console denied a probe"),
        (true, Some(why)) => format!("the gate of {name} holds: {why}"),
        (false, why) => format!(
            "{}: {}",
            wrong(&format!(
                "the gate of {name} is {}",
                if proof.unproven { "not proven" } else { "open" }
            )),
            why.unwrap_or_default()
        ),
    }];
    lines.extend(fix.map(|fix| format!("to close it: {fix}")));
    if name == Program::ClaudeCode.name() {
        lines.push(NO_HOOKS.to_owned());
    }
    lines
}
