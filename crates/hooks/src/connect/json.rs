//! Hooks in JSON settings: Claude Code, Gemini CLI, Cursor, Copilot CLI.

use serde_json::{Value, json};

use super::cst::root;
use super::{Wanted, edit, is_ours, shell};
use crate::program::Program;

/// Seconds that a program gives an event after the call.
const FOR_A_REPORT: u64 = 60;

/// The events and their entries, and what the file must have beside them.
fn entries(program: Program, wanted: &Wanted) -> Vec<(&'static str, Value)> {
    let entry = |event: &'static str| {
        let phase = match event {
            "SessionEnd" => "end",
            _ if ["Post", "post", "After", "after"]
                .iter()
                .any(|of| event.starts_with(of)) =>
            {
                "after"
            }
            _ => "before",
        };
        let command = shell(&wanted.command, phase);
        let timeout = match phase {
            "before" => wanted.timeout,
            _ => FOR_A_REPORT,
        };
        let mut hook = match program {
            Program::Cursor => json!({ "command": command, "timeout": timeout }),
            Program::Copilot => {
                json!({ "type": "command", "bash": command, "timeoutSec": timeout })
            }
            _ => json!({ "type": "command", "command": command, "timeout": timeout }),
        };
        match (program, phase) {
            (Program::ClaudeCode, "before") => hook["onFailure"] = json!("block"),
            (Program::Cursor, "before") => hook["failClosed"] = json!(true),
            (Program::Gemini, _) => {
                hook["timeout"] = json!(timeout * 1_000);
                hook["name"] = json!("countersign");
            }
            _ => {}
        }
        let entry = match program {
            Program::ClaudeCode | Program::Gemini => json!({ "matcher": "*", "hooks": [hook] }),
            _ => hook,
        };
        (event, entry)
    };
    let events: &[_] = match program {
        Program::ClaudeCode => {
            let before = match wanted.prompt {
                true => "PermissionRequest",
                false => "PreToolUse",
            };
            &[before, "PostToolUse", "PostToolUseFailure", "SessionEnd"]
        }
        Program::Gemini => &["BeforeTool", "AfterTool", "SessionEnd"],
        Program::Cursor if wanted.old_cursor => &[
            "beforeShellExecution",
            "beforeMCPExecution",
            "afterShellExecution",
            "afterMCPExecution",
        ],
        Program::Cursor => &["preToolUse", "postToolUse", "postToolUseFailure"],
        _ => &["preToolUse", "postToolUse"],
    };
    events.iter().copied().map(entry).collect()
}

pub(super) fn connect(program: Program, text: &str, wanted: &Wanted) -> Result<String, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let wanted = entries(program, wanted);
    if ours(program, &read(text)?)? == wanted {
        return Ok(text.to_owned());
    }
    let mut text = disconnect(program, text)?;
    let settings = read(&text)?;
    if matches!(program, Program::Cursor | Program::Copilot) && settings.get("version").is_none() {
        text = edit::append(&text, &[], Some("version"), &json!(1))?;
    }
    if settings.get("hooks").is_none() {
        let lists = wanted
            .into_iter()
            .map(|(event, entry)| (event.to_owned(), json!([entry])));
        return edit::append(&text, &[], Some("hooks"), &Value::Object(lists.collect()));
    }
    for (event, entry) in wanted {
        text = match settings["hooks"].get(event) {
            None => edit::append(&text, &["hooks"], Some(event), &json!([entry]))?,
            Some(_) => edit::append(&text, &["hooks", event], None, &entry)?,
        };
    }
    Ok(text)
}

/// Takes our entries out, and what holds nothing after that.
pub(super) fn disconnect(program: Program, text: &str) -> Result<String, String> {
    let mut text = text.to_owned();
    loop {
        let settings = read(&text)?;
        let all = hooks(&settings)?;
        let found = all.iter().enumerate().find_map(|(place, (name, entries))| {
            let at = entries.iter().position(|entry| is_entry(program, entry))?;
            Some((place, *name, at, entries.len()))
        });
        text = match found {
            None => return Ok(text),
            Some((.., 1)) if all.len() == 1 => {
                let names = settings
                    .as_object()
                    .into_iter()
                    .flat_map(serde_json::Map::keys);
                let place = names.take_while(|&name| name != "hooks").count();
                edit::remove(&text, &[], place)?
            }
            Some((place, _, _, 1)) => edit::remove(&text, &["hooks"], place)?,
            Some((_, name, at, _)) => edit::remove(&text, &["hooks", name], at)?,
        };
    }
}

/// Our entries as they are there, in the order that they are written in.
fn ours(program: Program, settings: &Value) -> Result<Vec<(&str, Value)>, String> {
    let lists = hooks(settings)?.into_iter();
    let all = lists.flat_map(|(name, entries)| entries.iter().map(move |entry| (name, entry)));
    let ours = all.filter(|(_, entry)| is_entry(program, entry));
    Ok(ours.map(|(name, entry)| (name, entry.clone())).collect())
}

/// Strict: no comments, no key twice.
fn read(text: &str) -> Result<Value, String> {
    let (_, settings) = root(text, false)?;
    settings
        .to_serde_value()
        .ok_or_else(|| "it is not a JSON object".to_owned())
}

/// The lists of entries by their events.
fn hooks(settings: &Value) -> Result<Vec<(&str, &Vec<Value>)>, String> {
    let Some(hooks) = settings.get("hooks") else {
        return Ok(Vec::new());
    };
    let hooks = hooks.as_object().ok_or("hooks is not an object")?;
    let lists = hooks.iter().map(|(name, entries)| {
        let entries = entries
            .as_array()
            .ok_or_else(|| format!("hooks.{name} is not a list"))?;
        Ok((name.as_str(), entries))
    });
    lists.collect()
}

fn is_entry(program: Program, entry: &Value) -> bool {
    let command = |of: &Value| {
        let command = of
            .get("command")
            .or_else(|| of.get("bash"))
            .and_then(Value::as_str);
        command.is_some_and(|command| is_ours(command, program))
    };
    let nested = entry.get("hooks").and_then(Value::as_array);
    command(entry) || nested.is_some_and(|hooks| !hooks.is_empty() && hooks.iter().all(command))
}
