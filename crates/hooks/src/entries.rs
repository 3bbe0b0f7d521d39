//! One answer for all entries of a program's settings that ask about the same call.
//!
//! Never hands an answer to the same entry twice: that could be another call.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use countersign_sdk::wire::Sha256Digest;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::outcome::Outcome;

/// The program starts its hooks at once; one that comes later is asked about another call.
const SAME_CALL: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A call, held by the entry that asks about it.
pub(crate) struct Turn(File, Kept);

#[derive(Clone, Default, Serialize, Deserialize)]
struct Kept {
    /// The entries that asked or have the answer; the first asked.
    entries: Vec<String>,
    outcome: Option<Outcome>,
}

impl Turn {
    /// Waits while another entry asks, and takes its answer. None where a process of this same entry asks.
    pub(crate) async fn of(folder: &Path, key: &str, entry: &str) -> io::Result<Option<Self>> {
        remove_old(folder)?;
        let path = folder.join(Sha256Digest::of_bytes(key.as_bytes()).hex());
        loop {
            let mut options = OpenOptions::new();
            options.create(true).truncate(false).read(true).write(true);
            let file = options.mode(0o600).open(&path)?;
            let kept = || serde_json::from_reader::<_, Kept>(&file).unwrap_or_default();
            match file.try_lock() {
                // Removed as an old one meanwhile.
                Ok(()) if !is_at(&file, &path) => {}
                Ok(()) => {
                    let mut kept = kept();
                    let of_other = !kept.entries.iter().any(|name| name == entry);
                    if !of_other || kept.outcome.is_none() || is_old(&path) {
                        kept = Kept::default();
                    }
                    kept.entries.push(entry.to_owned());
                    let mut turn = Self(file, kept);
                    turn.write()?;
                    return Ok(Some(turn));
                }
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => {
                    if kept().entries.first().is_some_and(|name| name == entry) {
                        return Ok(None);
                    }
                }
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// What another entry was answered.
    pub(crate) fn answer(&self) -> Option<Outcome> {
        self.1.outcome.clone()
    }

    /// For the other entries.
    pub(crate) fn give(mut self, outcome: &Outcome) -> io::Result<()> {
        self.1.outcome = Some(outcome.clone());
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        self.0.rewind()?;
        self.0.set_len(0)?;
        self.0.write_all(&serde_json::to_vec(&self.1)?)
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let number = |about: io::Result<fs::Metadata>| about.map(|about| about.ino()).ok();
    number(file.metadata()).is_some_and(|own| number(fs::metadata(path)) == Some(own))
}

fn is_old(path: &Path) -> bool {
    let written = fs::metadata(path).and_then(|file| file.modified());
    // A clock that went back makes it old: the call is asked about anew.
    let age = written.map(|at| at.elapsed().unwrap_or(Duration::MAX));
    age.is_ok_and(|age| age > SAME_CALL)
}

/// One that is held stays.
fn remove_old(folder: &Path) -> io::Result<()> {
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if is_old(&path) && File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}
