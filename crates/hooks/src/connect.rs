//! Entries of Countersign in the settings of other programs: from a file's text to a file's text.
//!
//! Never rewrites what is not ours: the rest of a file keeps its bytes, its order and its comments.

mod cst;
mod edit;
mod json;
mod mcp;
mod toml;

use crate::program::Program;

pub use mcp::{Gated, HEADERS, McpServer, URL, connect_mcp, disconnect_mcp, mcp_servers};

/// What `connect` writes.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Countersign's path or its bare name, `hook`, the program, and the flags of every entry.
    pub command: Vec<String>,
    /// Seconds that the program gives the hook.
    pub timeout: u64,
    /// Ask only where the program would have asked itself (Claude Code's permission prompt).
    pub prompt: bool,
    /// Cursor before 2.4, which has no event before every tool.
    pub old_cursor: bool,
}

/// The command of an entry as a shell reads it; `phase` is `before`, `after` or `end`.
fn shell(command: &[String], phase: &str) -> String {
    let mut words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let flag = ["--event", phase].map(str::to_owned);
    words.splice(words.len().min(3)..words.len().min(3), flag);
    words.join(" ")
}

/// The settings with our entries, and nothing else changed; as they were where they have exactly these. None: there is
/// no file yet. The error says why they cannot be read.
pub fn connect(program: Program, text: Option<&str>, wanted: &Wanted) -> Result<String, String> {
    match program {
        Program::Codex => toml::connect(text.unwrap_or_default(), wanted),
        Program::OpenCode => Ok(plugin(&wanted.command)),
        _ => json::connect(program, text.unwrap_or_default(), wanted),
    }
}

/// The settings without our entries; None where the whole file is ours.
pub fn disconnect(program: Program, text: &str) -> Result<Option<String>, String> {
    match program {
        Program::Codex => toml::disconnect(text).map(Some),
        Program::OpenCode => Ok(None),
        _ => json::disconnect(program, text).map(Some),
    }
}

/// What the settings hold; of OpenCode's plugin, which is code, the command that it runs.
pub(crate) fn value_of(program: Program, text: &str) -> Result<serde_json::Value, String> {
    match program {
        Program::Codex => {
            // Its message quotes the line, where a secret may be.
            ::toml::from_str(text).map_err(|error| error.message().to_owned())
        }
        Program::OpenCode => Ok(plugin_command(text).map_or_else(
            || serde_json::json!({}),
            |command| {
                let command = shell(&command, "before");
                serde_json::json!({ "hooks": { "tool.execute.before": [{ "command": command }] } })
            },
        )),
        _ => {
            let (_, settings) = cst::root(text, false)?;
            settings
                .to_serde_value()
                .ok_or_else(|| "it is not JSON".to_owned())
        }
    }
}

/// None of a plugin that somebody changed.
fn plugin_command(text: &str) -> Option<Vec<String>> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("const command = "))?;
    let command: Vec<String> = serde_json::from_str(line).ok()?;
    (plugin(&command) == text).then_some(command)
}

/// Whether a command of a hook is one that `connect` wrote for this program.
pub(crate) fn is_ours(command: &str, program: Program) -> bool {
    let name = program.name();
    command
        .split_once(" hook ")
        .is_some_and(|(before, behind)| {
            let file = before.trim_matches('\'').rsplit('/').next();
            file == Some("countersign") && behind.split(' ').next() == Some(name)
        })
}

/// The value of a flag in a command of ours, and the command without it.
pub(crate) fn flag(command: &str, name: &str) -> (Option<String>, String) {
    let Some((before, behind)) = command.split_once(&format!(" {name} ")) else {
        return (None, command.to_owned());
    };
    let (word, rest) = match behind.strip_prefix('\'') {
        Some(quoted) => {
            let (word, rest) = quoted.split_once("' ").unwrap_or((quoted, ""));
            (word.trim_end_matches('\'').replace(r"'\''", "'"), rest)
        }
        None => {
            let (word, rest) = behind.split_once(' ').unwrap_or((behind, ""));
            (word.to_owned(), rest)
        }
    };
    (Some(word), format!("{before} {rest}"))
}

/// As one word of a shell.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The plugin file of OpenCode; an error in it stops the call.
fn plugin(command: &[String]) -> String {
    let command = serde_json::Value::from(command.to_vec());
    include_str!("connect/opencode.js").replace("[\"COMMAND\"]", &command.to_string())
}

#[cfg(test)]
mod tests;
