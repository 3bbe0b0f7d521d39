//! `rules import`: rules from the policies of other systems.
//!
//! It changes rules only with `--apply`, and leaves existing ones as they are.

use std::path::Path;

use countersign_core::ops::rules::{RulesChange, RulesChanged};
use countersign_core::policy::Rule;
use countersign_core::policy::glob::Glob;
use countersign_core::policy::import::{Imported, import, read_json};
use countersign_wire::ErrorCode;
use serde_json::{Value, json};

use super::changed;
use super::shown::toml_of;
use crate::cli::args::{ImportFrom, ImportRules};
use crate::cli::config::Settings;
use crate::cli::console::{deciding, reading};
use crate::cli::failure::{Failure, ids};
use crate::cli::input;
use crate::cli::output::{Output, doubtful, plain};

/// Reads a policy and reports what becomes of each entry; puts the rules beside the workspace's own with `--apply`.
pub(super) async fn run(
    settings: &Settings,
    out: Output,
    command: ImportRules,
) -> Result<(), Failure> {
    let file = value_of(command.from, &command.file)?;
    let agents: Result<Vec<Glob>, String> = command.agent.iter().map(|of| Glob::new(of)).collect();
    let agents = agents.map_err(|why| Failure::usage(format!("--agent: {why}")))?;
    let source = command.from.into();
    let workspace = &settings.workspace;
    if !command.apply {
        return reading(settings, false, async |app| {
            let found = read(&command, source, &file, &agents, app.now())?;
            told(out, command.from, &found, None)
        })
        .await;
    }
    let (found, done) = deciding(settings, async |app| {
        let found = read(&command, source, &file, &agents, app.now())?;
        let change = RulesChange::Add(found.rules.clone());
        let done = changed(app, workspace, &change, command.accept).await?;
        Ok((found, done))
    })
    .await?;
    told(out, command.from, &found, Some(&done))
}

/// JSON read strictly from Claude Code; YAML, which takes JSON too, from others.
fn value_of(from: ImportFrom, file: &Path) -> Result<Value, Failure> {
    let text = input::text_of(file)?;
    let value = match from {
        ImportFrom::ClaudeCode => read_json(&text).map_err(|faults| faults.join("; ")),
        ImportFrom::Selectools => serde_yaml_ng::from_str(&text).map_err(|error| error.to_string()),
    };
    value.map_err(|why| {
        let why = format!("{}: {why}", file.display());
        Failure::new(ErrorCode::InvalidArgs, why)
    })
}

fn read(
    command: &ImportRules,
    source: countersign_core::policy::import::Source,
    file: &Value,
    agents: &[Glob],
    now: countersign_core::domain::Timestamp,
) -> Result<Imported, Failure> {
    import(source, file, agents, now).map_err(|why| {
        let why = format!("{}: {why}", command.file.display());
        Failure::new(ErrorCode::InvalidArgs, why)
    })
}

fn told(
    out: Output,
    from: ImportFrom,
    found: &Imported,
    done: Option<&RulesChanged>,
) -> Result<(), Failure> {
    if out.json {
        return Ok(out.json_line(&as_json(from, found, done))?);
    }
    if done.is_none() {
        out.line(&toml_of(&found.rules)?)?;
    }
    for of in &found.carried {
        let note = of
            .note
            .as_deref()
            .map_or_else(String::new, |note| format!(" ({note})"));
        let (place, entry, effect) = (&of.place, plain(&of.entry), of.effect.as_str());
        out.line(&format!("{place} {entry}: {effect}{note}"))?;
    }
    for of in &found.left_out {
        let text = format!(
            "{} {}: not carried over: {}",
            of.place,
            plain(&of.entry),
            of.why
        );
        out.line(&doubtful(&text))?;
    }
    match done {
        None => out.line(
            "nothing is changed; look at the rules, `--apply` puts them beside the workspace's own",
        )?,
        Some(done) => out.line(&format!(
            "{} rules added; {} were there already and stay as they are",
            done.added.len(),
            kept(found, done)
        ))?,
    }
    Ok(())
}

fn kept(found: &Imported, done: &RulesChanged) -> usize {
    found.rules.len().saturating_sub(done.added.len())
}

fn as_json(from: ImportFrom, found: &Imported, done: Option<&RulesChanged>) -> Value {
    let carried: Vec<Value> = found
        .carried
        .iter()
        .map(|of| {
            json!({
                "place": of.place, "entry": of.entry, "rules": of.rules, "effect": of.effect.as_str(),
                "note": of.note,
            })
        })
        .collect();
    let left_out: Vec<Value> = found
        .left_out
        .iter()
        .map(|of| json!({ "place": of.place, "entry": of.entry, "reason": of.why }))
        .collect();
    let rules: Vec<Value> = found.rules.iter().map(Rule::to_json).collect();
    json!({
        "from": from.word(), "rules": rules, "carried": carried, "left_out": left_out,
        "applied": done.is_some(), "revision": done.map(|done| done.revision),
        "added": done.map(|done| &done.added),
        "decides_waiting": done.map(|done| ids(&done.decides_waiting)),
        "kept": done.map(|done| kept(found, done)),
    })
}
