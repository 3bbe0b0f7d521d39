//! The programs that hooks are written for.

use countersign_sdk::Which;
use serde_json::json;

use crate::answer::Answer;
use crate::call::{Call, Report, Step};
use crate::event::Event;
use crate::outcome::Outcome;
use crate::{claude, codex, copilot, cursor, gemini, opencode};

/// A coding agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// Copilot CLI.
    Copilot,
    /// OpenCode, through the plugin that `connect` writes.
    OpenCode,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Gemini,
        Self::Cursor,
        Self::Copilot,
        Self::OpenCode,
    ];

    /// As it is named on the command line, and its agent by default.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::Copilot => "copilot",
            Self::OpenCode => "opencode",
        }
    }

    /// Globs of the tools that do not ask unless the command line says otherwise.
    pub const fn unasked(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &claude::READ_ONLY,
            Self::Cursor => &cursor::READ_ONLY,
            _ => &[],
        }
    }

    /// What to do about an event; the error is why it cannot be read.
    pub(crate) fn step(self, event: &Event, which: &Which) -> Result<Step, String> {
        let step = match self {
            Self::ClaudeCode => claude::step(event),
            Self::Codex => codex::step(event),
            Self::Gemini => gemini::step(event),
            Self::Cursor => cursor::step(event),
            Self::Copilot => copilot::step(event),
            Self::OpenCode => opencode::step(event),
        }?;
        Ok(match step {
            Step::Ask(call) if !which.asks(&call.tool) => Step::Unasked,
            step => step,
        })
    }

    /// What the program reads of an outcome.
    pub(crate) fn answer(self, call: &Call, outcome: &Outcome) -> Answer {
        match self {
            Self::ClaudeCode => claude::answer(call, outcome),
            Self::Codex => codex::answer(outcome),
            Self::Gemini => gemini::answer(outcome),
            Self::Cursor => cursor::answer(call, outcome),
            Self::Copilot => copilot::answer(outcome),
            Self::OpenCode => opencode::answer(outcome),
        }
    }

    /// Whether it makes the ids of its calls itself; elsewhere a model's server may give one to several.
    #[must_use]
    pub const fn own_ids(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Codex)
    }

    /// What it reads after a call that ran with other arguments than the approved ones.
    pub(crate) fn differs(self, report: &Report) -> Answer {
        let words = format!(
            "{} ran with other arguments than were approved.",
            report.tool
        );
        let event = match (self, &report.failed) {
            (Self::Gemini, _) => "AfterTool",
            (_, Some(_)) => "PostToolUseFailure",
            _ => "PostToolUse",
        };
        let nested = json!({ "hookEventName": event, "additionalContext": words });
        Answer::json(&match self {
            Self::Cursor => json!({ "additional_context": words }),
            Self::Copilot => json!({ "additionalContext": words, "hookSpecificOutput": nested }),
            Self::OpenCode => json!({ "words": words }),
            _ => json!({ "hookSpecificOutput": nested }),
        })
    }

    /// What it reads where a call does not ask: its own permissions decide.
    pub(crate) fn unasked_answer(self) -> Answer {
        match self {
            // Under `failClosed` no JSON is a fault.
            Self::Cursor => Answer::empty(),
            Self::OpenCode => opencode::unasked(),
            _ => Answer::nothing(),
        }
    }
}
