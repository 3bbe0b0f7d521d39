//! The two keys that sign, and how new ones take over from them.
//!
//! A key is removed only when the next one is kept and the realm's list names it: a crash between two steps leaves a
//! console that works with the old key or with the new one.

use countersign_wire::{KeyRole, PublicKey};
use nkeys::KeyPair;

use super::IdentityError;
use super::seeds::{SeedName, SeedStore};

/// The keys that sign for this console now.
pub struct SigningKeys {
    /// Signs what the operator decided.
    pub human: KeyPair,
    /// Signs what the console decides without a person.
    pub auto: KeyPair,
    /// Public key of `human`.
    pub human_key: PublicKey,
    /// Public key of `auto`.
    pub auto_key: PublicKey,
}

impl SigningKeys {
    pub(super) fn of(human: KeyPair, auto: KeyPair) -> Result<Self, IdentityError> {
        Ok(Self {
            human_key: public(&human)?,
            auto_key: public(&auto)?,
            human,
            auto,
        })
    }

    /// The key of a role.
    #[must_use]
    pub fn key(&self, role: KeyRole) -> &PublicKey {
        match role {
            // No device's key is kept here.
            KeyRole::Human | KeyRole::Device => &self.human_key,
            KeyRole::Auto => &self.auto_key,
        }
    }

    /// The pair of a role.
    #[must_use]
    pub fn pair(&self, role: KeyRole) -> &KeyPair {
        match role {
            KeyRole::Human | KeyRole::Device => &self.human,
            KeyRole::Auto => &self.auto,
        }
    }
}

/// Where a role's seed is kept, and where the one that is to take over.
pub(super) const fn names(role: KeyRole) -> (SeedName, SeedName) {
    match role {
        KeyRole::Human | KeyRole::Device => (SeedName::Human, SeedName::NextHuman),
        KeyRole::Auto => (SeedName::Auto, SeedName::NextAuto),
    }
}

fn public(pair: &KeyPair) -> Result<PublicKey, IdentityError> {
    PublicKey::of(pair).map_err(|_| IdentityError::NotAUserKey)
}

/// A pair that is kept, none where there is none.
pub(super) fn kept(
    seeds: &dyn SeedStore,
    name: SeedName,
) -> Result<Option<KeyPair>, IdentityError> {
    let seed = seeds.get(name)?;
    let read = |seed: String| {
        let pair = KeyPair::from_seed(&seed).ok();
        pair.filter(|pair| public(pair).is_ok())
            .ok_or_else(|| IdentityError::NotAKey {
                at: seeds.describe(name),
            })
    };
    seed.map(read).transpose()
}

/// Keeps a new pair and returns it.
pub(super) fn make(seeds: &dyn SeedStore, name: SeedName) -> Result<KeyPair, IdentityError> {
    let pair = KeyPair::new_user();
    let seed = pair.seed().map_err(|_| IdentityError::NotAUserKey)?;
    seeds.put(name, &seed)?;
    Ok(pair)
}

/// The pair that takes over from `current`: the one that was left by a rotation that was cut off, or a
/// new one. It signs nothing yet.
pub(super) fn next(
    seeds: &dyn SeedStore,
    role: KeyRole,
    current: &PublicKey,
) -> Result<KeyPair, IdentityError> {
    let (_, name) = names(role);
    match kept(seeds, name)? {
        Some(pair) if public(&pair)? != *current => Ok(pair),
        _ => make(seeds, name),
    }
}

/// The pair that is kept for a role and may take over from `current`, if `takes_over` says so of one.
pub(super) fn successor(
    seeds: &dyn SeedStore,
    role: KeyRole,
    current: &PublicKey,
    takes_over: impl Fn(&PublicKey) -> bool,
) -> Result<Option<KeyPair>, IdentityError> {
    let (now, next) = names(role);
    for name in [next, now] {
        let Some(pair) = kept(seeds, name)? else {
            continue;
        };
        let key = public(&pair)?;
        if key != *current && takes_over(&key) {
            return Ok(Some(pair));
        }
    }
    Ok(None)
}

/// Moves a key that has taken over to its own place. To be called by one process at a time.
pub(super) fn settle(
    seeds: &dyn SeedStore,
    role: KeyRole,
    current: &PublicKey,
) -> Result<(), IdentityError> {
    let (now, next) = names(role);
    let Some(pair) = kept(seeds, next)? else {
        return Ok(());
    };
    if public(&pair)? != *current {
        return Ok(());
    }
    let seed = pair.seed().map_err(|_| IdentityError::NotAUserKey)?;
    seeds.put(now, &seed)?;
    Ok(seeds.remove(next)?)
}
