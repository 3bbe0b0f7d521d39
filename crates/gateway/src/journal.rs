//! The gateway's folder: one process has it, and what must outlive a power cut is flushed.
//!
//! `asks/ID.json` is flushed at each writing. What the bus knows too is written to `asks/ID.note`, without a flush; the
//! later of the two counts, so that a note that a power cut spoilt costs nothing.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use countersign_wire::{AgentKey, RequestId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ask::{Ask, Keep};
use crate::files::{flush_folder_of, make_private, read, written};
use crate::start_error::StartError;

/// The folder, which this process holds until it ends.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    asks: PathBuf,
    /// The system ends the lock with its process.
    _lock: File,
}

impl Journal {
    /// Makes the folder where it is missing. Error: another process has it, or it cannot be used.
    pub(crate) fn open(folder: &Path) -> Result<Self, StartError> {
        let failed = |source| StartError::Folder {
            path: folder.to_owned(),
            source,
        };
        let asks = folder.join("asks");
        make_private(folder)
            .and_then(|()| make_private(&asks))
            .map_err(failed)?;
        let mut options = OpenOptions::new();
        let lock = options.create(true).truncate(false).write(true).mode(0o600);
        let lock = lock.open(folder.join("lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(StartError::InUse(folder.to_owned())),
            Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
        }
        let folder = folder.to_owned();
        Ok(Self {
            folder,
            asks,
            _lock: lock,
        })
    }

    /// Every ask. A damaged one ends the start: nobody knows whether its answer was claimed.
    pub(crate) fn asks(&self) -> Result<Vec<Ask>, StartError> {
        let unreadable = |path: &Path, source| StartError::Folder {
            path: path.to_owned(),
            source,
        };
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.asks).map_err(|error| unreadable(&self.asks, error))? {
            let path = entry.map_err(|error| unreadable(&self.asks, error))?.path();
            match path.extension().and_then(|end| end.to_str()) {
                Some("json") => {
                    let kept: Ask = read(&path).map_err(|error| unreadable(&path, error))?;
                    let note = read::<Ask>(&path.with_extension("note")).ok();
                    found.push(
                        note.filter(|note| note.seq > kept.seq && note.id == kept.id)
                            .unwrap_or(kept),
                    );
                }
                Some("note") => {}
                // What a killed process was writing.
                _ => drop(fs::remove_file(&path)),
            }
        }
        Ok(found)
    }

    /// Writes an ask; flushed, it is on the disk when this returns.
    pub(crate) fn keep(&self, ask: &Ask, keep: Keep) -> io::Result<()> {
        let path = self.path(&ask.id);
        match keep {
            Keep::Nothing => Ok(()),
            Keep::Written => written(&path.with_extension("note"), ask, false),
            Keep::Flushed => {
                written(&path, ask, true)?;
                // It is the earlier one now.
                let _ = fs::remove_file(path.with_extension("note"));
                Ok(())
            }
        }
    }

    /// Removes an ask; its absence is on the disk when this returns.
    pub(crate) fn remove(&self, id: &RequestId) -> io::Result<()> {
        let path = self.path(id);
        for path in [&path.with_extension("note"), &path] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        flush_folder_of(&path)
    }

    /// What an agent said of itself last; none where it said nothing that can be read.
    pub(crate) fn hello<T: DeserializeOwned>(&self, agent: &AgentKey) -> Option<T> {
        read(&self.hello_path(agent)).ok()
    }

    /// Keeps what an agent says of itself.
    pub(crate) fn keep_hello(&self, agent: &AgentKey, hello: &impl Serialize) -> io::Result<()> {
        written(&self.hello_path(agent), hello, true)
    }

    fn hello_path(&self, agent: &AgentKey) -> PathBuf {
        // A dot is in neither name.
        let name = format!("hello.{}.{}.json", agent.workspace, agent.agent);
        self.folder.join(name)
    }

    fn path(&self, id: &RequestId) -> PathBuf {
        self.asks.join(format!("{id}.json"))
    }
}

#[cfg(test)]
mod tests;
