//! As whom a hook asks, and what it keeps between its processes.

use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_sdk::{Enrolment, EnrolmentSource, Gate, GateBuilder, GateError};
use uuid::Uuid;

use crate::program::Program;

/// Hooks of one agent introduce it at most so often.
const HELLO_EVERY: Duration = Duration::from_secs(60);
const PENDING: &str = "pending";

/// An enrolment, and the agent's own folder in the state folder: `instance_id`, `hello`, `pending` with the journal,
/// `approved` with the calls whose receipts are to come, and `answered` with those that several entries ask about.
pub(crate) struct Identity {
    enrolment: Enrolment,
    folder: PathBuf,
    instance_id: String,
}

impl Identity {
    /// Errors: `bad_enrolment`, `journal` where the state folder cannot be used.
    pub(crate) async fn open(agent_json: &Path, state: &Path) -> Result<Self, GateError> {
        let enrolment = EnrolmentSource::from(agent_json).read().await?;
        let folder = own_folder(state, &enrolment);
        let used = || -> io::Result<String> {
            for name in ["approved", "answered"] {
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(folder.join(name))?;
            }
            instance_id(&folder)
        };
        let instance_id = used().map_err(|error| GateError::Journal {
            why: format!("{}: {error}", folder.display()),
        })?;
        Ok(Self {
            enrolment,
            folder,
            instance_id,
        })
    }

    pub(crate) fn approved(&self) -> PathBuf {
        self.folder.join("approved")
    }

    pub(crate) fn answered(&self) -> PathBuf {
        self.folder.join("answered")
    }

    /// All hooks of one agent are one copy of it.
    pub(crate) async fn connect(&self, program: Program) -> Result<Gate, GateError> {
        let gate = self
            .builder()
            .framework(program.name(), "")
            .one_shot(&self.instance_id)
            .journal(self.folder.join(PENDING));
        gate.connect().await
    }

    /// A key of an answer, which is good for one tool at one desk.
    pub(crate) fn at_desk(&self, tool: &str, key: &str) -> String {
        format!("{}/{tool}/{key}", self.enrolment.realm)
    }

    fn builder(&self) -> GateBuilder {
        let gate = Gate::builder(self.enrolment.clone());
        let hello = self.folder.join("hello");
        let last = fs::metadata(&hello).and_then(|file| file.modified());
        let ago = last.ok().and_then(|at| at.elapsed().ok());
        if ago.is_some_and(|ago| ago < HELLO_EVERY) {
            return gate.without_hello();
        }
        // One hello more does no harm.
        let _ = fs::write(hello, "");
        gate
    }
}

/// The journal that an agent's hooks share with whatever else asks in its name.
#[must_use]
pub fn journal(state: &Path, enrolment: &Enrolment) -> PathBuf {
    own_folder(state, enrolment).join(PENDING)
}

fn own_folder(state: &Path, enrolment: &Enrolment) -> PathBuf {
    let agent = enrolment.agent_key();
    state
        .join(agent.workspace.to_string())
        .join(agent.agent.to_string())
}

/// Made once; of several processes that make it at once, the first counts.
fn instance_id(folder: &Path) -> io::Result<String> {
    let path = folder.join("instance_id");
    if let Ok(id) = fs::read_to_string(&path)
        && Uuid::parse_str(&id).is_ok()
    {
        return Ok(id);
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(Uuid::new_v4().to_string().as_bytes())?;
    match file.persist_noclobber(&path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => fs::read_to_string(&path),
    }
}
