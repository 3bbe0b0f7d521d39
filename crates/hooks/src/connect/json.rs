//! Hooks in JSON settings: Claude Code, Gemini CLI, Cursor, Copilot CLI.

use jsonc_parser::cst::CstObject;
use serde_json::{Value, json};

use super::cst::{array, input, object, root};
use super::{Wanted, is_ours};
use crate::program::Program;

/// Seconds that a program gives an event after the call.
const FOR_A_REPORT: u64 = 60;

/// The events and their entries, and what the file must have beside them.
fn entries(program: Program, wanted: &Wanted) -> Vec<(&'static str, Value)> {
    let command = wanted.shell();
    let nested = |timeout: Value, more: Value| {
        let mut hook = json!({ "type": "command", "command": command, "timeout": timeout });
        if let (Some(hook), Value::Object(more)) = (hook.as_object_mut(), more) {
            hook.extend(more);
        }
        json!({ "matcher": "*", "hooks": [hook] })
    };
    let (ask, report) = (json!(wanted.timeout), json!(FOR_A_REPORT));
    match program {
        Program::ClaudeCode => {
            let before = match wanted.prompt {
                true => "PermissionRequest",
                false => "PreToolUse",
            };
            let after = ["PostToolUse", "PostToolUseFailure", "SessionEnd"];
            let after = after.map(|name| (name, nested(report.clone(), json!({}))));
            let mut all = vec![(before, nested(ask, json!({ "onFailure": "block" })))];
            all.extend(after);
            all
        }
        Program::Gemini => {
            let milliseconds = |seconds: u64| json!(seconds * 1_000);
            let named = json!({ "name": "countersign" });
            let hook = |timeout| nested(milliseconds(timeout), named.clone());
            vec![
                ("BeforeTool", hook(wanted.timeout)),
                ("AfterTool", hook(FOR_A_REPORT)),
                ("SessionEnd", hook(FOR_A_REPORT)),
            ]
        }
        Program::Cursor => {
            let before =
                json!({ "command": command, "timeout": wanted.timeout, "failClosed": true });
            let after = json!({ "command": command, "timeout": FOR_A_REPORT });
            vec![
                ("beforeShellExecution", before.clone()),
                ("beforeMCPExecution", before),
                ("afterShellExecution", after.clone()),
                ("afterMCPExecution", after),
            ]
        }
        _ => {
            let hook =
                |timeout: u64| json!({ "type": "command", "bash": command, "timeoutSec": timeout });
            vec![
                ("preToolUse", hook(wanted.timeout)),
                ("postToolUse", hook(FOR_A_REPORT)),
            ]
        }
    }
}

pub(super) fn connect(program: Program, text: &str, wanted: &Wanted) -> Result<String, String> {
    let (root, settings) = root(text, false)?;
    let wanted = entries(program, wanted);
    if ours(program, &settings)? == wanted {
        return Ok(text.to_owned());
    }
    remove(program, &settings)?;
    if matches!(program, Program::Cursor | Program::Copilot) && settings.get("version").is_none() {
        settings.append("version", input(json!(1)));
    }
    let hooks = object(&settings, "hooks")?;
    for (event, entry) in wanted {
        array(&hooks, event)?.append(input(entry));
    }
    Ok(root.to_string())
}

pub(super) fn disconnect(program: Program, text: &str) -> Result<String, String> {
    let (root, settings) = root(text, false)?;
    remove(program, &settings)?;
    Ok(root.to_string())
}

/// Our entries as they are there, in the order that they are written in.
fn ours(program: Program, settings: &CstObject) -> Result<Vec<(&'static str, Value)>, String> {
    let Some(hooks) = hooks(settings)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for property in hooks.properties() {
        let name = property.decoded_name().unwrap_or_default();
        for entry in elements(&hooks, &name)? {
            if let Some(value) = entry
                .to_serde_value()
                .filter(|entry| is_entry(program, entry))
            {
                let known = EVENTS.iter().find(|&&event| event == name);
                found.push((*known.unwrap_or(&""), value));
            }
        }
    }
    Ok(found)
}

/// Every event that an entry of ours may be under.
const EVENTS: [&str; 14] = [
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "SessionEnd",
    "BeforeTool",
    "AfterTool",
    "beforeShellExecution",
    "beforeMCPExecution",
    "afterShellExecution",
    "afterMCPExecution",
    "preToolUse",
    "postToolUse",
    "",
];

/// Takes our entries out, and what holds nothing after that.
fn remove(program: Program, settings: &CstObject) -> Result<(), String> {
    let Some(hooks) = hooks(settings)? else {
        return Ok(());
    };
    let mut any = false;
    for property in hooks.properties() {
        let name = property.decoded_name().unwrap_or_default();
        let (mut kept, mut gone) = (0, 0);
        for entry in elements(&hooks, &name)? {
            match entry
                .to_serde_value()
                .is_some_and(|entry| is_entry(program, &entry))
            {
                true => {
                    entry.remove();
                    gone += 1;
                }
                false => kept += 1,
            }
        }
        any |= gone > 0;
        if gone > 0 && kept == 0 {
            property.remove();
        }
    }
    if any
        && hooks.properties().is_empty()
        && let Some(hooks) = settings.get("hooks")
    {
        hooks.remove();
    }
    Ok(())
}

fn hooks(settings: &CstObject) -> Result<Option<CstObject>, String> {
    match (settings.get("hooks"), settings.object_value("hooks")) {
        (None, _) => Ok(None),
        (_, Some(hooks)) => Ok(Some(hooks)),
        _ => Err("hooks is not an object".to_owned()),
    }
}

fn elements(hooks: &CstObject, name: &str) -> Result<Vec<jsonc_parser::cst::CstNode>, String> {
    let list = hooks.array_value(name);
    list.map(|list| list.elements())
        .ok_or_else(|| format!("hooks.{name} is not a list"))
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
