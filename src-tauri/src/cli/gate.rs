//! `doctor --gate`: proves that the gate in front of a program denies what nobody approved.
//!
//! Changes nothing, and decides nothing but the one call that `--run` makes the program ask.

mod run;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use countersign_core::data_dir::DataDir;
use countersign_hooks::{Configuration, Program, Proof, is_connected, mcp_servers, prove};
use countersign_mcp::{Probed, probe};
use countersign_wire::{ErrorCode, Timestamp};
use serde_json::json;

use super::args::{Doctor, SettingsScope as Scope, program};
use super::config::Settings;
use super::connect::place;
use super::failure::Failure;
use super::output::{Output, plain, wrong};

const MCP: &str = "mcp";
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
        Ok(program) if wanted.run => run::run(settings, out, program).await?,
        Ok(program) => of_program(program, wanted.file.as_deref()).await?,
        Err(_) if name == MCP => of_servers(wanted).await?,
        Err(why) => return Err(Failure::usage(format!("no gate {name:?}: {why}, or mcp"))),
    };
    let reported = tell(out, name, &proof);
    let answer = match proof.holds {
        true => Ok(()),
        false => Err(Failure::Told(ErrorCode::Failed)),
    };
    Failure::answered(reported, answer)
}

/// The probe of a program in the folder in which this runs.
pub(crate) async fn of_program(program: Program, file: Option<&Path>) -> Result<Proof, Failure> {
    let configuration = Configuration {
        files: match file {
            Some(file) => vec![file.to_owned()],
            None => files(program)?,
        },
        folder: here()?,
        knows_on_failure: program != Program::ClaudeCode || place::knows_on_failure(),
    };
    Ok(prove(program, &configuration).await)
}

fn here() -> Result<PathBuf, Failure> {
    env::current_dir().map_err(|error| Failure::environment(error.to_string()))
}

/// Those that the program reads when it is started here, those that count less first.
fn files(program: Program) -> Result<Vec<PathBuf>, Failure> {
    let scopes = match program {
        Program::ClaudeCode => &[Scope::User, Scope::Project, Scope::Local][..],
        _ => &[Scope::User, Scope::Project],
    };
    let found = scopes.iter().map(|scope| place::file_of(program, *scope));
    let mut files = found.collect::<Result<Vec<_>, _>>()?;
    if program == Program::ClaudeCode {
        files.push(MANAGED.into());
    }
    Ok(files)
}

/// The programs that have entries of ours in the settings that they read here.
pub(crate) fn connected() -> Vec<Program> {
    let is = |program: &Program| {
        let files = files(*program).unwrap_or_default();
        files.iter().any(|file| is_connected(*program, file))
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
async fn of_servers(wanted: &Doctor) -> Result<Proof, Failure> {
    let file = wanted.file.clone().unwrap_or_else(|| ".mcp.json".into());
    let invalid =
        |why: String| Failure::new(ErrorCode::InvalidArgs, format!("{}: {why}", file.display()));
    let text = fs::read_to_string(&file).map_err(|error| invalid(error.to_string()))?;
    let servers: Vec<_> = wanted.server.iter().cloned().collect();
    let found = mcp_servers(&text, &servers).map_err(invalid)?;
    let folder = here()?;
    let fix = |name: &str| {
        format!(
            "countersign connect mcp --file {} --server {name}",
            file.display()
        )
    };
    let mut held = Proof::open("none", "it names no server", "name one");
    for server in found {
        let name = &server.name;
        let around = format!("server {name} does not go through countersign mcp-proxy");
        if server.command.is_empty() {
            return Ok(Proof::open("none", around, fix(name)));
        }
        match probe(&server.command, &server.environment, &folder).await {
            Ok(Probed::Denied(words)) => {
                held = Proof::held("deny", (!words.ends_with(": probe")).then_some(words));
            }
            Ok(Probed::PassedOn) => return Ok(Proof::open("none", around, fix(name))),
            Err(why) => {
                let why = format!("server {name} cannot be asked: {why}");
                let fix = format!("correct the entry of {name} in {}", file.display());
                return Ok(Proof::open("error", why, fix));
            }
        }
    }
    Ok(held)
}

/// One line for a program; for a person what is wrong and what to do.
fn tell(out: Output, name: &str, proof: &Proof) -> Result<(), Failure> {
    if out.json {
        return Ok(out.json_line(&json!({
            "gate": name, "holds": proof.holds, "verdict": proof.verdict, "ran": proof.ran,
            "at": Timestamp::new(place::now()), "why": proof.why, "fix": proof.fix,
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
            wrong(&format!("the gate of {name} is open")),
            why.unwrap_or_default()
        ),
    }];
    lines.extend(fix.map(|fix| format!("to close it: {fix}")));
    lines
}
