//! The hooks that a program would run before a call, as its settings files have them.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::configured::{Configured, Kind, Placed};
use super::rules::fits;
use super::{Configuration, codex, elsewhere};
use crate::connect::{is_ours, value_of};
use crate::program::Program;

pub(super) struct Settings {
    pub(super) hooks: Vec<Configured>,
    /// The file that turns every hook off.
    pub(super) off: Option<PathBuf>,
}

impl Settings {
    pub(super) fn read(program: Program, configuration: &Configuration) -> Result<Self, String> {
        let mut paths = Vec::new();
        for file in &configuration.files {
            paths.push(file.clone());
            paths.extend(elsewhere::files_beside(program, file));
        }
        let mut seen = HashSet::new();
        paths.retain(|file| seen.insert(fs::canonicalize(file).unwrap_or_else(|_| file.clone())));
        let mut files = Vec::new();
        for file in &paths {
            if let Some(value) = read(program, file)? {
                files.push((file, value));
            }
        }
        let mut off = None;
        for (file, value) in &files {
            match program.hooks_off(value) {
                Some(true) => off = Some((*file).clone()),
                Some(false) => off = None,
                None => {}
            }
        }
        let mut hooks = Vec::new();
        for event in events(program, &files) {
            for (file, value) in &files {
                hooks.extend(of_file(program, file, value, event));
            }
        }
        if program == Program::Codex {
            codex::distrust(&mut hooks, &files);
        }
        for (hook, _) in &mut hooks {
            hook.blocks &= program != Program::ClaudeCode || !program.is_old(configuration.version);
            let managed = configuration.managed.as_ref() == Some(&hook.file);
            if managed && !hook.ours && hook.kind == Kind::Command {
                hook.kind = Kind::MayRewrite;
            }
        }
        let mut hooks: Vec<_> = hooks.into_iter().map(|(hook, _)| hook).collect();
        for event in events(program, &files) {
            let kind = json!({ "hooks": { event: [{ "type": "plugin, skill or agent" }] } });
            for file in elsewhere::hooks(program, event, &paths, &files) {
                let found = of_file(program, &file, &kind, event).into_iter();
                hooks.extend(found.map(|(hook, _)| hook));
            }
        }
        Ok(Self { hooks, off })
    }
}

pub(super) fn has_ours(program: Program, file: &Path) -> bool {
    let Ok(Some(value)) = read(program, file) else {
        return false;
    };
    let all = program.before().iter();
    let mut hooks = all.flat_map(|event| of_file(program, file, &value, event));
    hooks.any(|(hook, _)| hook.ours)
}

fn read(program: Program, file: &Path) -> Result<Option<Value>, String> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{} cannot be read: {error}", file.display())),
    };
    let json = file.extension().is_some_and(|end| end == "json");
    let value = match program {
        // Codex reads hooks from a file of JSON, too.
        Program::Codex if json => serde_json::from_str(&text).map_err(|error| error.to_string()),
        _ => value_of(program, &text),
    };
    let value = value.map_err(|why| format!("{} cannot be read: {why}", file.display()))?;
    Ok(Some(value))
}

/// Claude Code's own question counts only where none of ours is asked before every call.
fn events(program: Program, files: &[(&PathBuf, Value)]) -> Vec<&'static str> {
    let all = program.before();
    if program != Program::ClaudeCode {
        return all.to_vec();
    }
    let has = |event: &'static str| {
        let mut files = files.iter();
        files.any(|(file, value)| {
            of_file(program, file, value, event)
                .iter()
                .any(|(hook, _)| hook.ours)
        })
    };
    let mut with_ours = all.iter().filter(|event| has(event));
    vec![with_ours.next().copied().unwrap_or("PreToolUse")]
}

fn of_file(program: Program, file: &Path, value: &Value, event: &'static str) -> Vec<Placed> {
    let groups = value["hooks"][event].as_array();
    let mut found = Vec::new();
    for (at, group) in groups.into_iter().flatten().enumerate() {
        let single = [group.clone()];
        let hooks = group["hooks"].as_array().map_or(&single[..], Vec::as_slice);
        for (inside, hook) in hooks.iter().enumerate() {
            let command = hook["command"].as_str().or(hook["bash"].as_str());
            let matcher = group["matcher"].as_str().map(str::to_owned);
            let of_shell = fits(matcher.as_deref(), program.tools().0);
            let (kind, command) = match (hook["type"].as_str().unwrap_or("command"), command) {
                ("command", Some(command)) => (Kind::Command, command.to_owned()),
                ("command", None) => continue,
                (kind @ ("prompt" | "agent"), _) => {
                    (Kind::OnlyDenies, format!("a hook of type {kind}"))
                }
                (kind, _) => (Kind::MayRewrite, format!("a hook of type {kind}")),
            };
            let ours = is_ours(&command, program);
            if ours && !(of_shell && hook["if"].is_null()) {
                continue;
            }
            let configured = Configured {
                file: file.to_owned(),
                event,
                kind,
                command,
                matcher,
                of_shell: of_shell && hook["if"].is_null(),
                ours,
                timeout: program.waits(hook),
                blocks: match program {
                    Program::ClaudeCode => hook["onFailure"] == "block",
                    Program::Cursor => hook["failClosed"] == true,
                    Program::OpenCode => true,
                    _ => false,
                },
                background: hook["async"] == true,
                untrusted: None,
            };
            let whole = match &group["matcher"] {
                Value::String(matcher) => {
                    json!({ "hook": hook, "matcher": matcher })
                }
                _ => json!({ "hook": hook }),
            };
            found.push((configured, (whole, at, inside)));
        }
    }
    found
}
