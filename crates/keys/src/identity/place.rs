//! In which place the seeds of a console are, and how they move to another one.
//!
//! It does not look elsewhere when the remembered place does not answer: a console that cannot read its keys has to say
//! so, and must not become another one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::IdentityError;
use super::seeds::{KeyPlace, SeedError, SeedName, SeedStore};
use crate::data_dir::{DataDir, write_private};

/// File of the keys' folder that names the place.
pub const PLACE_FILE: &str = "place.json";

/// Where a new console is to keep its seeds. One that has seeds keeps them where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyChoice {
    /// In the keychain if it can be used, else in files.
    Auto,
    /// In files.
    #[default]
    File,
    /// In the keychain; an error where it cannot be used.
    Keychain,
}

impl FromStr for KeyChoice {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "auto" => Ok(Self::Auto),
            "file" => Ok(Self::File),
            "keychain" => Ok(Self::Keychain),
            _ => Err(format!(
                "unknown place {word:?}; use auto, file or keychain"
            )),
        }
    }
}

/// The place of a console's seeds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Which.
    pub place: KeyPlace,
    /// Why there, for people.
    pub why: String,
}

impl Kept {
    /// What a data folder remembers; none where nothing, or nothing that can be read.
    #[must_use]
    pub fn of(data: &DataDir) -> Option<Self> {
        remembered(&data.keys()).ok().flatten()
    }

    pub(super) fn new(place: KeyPlace, why: impl Into<String>) -> Self {
        Self {
            place,
            why: why.into(),
        }
    }
}

/// Where a console without seeds is to keep them.
pub(super) fn choose(choice: KeyChoice, keychain: &dyn SeedStore) -> Result<Kept, SeedError> {
    let usable = || keychain.usable();
    match choice {
        KeyChoice::File => Ok(Kept::new(KeyPlace::File, "files were asked for")),
        KeyChoice::Keychain => usable().map(|()| Kept::new(KeyPlace::Keychain, "it was asked for")),
        KeyChoice::Auto => Ok(match usable() {
            Ok(()) => Kept::new(KeyPlace::Keychain, "it could be used at the first start"),
            Err(error) => Kept::new(
                KeyPlace::File,
                format!(
                    "at the first start {} could not be used: {}",
                    error.at, error.why
                ),
            ),
        }),
    }
}

/// The place that a console remembers; none before its first start, or where it began before there
/// was a choice.
pub(super) fn remembered(folder: &Path) -> Result<Option<Kept>, IdentityError> {
    let path = folder.join(PLACE_FILE);
    let failed = |error| IdentityError::Io {
        path: path.clone(),
        error,
    };
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Remembers a place, on the disk when this returns.
pub(super) fn remember(folder: &Path, kept: &Kept) -> Result<(), IdentityError> {
    let path: PathBuf = folder.join(PLACE_FILE);
    serde_json::to_vec(kept)
        .map_err(io::Error::from)
        .and_then(|text| write_private(&path, &text))
        .and_then(|()| fs::File::open(folder)?.sync_all())
        .map_err(|error| IdentityError::Io { path, error })
}

/// Moves every seed. The new place is whole before it is `remembered`, and the old one is emptied only then: a console
/// that is killed between any two steps has its keys in the place that it remembers. What could not be removed from the
/// old place is reported; moving again to the same place removes it.
pub(super) fn relocate(
    from: &dyn SeedStore,
    to: &dyn SeedStore,
    remember: impl FnOnce() -> Result<(), IdentityError>,
) -> Result<Option<SeedError>, IdentityError> {
    to.usable()?;
    for name in SeedName::ALL {
        match from.get(name)? {
            Some(seed) => to.put(name, &seed)?,
            // Left by a move that was cut off, and older than what the console has now.
            None => to.remove(name)?,
        }
    }
    remember()?;
    Ok(clear(from))
}

/// Removes every seed; the first that could not be.
pub(super) fn clear(place: &dyn SeedStore) -> Option<SeedError> {
    SeedName::ALL
        .into_iter()
        .filter_map(|name| place.remove(name).err())
        .reduce(|first, _| first)
}

#[cfg(test)]
mod tests;
