//! Who this console is: its id, the key that logs in, and the two keys that sign.
//!
//! The login key never signs a decision and a signing key never logs in: a NATS client signs
//! whatever nonce a server sends (protocol, section 5).

#[cfg(all(target_os = "linux", feature = "keychain"))]
mod desktop_secrets;
#[cfg(all(target_os = "linux", feature = "keychain"))]
mod keychain;
#[cfg(not(all(target_os = "linux", feature = "keychain")))]
mod no_keychain;
mod place;
mod seeds;
mod signing;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use countersign_domain::Fault;
use countersign_redaction::Hiding;
use countersign_wire::{KeyRole, PublicKey, TrustedKey};
use nkeys::KeyPair;
use parking_lot::RwLock;
use uuid::Uuid;

#[cfg(all(target_os = "linux", feature = "keychain"))]
use keychain::Keychain;
#[cfg(not(all(target_os = "linux", feature = "keychain")))]
use no_keychain::NoKeychain as Keychain;

use crate::data_dir::{ConsoleLock, DataDir, DataDirError, KeysLock, write_private};

pub use place::{Kept, KeyChoice, PLACE_FILE};
pub use seeds::{KeyPlace, SeedError, SeedFiles, SeedName, SeedStore};
pub use signing::SigningKeys;

const ROLES: [KeyRole; 2] = [KeyRole::Human, KeyRole::Auto];

/// Why the keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A key file.
    #[error("{path}: {error}; the console's keys must be readable by its owner only")]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A place that gives or takes no seed.
    #[error(transparent)]
    Seed(#[from] SeedError),
    /// Seeds that the keychain held and does not hold any more. No new ones are made unasked.
    #[error(
        "{at}: the system's keychain no longer holds this key; restore the keychain, or a backup made with --include-keys; to become a new operator instead, remove {marker} and retire the old keys with `countersign operators retire`"
    )]
    Gone {
        /// The keychain's entry.
        at: String,
        /// The file that names the keychain.
        marker: PathBuf,
    },
    /// The folder of the keys.
    #[error(transparent)]
    Folder(#[from] DataDirError),
    /// Not a key.
    #[error("{at} holds no user nkey; restore it from a backup, or remove it to get a new key")]
    NotAKey {
        /// A path, or the keychain's entry.
        at: String,
    },
    /// Not a console's id.
    #[error("{} holds no id of a console; restore it from a backup, or remove it to become another console", .path.display())]
    NotAnId {
        /// The file.
        path: PathBuf,
    },
    /// A key that signs nothing here.
    #[error("the key is not that of a user")]
    NotAUserKey,
}

/// What to do where a key is missing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Refuse,
}

/// The console's id and keys.
pub struct Identity {
    /// Names this data folder among the consoles of a realm.
    pub console_id: Uuid,
    /// The operator's display name.
    pub operator: String,
    /// Logs in to NATS.
    pub login: KeyPair,
    signing: RwLock<Arc<SigningKeys>>,
    seeds: Arc<dyn SeedStore>,
    kept: Kept,
    data: DataDir,
}

/// What opens the keychain's entries of a console.
type Open<'a> = &'a dyn Fn(Uuid) -> Arc<dyn SeedStore>;

fn system(console: Uuid) -> Arc<dyn SeedStore> {
    Arc::new(Keychain::new(console))
}

impl Identity {
    /// Reads the identity of a data folder, or makes it. Only the process that holds the folder's
    /// lock may make one: two makers would sign with keys that are not on disk.
    pub fn load_or_create(
        data: &DataDir,
        operator: &str,
        choice: KeyChoice,
        _maker: &ConsoleLock,
    ) -> Result<Self, IdentityError> {
        Self::read(data, operator, Missing::Make, choice, &system)
    }

    /// The identity of a data folder, made if nobody runs there and there is none.
    pub fn open(data: &DataDir, operator: &str, choice: KeyChoice) -> Result<Self, IdentityError> {
        match data.try_lock() {
            Ok(Some(lock)) => Self::load_or_create(data, operator, choice, &lock),
            _ => Self::load(data, operator),
        }
    }

    /// Reads the identity of a data folder.
    pub fn load(data: &DataDir, operator: &str) -> Result<Self, IdentityError> {
        Self::read(data, operator, Missing::Refuse, KeyChoice::File, &system)
    }

    fn read(
        data: &DataDir,
        operator: &str,
        missing: Missing,
        choice: KeyChoice,
        open: Open<'_>,
    ) -> Result<Self, IdentityError> {
        let folder = data.keys();
        let console_id = console_id(&folder.join("console-id"), missing)?;
        let files = SeedFiles::new(folder.clone());
        let remembered = place::remembered(&folder)?;
        let kept = match &remembered {
            Some(kept) => kept.clone(),
            None if files.get(SeedName::Human)?.is_some() => {
                Kept::new(KeyPlace::File, "they have been there since the first start")
            }
            None if missing == Missing::Refuse => {
                Kept::new(KeyPlace::File, "the console has not been started yet")
            }
            None => place::choose(choice, &*open(console_id))?,
        };
        let seeds: Arc<dyn SeedStore> = match kept.place {
            KeyPlace::File => Arc::new(files),
            KeyPlace::Keychain => open(console_id),
        };
        let held = remembered.is_some() && kept.place == KeyPlace::Keychain;
        let pair = |name| match signing::kept(&*seeds, name)? {
            Some(pair) => Ok(pair),
            None if held => Err(IdentityError::Gone {
                at: seeds.describe(name),
                marker: folder.join(PLACE_FILE),
            }),
            None if missing == Missing::Make => signing::make(&*seeds, name),
            None => Err(IdentityError::Seed(SeedError {
                place: kept.place,
                at: seeds.describe(name),
                why: "there is no key".to_owned(),
            })),
        };
        let signing = SigningKeys::of(pair(SeedName::Human)?, pair(SeedName::Auto)?)?;
        // Only now: whoever is killed before finds the same seeds in the keychain, or makes new ones
        // that nobody has seen yet.
        if missing == Missing::Make && remembered.is_none() {
            place::remember(&folder, &kept)?;
        }
        Ok(Self {
            console_id,
            operator: operator.to_owned(),
            login: login(&folder.join("login.nk"), missing)?,
            signing: RwLock::new(Arc::new(signing)),
            seeds,
            kept,
            data: data.clone(),
        })
    }

    /// Moves the seeds of the signing keys to another place; what could not be removed from the old
    /// one. The keys stay the same. This identity then knows the old place only: it is to be dropped.
    /// To be called by the process that holds the folder ([`Identity::try_lock`] too). Blocks.
    ///
    /// # Errors
    /// [`IdentityError`]; the seeds are then where they were.
    pub fn relocate(&self, to: KeyPlace) -> Result<Option<SeedError>, IdentityError> {
        self.relocate_with(to, &system)
    }

    fn relocate_with(
        &self,
        to: KeyPlace,
        open: Open<'_>,
    ) -> Result<Option<SeedError>, IdentityError> {
        let folder = self.data.keys();
        let at = |place| -> Arc<dyn SeedStore> {
            match place {
                KeyPlace::File => Arc::new(SeedFiles::new(folder.clone())),
                KeyPlace::Keychain => open(self.console_id),
            }
        };
        let other = match to {
            KeyPlace::File => KeyPlace::Keychain,
            KeyPlace::Keychain => KeyPlace::File,
        };
        if self.kept.place == to {
            // An unreachable keychain may hold copies; that is reported and does no harm.
            return Ok(place::clear(&*at(other)));
        }
        let kept = Kept::new(to, "they were moved there");
        place::relocate(&*self.seeds, &*at(to), || place::remember(&folder, &kept))
    }

    /// The keys that sign now. They may be replaced by newer ones at any time: what belongs together
    /// is signed with the pair and the key of one call.
    #[must_use]
    pub fn signing(&self) -> Arc<SigningKeys> {
        Arc::clone(&self.signing.read())
    }

    /// Public key of the operator.
    #[must_use]
    pub fn human_key(&self) -> PublicKey {
        self.signing().human_key.clone()
    }

    /// Public key of the console.
    #[must_use]
    pub fn auto_key(&self) -> PublicKey {
        self.signing().auto_key.clone()
    }

    /// Where the seeds of the signing keys are kept.
    #[must_use]
    pub fn key_place(&self) -> KeyPlace {
        self.kept.place
    }

    /// Where, and why there.
    #[must_use]
    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Takes the lock under which signing keys are changed, if no other process holds it.
    pub fn try_lock(&self) -> Result<Option<KeysLock>, IdentityError> {
        Ok(self.data.try_lock_keys()?)
    }

    /// The pair that is to take over from a role's key; kept, and not in use yet. To be called by one
    /// process at a time ([`Identity::try_lock`]). Blocks.
    pub fn next(&self, role: KeyRole) -> Result<KeyPair, IdentityError> {
        signing::next(&*self.seeds, role, self.signing().key(role))
    }

    /// Takes the keys into use that have taken over by `takes_over(old, new)`; whether there were any.
    /// Blocks.
    ///
    /// # Errors
    /// [`IdentityError`]; the keys are then as before.
    pub fn follow(
        &self,
        takes_over: impl Fn(&PublicKey, &PublicKey) -> bool,
    ) -> Result<bool, IdentityError> {
        let now = self.signing();
        let [human, auto] = ROLES.map(|role| {
            let old = now.key(role);
            signing::successor(&*self.seeds, role, old, |new| takes_over(old, new))
        });
        let (human, auto) = (human?, auto?);
        if human.is_none() && auto.is_none() {
            return Ok(false);
        }
        let keys = SigningKeys::of(
            human.unwrap_or_else(|| now.human.clone()),
            auto.unwrap_or_else(|| now.auto.clone()),
        )?;
        *self.signing.write() = Arc::new(keys);
        Ok(true)
    }

    /// Moves keys that have taken over to their own place. To be called by one process at a time
    /// ([`Identity::try_lock`]). Blocks.
    ///
    /// # Errors
    /// [`IdentityError`]; to be tried again, and nothing is lost.
    pub fn settle(&self) -> Result<(), IdentityError> {
        let now = self.signing();
        ROLES
            .into_iter()
            .try_for_each(|role| signing::settle(&*self.seeds, role, now.key(role)))
    }

    /// Name under which the console itself decides.
    #[must_use]
    pub fn console_name(&self) -> String {
        format!("console {}", &self.console_id.simple().to_string()[..8])
    }

    /// Hides secrets from people under a key of this console: it comes from the login key, which no
    /// rotation replaces, so that equal values look equal in a window that was open before.
    #[must_use]
    pub fn hiding(&self) -> Hiding {
        // A key in memory always has its seed.
        Hiding::from_seed(&self.login.seed().unwrap_or_default())
    }

    /// What an agent must trust.
    #[must_use]
    pub fn trusted_keys(&self) -> [TrustedKey; 2] {
        let keys = self.signing();
        [
            TrustedKey {
                key: keys.human_key.clone().into(),
                name: self.operator.clone(),
                role: KeyRole::Human,
            },
            TrustedKey {
                key: keys.auto_key.clone().into(),
                name: self.console_name(),
                role: KeyRole::Auto,
            },
        ]
    }
}

fn console_id(file: &Path, missing: Missing) -> Result<Uuid, IdentityError> {
    let failed = |error| IdentityError::Io {
        path: file.to_owned(),
        error,
    };
    match fs::read_to_string(file) {
        // Under another id it would be another console, and its keys in a keychain would not be found.
        Ok(text) => text.trim().parse().map_err(|_| IdentityError::NotAnId {
            path: file.to_owned(),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound && missing == Missing::Make => {
            let id = Uuid::new_v4();
            write_private(file, id.to_string().as_bytes()).map_err(failed)?;
            Ok(id)
        }
        Err(error) => Err(failed(error)),
    }
}

/// Reads the seed in `path`, or makes a new user key there.
fn login(path: &Path, missing: Missing) -> Result<KeyPair, IdentityError> {
    let not_a_key = || IdentityError::NotAKey {
        at: path.display().to_string(),
    };
    match fs::read_to_string(path) {
        Ok(seed) => KeyPair::from_seed(seed.trim()).map_err(|_| not_a_key()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && missing == Missing::Make => {
            let pair = KeyPair::new_user();
            let seed = pair.seed().map_err(|_| not_a_key())?;
            write_private(path, seed.as_bytes()).map_err(|error| IdentityError::Io {
                path: path.to_owned(),
                error,
            })?;
            Ok(pair)
        }
        Err(error) => Err(IdentityError::Io {
            path: path.to_owned(),
            error,
        }),
    }
}

impl From<IdentityError> for Fault {
    fn from(error: IdentityError) -> Self {
        Self::environment(error.to_string())
    }
}

#[cfg(test)]
mod tests;
