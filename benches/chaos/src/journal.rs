//! What agents and operators write down while they work: one JSON object a line.
//!
//! Each line is one append, so that a killed process leaves whole lines and at most one torn one at
//! the end of its own file.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// A line with its moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Line {
    /// Milliseconds since the machine started.
    pub(crate) at: i64,
    #[serde(flatten)]
    pub(crate) what: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event {
    /// The agent starts to wait for an answer.
    Asked {
        key: String,
        /// How long it waits at most.
        limit_ms: i64,
    },
    /// The agent took the question back: from here on it must not run the call.
    Cancelled { key: String },
    /// The wait is over with an answer.
    Answered {
        key: String,
        verdict: String,
        allowed: bool,
        decision_id: Option<String>,
        waited_ms: i64,
    },
    /// The wait is over without one: the agent received the reason and does not run the call.
    Failed {
        key: String,
        code: String,
        waited_ms: i64,
    },
    /// The tool ran.
    Ran {
        key: String,
        args_digest: String,
        decision_id: Option<String>,
    },
    /// An operator gave a verdict; `outcome` is `stored` or the code of a refusal.
    Verdict {
        key: String,
        verdict: String,
        outcome: String,
        decision_id: Option<String>,
        /// Whether the command line gave it.
        by_command: bool,
    },
    /// The process ended in an orderly way.
    Ended,
}

/// A file of lines.
pub(crate) struct Journal(File);

impl Journal {
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        Ok(Self(file.with_context(|| path.display().to_string())?))
    }

    /// Writes one line.
    pub(crate) fn write(&self, what: Event) -> anyhow::Result<()> {
        let at = now_ms()?;
        let mut line = serde_json::to_vec(&Line { at, what })?;
        line.push(b'\n');
        (&self.0).write_all(&line)?;
        Ok(())
    }
}

/// Milliseconds since the machine started, the same for all processes.
pub(crate) fn now_ms() -> anyhow::Result<i64> {
    let now = clock_gettime(ClockId::CLOCK_BOOTTIME)?;
    Ok(now.tv_sec() * 1_000 + now.tv_nsec() / 1_000_000)
}

/// Every whole line of a file; none if it was never written.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Line>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| serde_json::from_str(line).with_context(|| format!("an odd line: {line}")))
        .collect()
}
