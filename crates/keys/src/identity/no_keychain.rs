//! Systems whose keychain this build does not speak to.
//!
//! Every operation fails: seeds are kept in files there.

use uuid::Uuid;

use super::seeds::{KeyPlace, SeedError, SeedName, SeedStore};

/// A keychain that cannot be used.
pub(super) struct NoKeychain;

impl NoKeychain {
    pub(super) fn new(_console: Uuid) -> Self {
        Self
    }

    fn refused() -> SeedError {
        SeedError {
            place: KeyPlace::Keychain,
            at: "the system's keychain".to_owned(),
            why: "this build does not support this system's keychain".to_owned(),
        }
    }
}

impl SeedStore for NoKeychain {
    fn place(&self) -> KeyPlace {
        KeyPlace::Keychain
    }
    fn describe(&self, name: SeedName) -> String {
        format!("the keychain's entry {}", name.as_str())
    }
    fn usable(&self) -> Result<(), SeedError> {
        Err(Self::refused())
    }
    fn get(&self, _name: SeedName) -> Result<Option<String>, SeedError> {
        Err(Self::refused())
    }
    fn put(&self, _name: SeedName, _seed: &str) -> Result<(), SeedError> {
        Err(Self::refused())
    }
    fn remove(&self, _name: SeedName) -> Result<(), SeedError> {
        Err(Self::refused())
    }
}
