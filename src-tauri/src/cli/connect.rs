//! `connect` and `disconnect`: Countersign's entries in the settings of another program.
//!
//! Never writes a file that it could not read whole, nor one without a copy of what was there.

mod frameworks;
mod passing;
pub(super) mod place;
mod record;

use std::path::Path;

use countersign_core::ops::enroll::write_enrolment;
use countersign_hooks::{Configuration, Program, Version, Wanted, connect_mcp, disconnect_mcp};
use countersign_wire::{AgentKey, ErrorCode};
use serde_json::json;

use super::args::{
    Agent, ConfigTarget, Connect, Disconnect, Mode, SettingsScope as Scope, program,
};
use super::config::Settings;
use super::console::deciding;
use super::enroll::key;
use super::failure::Failure;
use super::gate;
use super::output::Output;
use passing::{Stay, stay};
use place::{Target, file_of};

/// Seconds that a hook has beside the answer.
const BESIDE_THE_ANSWER: u64 = 60;
const MCP: &str = "mcp";

/// Enrols where that is missing, then writes our entries.
pub(crate) async fn run(settings: &Settings, out: Output, asked: Connect) -> Result<(), Failure> {
    let of_program = program(&asked.name).ok();
    let framework = frameworks::find(&asked.name);
    if of_program.is_none() && framework.is_none() && asked.name != MCP {
        return Err(Failure::usage(format!(
            "unknown program {:?}; use one of {}, mcp, {}",
            asked.name,
            Program::ALL.map(Program::name).join(", "),
            frameworks::names()
        )));
    }
    let name = asked.agent.clone();
    let name = name.unwrap_or_else(|| format!("default/{}", asked.name));
    let agent = key(settings, &Agent { agent: name })?;
    let agent_json = settings
        .data_dir
        .join("agents")
        .join(agent.workspace.to_string())
        .join(agent.agent.to_string())
        .join("agent.json");
    if framework.is_none() {
        let executable =
            std::env::current_exe().map_err(|error| Failure::environment(error.to_string()))?;
        match stay(&executable, |name| std::env::var_os(name)) {
            Stay::Cache => return Err(Failure::environment(passing::FROM_A_CACHE)),
            Stay::NodeVersion => out.caution(passing::OF_A_NODE),
            Stay::Lasting => {}
        }
    }
    let target = match (of_program, &framework) {
        (Some(program), _) => Some(Target::read(&file_of(program, asked.place.scope)?)?),
        (None, None) => Some(Target::read(mcp_file(&asked.place)?)?),
        _ => None,
    };
    let version = match of_program {
        Some(program) => place::version(program).await,
        None => None,
    };
    if let (Some(program), Some(target)) = (of_program, &target) {
        place::beside(out, program, asked.place.scope, target)?;
    }
    // What cannot be read is refused before anybody is enrolled.
    let mut servers = Vec::new();
    let new = match (&target, of_program) {
        (None, _) => None,
        (Some(target), Some(program)) => {
            let wanted = wanted(&asked, program, version, &agent_json)?;
            let new = countersign_hooks::connect(program, target.text.as_deref(), &wanted);
            Some(new.map_err(|why| target.unreadable(&why))?)
        }
        (Some(target), None) => {
            let text = target.text.as_deref().unwrap_or_default();
            let flags = flags(&asked, &agent_json);
            let new = connect_mcp(text, &asked.place.server, &own(asked.place.scope)?, &flags);
            let gated = new.map_err(|why| target.unreadable(&why))?;
            for (name, why) in gated.left_alone {
                out.caution(&format!("server {name} stays without the proxy: {why}"));
            }
            servers = gated.servers;
            Some(gated.text)
        }
    };
    if asked.dry_run {
        print!("{}", new.unwrap_or_default());
        return Ok(());
    }
    enrolled(settings, &agent, &agent_json, asked.force).await?;
    let (Some(target), Some(new)) = (target, new) else {
        return frameworks::print(out, &asked.name, &agent_json);
    };
    let (backup, changed) = target.write(Some(&new))?;
    record::keep(settings, &asked.name, &target.file, true)?;
    print_change(out, &target, backup.as_deref(), Some(&agent_json), changed)?;
    let mut gate = asked.name.clone();
    match of_program {
        Some(program) => place::remarks(out, program, version),
        None => gate += &format!(" --file {}", target.file.display()),
    }
    if let (Some(program), true, Some(text)) = (of_program, changed, &target.text) {
        place::replaced(out, program, text);
    }
    if out.json {
        return Ok(());
    }
    if gate::console_runs(settings) {
        let proof = match of_program {
            Some(program) => {
                let configuration = Configuration {
                    version,
                    others: !asked.no_others,
                    ..gate::configuration(settings, program, None)?
                };
                gate::of_program(settings, program, &configuration).await
            }
            None => gate::of_servers(settings, &target.file, &servers).await?,
        };
        for line in gate::words(&asked.name, &proof) {
            out.remark(&line);
        }
    } else {
        out.remark(&format!(
            "start a console, then check that it denies: countersign doctor --gate {gate}"
        ));
    }
    let own = own(Scope::User)?;
    let folder = match asked.place.scope {
        Scope::User => String::new(),
        _ => format!("cd '{}' && ", gate::here()?.display()),
    };
    out.remark(&format!(
        "to check every hour, add this line with `crontab -e`: 0 * * * * {folder}{own} doctor --gate {gate}"
    ));
    of_program.map_or(Ok(()), |program| place::last_line(out, program, &target))
}

/// Takes our entries out.
pub(crate) fn undo(settings: &Settings, out: Output, asked: &Disconnect) -> Result<(), Failure> {
    let Some(name) = &asked.name else {
        return undo_all(settings, out, asked.dry_run);
    };
    let of_program = program(name).ok();
    let file = match of_program {
        Some(program) => file_of(program, asked.place.scope)?,
        None if name == MCP => mcp_file(&asked.place)?.to_owned(),
        None => {
            return Err(Failure::usage(format!("{name:?} has no settings file")));
        }
    };
    let target = Target::read(&file)?;
    let Some(text) = target.text.as_deref() else {
        return print_change(out, &target, None, None, false);
    };
    let new = without_ours(name, &target, text, &asked.place.server)?;
    if asked.dry_run {
        print!("{}", new.unwrap_or_default());
        return Ok(());
    }
    let (backup, changed) = target.write(new.as_deref())?;
    if asked.place.server.is_empty() {
        record::keep(settings, name, &target.file, false)?;
    }
    print_change(out, &target, backup.as_deref(), None, changed)
}

/// What a file holds without our entries; none where nothing else was in it.
fn without_ours(
    name: &str,
    target: &Target,
    text: &str,
    servers: &[String],
) -> Result<Option<String>, Failure> {
    let new = match program(name) {
        Ok(program) => countersign_hooks::disconnect(program, text),
        Err(_) => disconnect_mcp(text, servers).map(Some),
    };
    new.map_err(|why| target.unreadable(&why))
}

/// Takes them out of every file, a line each; one that cannot be changed keeps no other back.
fn undo_all(settings: &Settings, out: Output, dry_run: bool) -> Result<(), Failure> {
    let mut failed = Ok(());
    for (name, file) in record::all(settings) {
        let undone = || {
            let target = Target::read(&file)?;
            let text = target.text.as_deref().unwrap_or_default();
            let new = without_ours(&name, &target, text, &[])?;
            if new.as_deref() == Some(text) {
                return record::keep(settings, &name, &file, false);
            }
            if dry_run {
                return Ok(out.line(&format!("{}: {name} is connected", file.display()))?);
            }
            let (backup, changed) = target.write(new.as_deref())?;
            record::keep(settings, &name, &file, false)?;
            match (out.json, &backup) {
                (false, Some(backup)) => Ok(out.line(&format!(
                    "{} changed; the previous version is in {}",
                    file.display(),
                    backup.display()
                ))?),
                _ => print_change(out, &target, backup.as_deref(), None, changed),
            }
        };
        if let Err(failure) = undone() {
            out.caution(&failure.text());
            failed = Err(Failure::Printed(ErrorCode::InvalidArgs));
        }
    }
    failed
}

async fn enrolled(
    settings: &Settings,
    agent: &AgentKey,
    path: &Path,
    force: bool,
) -> Result<(), Failure> {
    if path.is_file() {
        return Ok(());
    }
    deciding(settings, async |app| {
        if !force && app.is_enrolled(agent).await? {
            return Err(Failure::new(
                ErrorCode::InvalidArgs,
                format!("{agent} is enrolled already, in a file elsewhere that would stop working; add --force to replace it, or choose another agent with --agent; nothing was changed"),
            ));
        }
        let enrolment = app.enroll(agent).await?;
        Ok(write_enrolment(path, &enrolment)?)
    })
    .await
}

fn wanted(
    asked: &Connect,
    program: Program,
    version: Option<Version>,
    agent_json: &Path,
) -> Result<Wanted, Failure> {
    let mut command = vec![
        own(asked.place.scope)?,
        "hook".to_owned(),
        asked.name.clone(),
    ];
    command.extend(["--entry", asked.place.scope.as_str()].map(str::to_owned));
    command.extend(flags(asked, agent_json));
    if asked.defer {
        command.push("--defer".to_owned());
    }
    Ok(Wanted {
        command,
        timeout: asked.asks.timeout + BESIDE_THE_ANSWER,
        prompt: asked.mode == Mode::Prompt && program == Program::ClaudeCode,
        old_cursor: program == Program::Cursor && program.is_old(version),
    })
}

/// A project's file names no path of this machine.
fn flags(asked: &Connect, agent_json: &Path) -> Vec<String> {
    let mut flags = Vec::new();
    let mut flag = |name: &str, value: String| flags.extend([name.to_owned(), value]);
    if asked.place.scope != Scope::Project {
        flag("--agent-json", agent_json.display().to_string());
    }
    flag("--timeout", asked.asks.timeout.to_string());
    let asks = &asked.asks;
    asks.ask.iter().for_each(|glob| flag("--ask", glob.clone()));
    asks.unasked
        .iter()
        .for_each(|glob| flag("--unasked", glob.clone()));
    for (glob, risk) in &asks.risk {
        flag("--risk", format!("{glob}={}", risk.as_str()));
    }
    flags
}

fn own(scope: Scope) -> Result<String, Failure> {
    if scope == Scope::Project {
        return Ok("countersign".to_owned());
    }
    let own = std::env::current_exe().map_err(|error| Failure::environment(error.to_string()))?;
    Ok(own.display().to_string())
}

fn mcp_file(place: &ConfigTarget) -> Result<&Path, Failure> {
    let file = place.file.as_deref();
    file.ok_or_else(|| Failure::usage("connect mcp needs --file FILE"))
}

fn print_change(
    out: Output,
    target: &Target,
    backup: Option<&Path>,
    agent_json: Option<&Path>,
    changed: bool,
) -> Result<(), Failure> {
    let file = target.file.display().to_string();
    let shown = |path: &Path| path.display().to_string();
    if out.json {
        let line = json!({
            "file": file, "backup": backup.map(shown), "agent_json": agent_json.map(shown), "changed": changed,
        });
        return Ok(out.json_line(&line)?);
    }
    let word = if changed {
        "changed"
    } else {
        "was already up to date"
    };
    out.line(&format!("{file} {word}"))?;
    match backup {
        Some(backup) => Ok(out.line(&format!("the previous version is in {}", shown(backup)))?),
        None => Ok(()),
    }
}

/// Settings that cannot be read, or written.
pub(super) fn invalid(file: &Path, why: &str) -> Failure {
    Failure::new(
        ErrorCode::InvalidArgs,
        format!("{}: {why}; nothing was changed", file.display()),
    )
}
