//! The hooks that a program would run before a call, as its settings files have them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::{Configuration, codex};
use crate::connect::{is_ours, value_of};
use crate::program::Program;

/// A hook that is asked before a call.
#[derive(Debug)]
pub(super) struct Configured {
    pub(super) file: PathBuf,
    /// The event that it is for.
    pub(super) event: &'static str,
    /// As the shell reads it.
    pub(super) command: String,
    pub(super) ours: bool,
    /// How long the program waits for it.
    pub(super) timeout: Duration,
    /// A failure of the hook blocks the call.
    pub(super) blocks: bool,
    /// The program does not wait for it.
    pub(super) background: bool,
    /// Why the program never runs it.
    pub(super) untrusted: Option<String>,
}

pub(super) struct Settings {
    pub(super) hooks: Vec<Configured>,
    /// The file that turns every hook off.
    pub(super) off: Option<PathBuf>,
}

impl Settings {
    pub(super) fn read(program: Program, configuration: &Configuration) -> Result<Self, String> {
        let mut files = Vec::new();
        for file in &configuration.files {
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
            hook.blocks &= program != Program::ClaudeCode || configuration.knows_on_failure;
        }
        let hooks = hooks.into_iter().map(|(hook, _)| hook).collect();
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
    let value = value_of(program, &text);
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

/// With the place of each: that of its group in the event's list, and its own in the group.
pub(super) type Placed = (Configured, (Value, usize, usize));

fn of_file(program: Program, file: &Path, value: &Value, event: &'static str) -> Vec<Placed> {
    let groups = value["hooks"][event].as_array();
    let mut found = Vec::new();
    for (at, group) in groups.into_iter().flatten().enumerate() {
        let single = [group.clone()];
        let hooks = group["hooks"].as_array().map_or(&single[..], Vec::as_slice);
        for (inside, hook) in hooks.iter().enumerate() {
            let command = hook["command"].as_str().or(hook["bash"].as_str());
            let Some(command) = command.filter(|_| matches(program, group) && hook["if"].is_null())
            else {
                continue;
            };
            let configured = Configured {
                file: file.to_owned(),
                event,
                command: command.to_owned(),
                ours: is_ours(command, program),
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
                    serde_json::json!({ "hook": hook, "matcher": matcher })
                }
                _ => serde_json::json!({ "hook": hook }),
            };
            found.push((configured, (whole, at, inside)));
        }
    }
    found
}

/// Whether a group of hooks is asked about shell commands, which every program has.
fn matches(program: Program, group: &Value) -> bool {
    let shell = match program {
        Program::Gemini => "run_shell_command",
        _ => "Bash",
    };
    match group["matcher"].as_str() {
        None | Some("") => true,
        Some(matcher) => {
            let mut names = matcher.split('|');
            names.any(|name| [shell, "*", ".*"].contains(&name.trim_matches(['^', '$'])))
        }
    }
}
