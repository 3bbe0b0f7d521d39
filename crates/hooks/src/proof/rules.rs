//! What a program does with its hooks before a call.

use std::time::Duration;

use serde_json::Value;

use crate::program::Program;

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

    /// The events before a call.
    pub(super) const fn before(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &["PreToolUse", "PermissionRequest"],
            Self::Codex => &["PreToolUse"],
            Self::Gemini => &["BeforeTool"],
            Self::Cursor => &["beforeShellExecution", "beforeMCPExecution"],
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
