//! What a program does with its hooks before a call, and which of its versions were tried.

use std::time::Duration;

use regex::Regex;
use serde_json::Value;

use crate::program::Program;

/// Of a program, as `--version` says it.
pub type Version = [u32; 3];

impl Program {
    /// As people name it.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Cursor => "Cursor",
            Self::Copilot => "Copilot CLI",
            Self::OpenCode => "OpenCode",
        }
    }

    /// The names under which it may be installed.
    pub const fn executables(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &["claude"],
            Self::Codex => &["codex"],
            Self::Gemini => &["gemini"],
            Self::Cursor => &["cursor", "cursor-agent"],
            Self::Copilot => &["copilot"],
            Self::OpenCode => &["opencode"],
        }
    }

    /// The newest version whose events were tried (`docs/compatibility.md`); Cursor's are those of its documents.
    pub(super) const fn tried(self) -> Option<Version> {
        match self {
            Self::ClaudeCode => Some([2, 1, 332]),
            Self::Codex => Some([0, 171, 0]),
            Self::Gemini => Some([0, 61, 0]),
            Self::Cursor => None,
            Self::Copilot => Some([1, 0, 102]),
            Self::OpenCode => Some([1, 18, 33]),
        }
    }

    /// Whether this version blocks a call whose hook fails (Claude Code), or asks before every tool (Cursor, whose
    /// terminal program counts by dates). A version that could not be read counts as a new one.
    #[must_use]
    pub fn is_old(self, version: Option<Version>) -> bool {
        let since = match (self, version) {
            (Self::ClaudeCode, _) => [2, 1, 295],
            (Self::Cursor, Some([year, ..])) if year > 2_000 => [2026, 1, 22],
            (Self::Cursor, _) => [2, 4, 0],
            _ => return false,
        };
        version.is_some_and(|version| version < since)
    }

    /// The tool for shell commands, and the one that writes a file.
    pub(super) const fn tools(self) -> (&'static str, &'static str) {
        match self {
            Self::ClaudeCode => ("Bash", "Write"),
            Self::Codex => ("Bash", "apply_patch"),
            Self::Gemini => ("run_shell_command", "write_file"),
            Self::Cursor => ("Shell", "Write"),
            Self::Copilot => ("bash", "create"),
            Self::OpenCode => ("bash", "write"),
        }
    }

    /// The events before a call.
    pub(super) const fn before(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &["PreToolUse", "PermissionRequest"],
            Self::Codex => &["PreToolUse"],
            Self::Gemini => &["BeforeTool"],
            Self::Cursor => &["preToolUse", "beforeShellExecution", "beforeMCPExecution"],
            Self::Copilot => &["preToolUse"],
            Self::OpenCode => &["tool.execute.before"],
        }
    }

    /// The setting that turns every hook off.
    pub(super) const fn switch(self) -> &'static str {
        match self {
            Self::Codex => "hooks = false",
            Self::Gemini => "hooksConfig",
            _ => "disableAllHooks",
        }
    }

    /// Whether these settings turn every hook off; None where they do not say.
    pub(super) fn hooks_off(self, settings: &Value) -> Option<bool> {
        match self {
            Self::Codex => settings["features"]["hooks"].as_bool().map(|on| !on),
            Self::Gemini => settings["hooksConfig"]["enabled"].as_bool().map(|on| !on),
            Self::ClaudeCode | Self::Copilot => settings["disableAllHooks"].as_bool(),
            Self::Cursor | Self::OpenCode => None,
        }
    }

    /// How long the program waits for this hook.
    pub(super) fn waits(self, hook: &Value) -> Duration {
        let seconds = |name: &str, default: f64| {
            let seconds = hook[name].as_f64().unwrap_or(default);
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        };
        match self {
            Self::ClaudeCode | Self::Codex => seconds("timeout", 600.0),
            Self::Gemini => seconds("timeout", 60_000.0) / 1_000,
            Self::Cursor => seconds("timeout", 60.0),
            Self::Copilot => seconds("timeoutSec", 30.0),
            // Its plugin waits as long as the hook takes.
            Self::OpenCode => Duration::MAX,
        }
    }
}

/// As the programs match: names with `|` between them whole, anything else a pattern that occurs in the name.
pub(super) fn fits(matcher: Option<&str>, name: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "_|-, ".contains(letter);
    match matcher.unwrap_or_default() {
        "" | "*" => true,
        names if names.chars().all(plain) => names.split(['|', ',']).any(|of| of.trim() == name),
        pattern => Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(name)),
    }
}
