//! How a gate is opened.
//!
//! The defaults never trust: `insecure` has to be said, and only means something where the enrolment holds no key.

use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_wire::Enrolment;

use crate::introduction::Introduction;
use crate::timing::Timing;
use crate::{Gate, GateError};

/// As many as a console takes from one agent (protocol, section 2).
const MAX_WAITING: usize = 10_000;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5 * 60);
const LARGEST_FILE: u64 = 1024 * 1024;

/// An enrolment, or where it is.
#[derive(Debug, Clone)]
pub enum EnrolmentSource {
    /// In memory.
    Given(Box<Enrolment>),
    /// An `agent.json`.
    File(PathBuf),
}

impl From<Enrolment> for EnrolmentSource {
    fn from(enrolment: Enrolment) -> Self {
        Self::Given(Box::new(enrolment))
    }
}

impl From<PathBuf> for EnrolmentSource {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl From<&Path> for EnrolmentSource {
    fn from(path: &Path) -> Self {
        Self::File(path.into())
    }
}

impl From<&str> for EnrolmentSource {
    fn from(path: &str) -> Self {
        Self::File(path.into())
    }
}

impl EnrolmentSource {
    /// Reads it; files that it names are relative to its own folder. Error: `bad_enrolment`.
    pub async fn read(self) -> Result<Enrolment, GateError> {
        let path = match self {
            Self::Given(enrolment) => return Ok(*enrolment),
            Self::File(path) => path,
        };
        let bad = |why: &dyn std::fmt::Display| GateError::BadEnrolment {
            why: format!("{}: {why}", path.display()),
        };
        let about = tokio::fs::metadata(&path).await.map_err(|e| bad(&e))?;
        if about.len() > LARGEST_FILE {
            return Err(bad(&"larger than any enrolment"));
        }
        let text = tokio::fs::read(&path).await.map_err(|e| bad(&e))?;
        // The message of the parser may quote the file, and the file holds a seed.
        let mut enrolment: Enrolment = countersign_wire::read_json(&text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            bad(&format_args!(
                "not an enrolment (line {line}, column {column})"
            ))
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        enrolment.tls = enrolment.tls.under(folder);
        enrolment.nats_creds = enrolment.nats_creds.map(|file| folder.join(file));
        Ok(enrolment)
    }
}

/// Options of a [`Gate`].
#[derive(Debug, Clone)]
#[must_use = "nothing happens until `connect`"]
pub struct GateBuilder {
    pub(crate) enrolment: EnrolmentSource,
    pub(crate) insecure: bool,
    pub(crate) default_timeout: Duration,
    pub(crate) max_waiting: usize,
    pub(crate) introduction: Introduction,
    pub(crate) timing: Timing,
    pub(crate) journal: Option<PathBuf>,
    pub(crate) says_hello: bool,
}

impl GateBuilder {
    pub(crate) fn new(enrolment: EnrolmentSource) -> Self {
        Self {
            enrolment,
            insecure: false,
            default_timeout: DEFAULT_TIMEOUT,
            max_waiting: MAX_WAITING,
            introduction: Introduction::default(),
            timing: Timing::default(),
            journal: None,
            says_hello: true,
        }
    }

    /// Starts although the enrolment trusts no key: then any key may sign, and
    /// anybody who can reach the bus can answer. For trials only.
    pub fn insecure(mut self, accept: bool) -> Self {
        self.insecure = accept;
        self
    }

    /// How long a request waits that names no time-out of its own. 5 minutes.
    pub fn default_timeout(mut self, limit: Duration) -> Self {
        self.default_timeout = limit;
        self
    }

    /// How many requests may wait at once, and receipts with them. 10,000, as many
    /// as a console takes from one agent.
    pub fn max_waiting(mut self, limit: usize) -> Self {
        self.max_waiting = limit.max(1);
        self
    }

    /// The framework that the agent is built with, and its version (empty where it is not known), for hello and the cards.
    pub fn framework(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.introduction.framework = Some((name.into(), version.into()));
        self
    }

    /// A process that asks once and ends, under the same name each time: consoles do not count it among the running
    /// copies of the agent.
    pub fn one_shot(mut self, name: impl Into<String>) -> Self {
        self.introduction.one_shot = Some(name.into());
        self
    }

    /// All that hello says.
    pub fn introduction(mut self, introduction: Introduction) -> Self {
        self.introduction = introduction;
        self
    }

    /// A folder in which asks with a [`key`](crate::Ask::key) survive this process; made if it is missing, readable
    /// for its owner only. Gates of several processes may share it.
    pub fn journal(mut self, folder: impl Into<PathBuf>) -> Self {
        self.journal = Some(folder.into());
        self
    }

    /// Connects without a hello, for one of many short processes that all look the same.
    pub fn without_hello(mut self) -> Self {
        self.says_hello = false;
        self
    }

    /// Limits and intervals.
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Connects. Errors as [`Gate::connect`].
    pub async fn connect(self) -> Result<Gate, GateError> {
        Gate::open(self).await
    }
}
