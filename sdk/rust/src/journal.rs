//! Asks that survive their process: a folder with one file a key (integrations, section 2).
//!
//! An entry is on the disk before its request is published, and gone before its answer is handed out. So a process that
//! dies between any two steps finds its own request again, and an answer is handed out once.

mod kept;
mod lock;

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use countersign_wire::{AgentKey, ApprovalRequest, Sha256Digest, read_json};

use self::kept::{Kept, Scope, is_old, remove};
use self::lock::{forget, lock, make_private};
use crate::judge::{Asked, FirstSent};
use crate::{Enrolment, GateError};

const LONGEST_KEY: usize = 1024;
/// Hexadecimal digits in a file's name.
const NAME_LENGTH: usize = 40;

/// The folder. Entries of another realm, workspace or agent, and those that cannot be read, count as none.
#[derive(Debug, Clone)]
pub(crate) struct Journal {
    folder: PathBuf,
    scope: Scope,
    agent: AgentKey,
}

/// One key, held by this process until it is dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    path: PathBuf,
    scope: Scope,
    /// The system ends the lock with its process.
    _lock: File,
}

/// A request whose answer was not handed out yet.
pub(crate) struct Pending {
    pub(crate) asked: Asked,
    /// How much of its timer has passed.
    pub(crate) passed: Duration,
}

impl Journal {
    /// Makes the folder where it is missing, and removes entries that are older than their deadline plus a day.
    pub(crate) fn open(folder: PathBuf, enrolment: &Enrolment) -> Result<Self, GateError> {
        make_private(&folder).map_err(failed(&folder))?;
        for path in fs::read_dir(&folder)
            .map_err(failed(&folder))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
        {
            if is_old(&path)
                && let Ok(_held) = lock(&path)
            {
                let _ = fs::remove_file(&path);
                forget(&path);
            }
        }
        let agent = enrolment.agent_key();
        let scope = Scope {
            realm: enrolment.realm.to_string(),
            workspace: agent.workspace.to_string(),
            agent: agent.agent.to_string(),
        };
        Ok(Self {
            folder,
            scope,
            agent,
        })
    }

    /// The entry of a key, which no other process or task has meanwhile, and what its last holder left. Errors:
    /// `already_waiting` where one has it, `journal`, `invalid_request` for what is not a key.
    pub(crate) fn hold(&self, key: &str) -> Result<(Entry, Option<Pending>), GateError> {
        if key.is_empty() || key.chars().count() > LONGEST_KEY {
            return Err(GateError::InvalidRequest {
                code: "wrong_type",
                detail: format!("a key is a text of 1 to {LONGEST_KEY} characters"),
            });
        }
        let path = self.folder.join(self.file_name(key));
        let lock = lock(&path).map_err(|error| match error {
            TryLockError::WouldBlock => GateError::KeyWaiting {
                key: key.to_owned(),
            },
            TryLockError::Error(error) => failed(&path)(error),
        })?;
        let pending = self.pending(&path);
        let entry = Entry {
            path,
            scope: self.scope.clone(),
            _lock: lock,
        };
        Ok((entry, pending))
    }

    fn file_name(&self, key: &str) -> String {
        let scope = &self.scope;
        let scoped = [&scope.realm, &scope.workspace, &scope.agent, key].map(in_ascii);
        let mut name = Sha256Digest::of_bytes(format!("[{}]", scoped.join(", ")).as_bytes()).hex();
        name.truncate(NAME_LENGTH);
        name + ".json"
    }

    fn pending(&self, path: &Path) -> Option<Pending> {
        let kept = Kept::read(path).filter(|kept| kept.scope == self.scope)?;
        let passed = kept.passed();
        let payload = Bytes::from(kept.payload);
        let mut key = read_json::<ApprovalRequest>(&payload).ok()?.key();
        (key.workspace, key.agent) = (self.agent.workspace.clone(), self.agent.agent.clone());
        let asked = Asked::read(key, payload, FirstSent::Journal).ok()?;
        Some(Pending { asked, passed })
    }
}

impl Entry {
    /// Keeps a request before it is published. Error: `journal`.
    pub(crate) fn begin(&self, asked: &Asked) -> Result<(), GateError> {
        Kept::starting(self.scope.clone(), asked)
            .write(&self.path)
            .map_err(failed(&self.path))
    }

    /// Marks that the answer is handed out: the next ask under this key is a new request. Error: `journal`.
    pub(crate) fn end(&self) -> Result<(), GateError> {
        remove(&self.path).map_err(failed(&self.path))
    }
}

impl Drop for Entry {
    /// A lock without an entry is not kept: a key is often used once.
    fn drop(&mut self) {
        forget(&self.path);
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> GateError {
    let path = path.display().to_string();
    move |error| GateError::Journal {
        why: format!("{path}: {error}"),
    }
}

/// A JSON text of ASCII letters, as every SDK writes it for a file's name.
fn in_ascii(text: &str) -> String {
    let mut ascii = String::new();
    for letter in serde_json::Value::from(text).to_string().chars() {
        match letter {
            ' '..='~' => ascii.push(letter),
            _ => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    ascii.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    ascii
}
