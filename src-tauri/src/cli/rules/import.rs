//! `rules import`: rules from the policies of other systems.
//!
//! It changes rules only with `--apply`. Files of Claude Code count together, and replace what they gave before;
//! rules from elsewhere leave existing ones as they are.

mod report;

use std::path::Path;

use countersign_core::App;
use countersign_core::domain::Timestamp;
use countersign_core::ops::rules::{RulesChange, RulesChanged};
use countersign_core::policy::glob::Glob;
use countersign_core::policy::import::{
    FILES_MAX, Imported, Source, SourceFile, import, read_json, with_earlier_replaced,
};
use countersign_wire::{ErrorCode, WorkspaceName};
use serde_json::Value;

use super::changed;
use crate::cli::args::{AcceptFile, ImportFrom, ImportRules};
use crate::cli::config::Settings;
use crate::cli::console::{deciding, reading};
use crate::cli::failure::Failure;
use crate::cli::input;
use crate::cli::output::Output;

/// Reads policies and reports what becomes of each entry; changes the workspace's rules with `--apply`.
pub(super) async fn run(
    settings: &Settings,
    out: Output,
    command: ImportRules,
) -> Result<(), Failure> {
    let files = files_of(&command)?;
    let agents: Result<Vec<Glob>, String> = command.agent.iter().map(|of| Glob::new(of)).collect();
    let agents = agents.map_err(|why| Failure::usage(format!("--agent: {why}")))?;
    let read = |app: &App| {
        let found = import(command.from.into(), &files, &agents, app.now());
        found.map_err(refusal)
    };
    let workspace = &settings.workspace;
    if !command.apply {
        return reading(settings, false, async |app| {
            report::print(out, command.from, &read(app)?, None)
        })
        .await;
    }
    let (found, done) = deciding(settings, async |app| {
        let found = read(app)?;
        let done = apply(app, workspace, (&command, &files), &found).await?;
        Ok((found, done))
    })
    .await?;
    report::print(out, command.from, &found, Some(&done))
}

async fn apply(
    app: &App,
    workspace: &WorkspaceName,
    (command, files): (&ImportRules, &[SourceFile]),
    found: &Imported,
) -> Result<RulesChanged, Failure> {
    let accept: AcceptFile = command.accept;
    let change = match Source::from(command.from) {
        Source::Selectools => RulesChange::Add(found.rules.clone()),
        Source::ClaudeCode => {
            let set = app.rules(workspace).await?;
            RulesChange::Replace {
                rules: with_earlier_replaced(&set.rules, files, found.rules.clone()),
                seen: Some(set.revision),
            }
        }
    };
    changed(app, workspace, &change, accept).await
}

/// The files as they are read, or every fault of all of them.
fn files_of(command: &ImportRules) -> Result<Vec<SourceFile>, Failure> {
    if command.from == ImportFrom::Selectools && command.files.len() > 1 {
        return Err(Failure::usage("a policy of selectools is one file"));
    }
    if command.files.len() > FILES_MAX {
        let why = format!("at most {FILES_MAX} files are read together");
        return Err(Failure::usage(why));
    }
    let home = std::env::home_dir();
    let mut files = Vec::with_capacity(command.files.len());
    let mut faults = Vec::new();
    for file in &command.files {
        let label = file.display().to_string();
        let text = input::text_of(file)?;
        match value_of(command.from, &text) {
            Ok(value) => {
                let path = std::path::absolute(file).unwrap_or_else(|_| file.clone());
                let path = path.canonicalize().unwrap_or(path);
                files.push(SourceFile {
                    folder: folder_of(&path, home.as_deref()),
                    path: path.display().to_string(),
                    label,
                    value,
                });
            }
            Err(found) => faults.extend(found.into_iter().map(|why| format!("{label}: {why}"))),
        }
    }
    if faults.is_empty() {
        return Ok(files);
    }
    // What is wrong with the files that can be read is listed with it.
    let others = import(command.from.into(), &files, &[], Timestamp(0));
    faults.extend(
        others
            .err()
            .filter(|_| !files.is_empty())
            .unwrap_or_default(),
    );
    Err(refusal(faults))
}

/// What `/x` of a file is below: the folder that holds its `.claude`, or `~/.claude` for the user's own file.
fn folder_of(path: &Path, home: Option<&Path>) -> Option<String> {
    let claude = path.parent()?;
    let folder = claude.parent().filter(|_| claude.ends_with(".claude"))?;
    let home = home.map(|home| home.canonicalize().unwrap_or(home.to_path_buf()));
    match home.as_deref() == Some(folder) {
        true => Some("~/.claude".to_owned()),
        false => Some(
            folder
                .display()
                .to_string()
                .trim_end_matches('/')
                .to_owned(),
        ),
    }
}

/// JSON read strictly from Claude Code; YAML, which takes JSON too, from others.
fn value_of(from: ImportFrom, text: &str) -> Result<Value, Vec<String>> {
    match from {
        ImportFrom::ClaudeCode => read_json(text),
        ImportFrom::Selectools => {
            serde_yaml_ng::from_str(text).map_err(|error| vec![error.to_string()])
        }
    }
}

fn refusal(faults: Vec<String>) -> Failure {
    Failure::new(ErrorCode::InvalidArgs, faults.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_one_slash_is_below_the_folder_that_holds_the_settings() {
        let of = |path: &str| folder_of(Path::new(path), Some(Path::new("/nowhere/me")));
        assert_eq!(
            of("/srv/shop/.claude/settings.json").as_deref(),
            Some("/srv/shop")
        );
        assert_eq!(
            of("/nowhere/me/.claude/settings.json").as_deref(),
            Some("~/.claude")
        );
        assert_eq!(of("/.claude/settings.json").as_deref(), Some(""));
        assert_eq!(of("/srv/settings.json"), None);
    }
}
