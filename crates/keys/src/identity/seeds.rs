//! Where the seeds of the signing keys are kept.
//!
//! A seed is whole in its place before the one that it replaces is removed.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::data_dir::write_private;

/// A place for seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyPlace {
    /// Files of the data folder that only its owner may read (0600).
    File,
    /// The operating system's keychain.
    Keychain,
}

impl KeyPlace {
    /// The stable word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Keychain => "keychain",
        }
    }

    const fn way_out(self) -> &'static str {
        match self {
            Self::File => "the console's keys must be there and readable by its owner only",
            Self::Keychain => {
                "unlock the system's keychain and start this in the desktop session; `countersign keys move --to file` there moves the keys to files, which need no keychain"
            }
        }
    }
}

/// A seed with a place of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SeedName {
    /// Signs what the operator decided.
    Human,
    /// Signs what the console decides without a person.
    Auto,
    /// Takes over from `Human`, once the realm's list names it.
    NextHuman,
    /// Takes over from `Auto`, once the realm's list names it.
    NextAuto,
}

countersign_wire::words!(SeedName {
    Human => "human", Auto => "auto", NextHuman => "human.next", NextAuto => "auto.next",
});

/// Why a place gives or takes no seed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {why}; {}", self.place.way_out())]
pub struct SeedError {
    /// In which kind of place.
    pub place: KeyPlace,
    /// A path, or the keychain's entry.
    pub at: String,
    /// What the system said.
    pub why: String,
}

/// A place that keeps seeds; blocking, with a limit of its own on every wait.
pub trait SeedStore: Send + Sync {
    /// Which kind of place.
    fn place(&self) -> KeyPlace;

    /// The place of one seed, for people.
    fn describe(&self, name: SeedName) -> String;

    /// Whether it would take a seed now, without asking a person.
    fn usable(&self) -> Result<(), SeedError> {
        Ok(())
    }

    /// The seed, none where there is none.
    ///
    /// # Errors
    /// [`SeedError`] when the place does not answer or is locked.
    fn get(&self, name: SeedName) -> Result<Option<String>, SeedError>;

    /// Keeps a seed in the place of the one before, whole or not at all.
    ///
    /// # Errors
    /// [`SeedError`]; the old one then stays.
    fn put(&self, name: SeedName, seed: &str) -> Result<(), SeedError>;

    /// Removes a seed; one that is not there is removed already.
    fn remove(&self, name: SeedName) -> Result<(), SeedError>;
}

impl fmt::Debug for dyn SeedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SeedStore({})", self.place().as_str())
    }
}

/// Files `human.nk` and the like, 0600, in one folder.
#[derive(Debug, Clone)]
pub struct SeedFiles(PathBuf);

impl SeedFiles {
    /// Keeps seeds in this folder, which is made with the first one.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    fn path(&self, name: SeedName) -> PathBuf {
        self.0.join(format!("{}.nk", name.as_str()))
    }

    fn failed(&self, name: SeedName, error: &io::Error) -> SeedError {
        SeedError {
            place: KeyPlace::File,
            at: self.describe(name),
            why: error.to_string(),
        }
    }

    /// A name is on the disk only when its folder is.
    fn sync(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }
}

impl SeedStore for SeedFiles {
    fn place(&self) -> KeyPlace {
        KeyPlace::File
    }

    fn describe(&self, name: SeedName) -> String {
        self.path(name).display().to_string()
    }

    fn get(&self, name: SeedName) -> Result<Option<String>, SeedError> {
        match fs::read_to_string(self.path(name)) {
            Ok(seed) => Ok(Some(seed.trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(name, &error)),
        }
    }

    fn put(&self, name: SeedName, seed: &str) -> Result<(), SeedError> {
        write_private(&self.path(name), seed.as_bytes())
            .and_then(|()| self.sync())
            .map_err(|error| self.failed(name, &error))
    }

    fn remove(&self, name: SeedName) -> Result<(), SeedError> {
        match fs::remove_file(self.path(name)) {
            Ok(()) => self.sync().map_err(|error| self.failed(name, &error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.failed(name, &error)),
        }
    }
}
