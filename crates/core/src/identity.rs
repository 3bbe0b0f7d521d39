//! Who this console is: its id, the key that logs in, and the two keys that sign.
//!
//! The login key never signs a decision and a signing key never logs in: a NATS client signs
//! whatever nonce a server sends (protocol, section 5).

mod seeds;
mod signing;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use countersign_wire::{Hiding, KeyRole, PublicKey, TrustedKey};
use nkeys::KeyPair;
use uuid::Uuid;

use crate::data_dir::{ConsoleLock, DataDir, DataDirError, KeysLock, write_private};

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
    #[error("{0}; the console's keys must be there and readable by its owner only")]
    Seed(#[from] SeedError),
    /// The folder of the keys.
    #[error(transparent)]
    Folder(#[from] DataDirError),
    /// Something that is no key.
    #[error("{at} holds no user nkey; restore it from a backup, or remove it to get a new key")]
    NotAKey {
        /// A path, or the keychain's entry.
        at: String,
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
    data: DataDir,
}

impl Identity {
    /// Reads the identity of a data folder, or makes it. Only the process that holds the folder's
    /// lock may make one: two makers would sign with keys that are not on disk.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn load_or_create(
        data: &DataDir,
        operator: &str,
        _maker: &ConsoleLock,
    ) -> Result<Self, IdentityError> {
        Self::read(data, operator, Missing::Make)
    }

    /// The identity of a data folder, made if nobody runs there and there is none.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn open(data: &DataDir, operator: &str) -> Result<Self, IdentityError> {
        match data.try_lock() {
            Ok(Some(lock)) => Self::load_or_create(data, operator, &lock),
            _ => Self::load(data, operator),
        }
    }

    /// Reads the identity of a data folder.
    ///
    /// # Errors
    /// [`IdentityError`]; also when there is none.
    pub fn load(data: &DataDir, operator: &str) -> Result<Self, IdentityError> {
        Self::read(data, operator, Missing::Refuse)
    }

    fn read(data: &DataDir, operator: &str, missing: Missing) -> Result<Self, IdentityError> {
        let folder = data.keys();
        let console_id = console_id(&folder.join("console-id"), missing)?;
        let seeds = SeedFiles::new(folder.clone());
        let pair = |name| match signing::kept(&seeds, name)? {
            Some(pair) => Ok(pair),
            None if missing == Missing::Make => signing::make(&seeds, name),
            None => Err(IdentityError::Seed(SeedError {
                at: seeds.describe(name),
                why: "there is no key".to_owned(),
            })),
        };
        let signing = SigningKeys::of(pair(SeedName::Human)?, pair(SeedName::Auto)?)?;
        Ok(Self {
            console_id,
            operator: operator.to_owned(),
            login: login(&folder.join("login.nk"), missing)?,
            signing: RwLock::new(Arc::new(signing)),
            seeds: Arc::new(seeds),
            data: data.clone(),
        })
    }

    /// The keys that sign now. They may be replaced by newer ones at any time: what belongs together
    /// is signed with the pair and the key of one call.
    #[must_use]
    pub fn signing(&self) -> Arc<SigningKeys> {
        let keys = self.signing.read();
        Arc::clone(&keys.unwrap_or_else(PoisonError::into_inner))
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
        self.seeds.place()
    }

    /// Takes the lock under which signing keys are changed, if no other process holds it.
    ///
    /// # Errors
    /// [`IdentityError::Folder`].
    pub fn try_lock(&self) -> Result<Option<KeysLock>, IdentityError> {
        Ok(self.data.try_lock_keys()?)
    }

    /// The pair that is to take over from a role's key; kept, and not in use yet. To be called by one
    /// process at a time ([`Identity::try_lock`]). Blocks.
    ///
    /// # Errors
    /// [`IdentityError`].
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
        let mut held = self.signing.write().unwrap_or_else(PoisonError::into_inner);
        *held = Arc::new(keys);
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
                key: keys.human_key.clone(),
                name: self.operator.clone(),
                role: KeyRole::Human,
            },
            TrustedKey {
                key: keys.auto_key.clone(),
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
    let stored = fs::read_to_string(file)
        .ok()
        .and_then(|text| text.trim().parse().ok());
    match stored {
        Some(id) => Ok(id),
        None if missing == Missing::Refuse => Err(failed(io::ErrorKind::NotFound.into())),
        None => {
            let id = Uuid::new_v4();
            write_private(file, id.to_string().as_bytes()).map_err(failed)?;
            Ok(id)
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_made_once_and_its_three_keys_differ() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        assert!(
            Identity::load(&data, "Ada").is_err(),
            "nobody reads what nobody made"
        );
        let lock = data.try_lock().unwrap().unwrap();
        let first = Identity::load_or_create(&data, "Ada", &lock).unwrap();
        let second = Identity::load(&data, "Ada").unwrap();
        assert_eq!(first.console_id, second.console_id);
        assert_eq!(first.human_key(), second.human_key());
        assert_ne!(first.human_key(), first.auto_key());
        assert_ne!(first.login.public_key(), first.human_key().as_str());
    }

    #[test]
    fn a_damaged_key_is_an_error_and_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let lock = data.try_lock().unwrap().unwrap();
        fs::create_dir(data.keys()).unwrap();
        fs::write(data.keys().join("human.nk"), "nonsense").unwrap();
        assert!(matches!(
            Identity::load_or_create(&data, "Ada", &lock),
            Err(IdentityError::NotAKey { .. })
        ));
        assert_eq!(
            fs::read_to_string(data.keys().join("human.nk")).unwrap(),
            "nonsense"
        );
    }

    /// A place that fails after so many changes, as a console that is killed then.
    struct Dies {
        files: SeedFiles,
        left: std::sync::atomic::AtomicUsize,
    }

    impl Dies {
        fn step(&self) -> Result<(), SeedError> {
            use std::sync::atomic::Ordering::SeqCst;
            let left = self
                .left
                .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
            left.map(drop).map_err(|_| SeedError {
                at: "here".into(),
                why: "killed".into(),
            })
        }
    }

    impl SeedStore for Dies {
        fn place(&self) -> KeyPlace {
            KeyPlace::File
        }
        fn describe(&self, name: SeedName) -> String {
            self.files.describe(name)
        }
        fn get(&self, name: SeedName) -> Result<Option<String>, SeedError> {
            self.files.get(name)
        }
        fn put(&self, name: SeedName, seed: &str) -> Result<(), SeedError> {
            self.step()?;
            self.files.put(name, seed)
        }
        fn remove(&self, name: SeedName) -> Result<(), SeedError> {
            self.step()?;
            self.files.remove(name)
        }
    }

    /// Six changes: two new seeds kept, the list written, and for each role the seed moved and its old
    /// place emptied. Killed after any of them, the next start has the keys that the list names.
    #[test]
    fn a_rotation_killed_between_any_two_steps_leaves_a_console_that_works() {
        for steps in 0..=6 {
            let folder = tempfile::tempdir().unwrap();
            let data = DataDir::open(folder.path()).unwrap();
            let mut dying = Identity::open(&data, "Ada").unwrap();
            let old = [dying.human_key(), dying.auto_key()];
            let hidden = dying.hiding().key();
            dying.seeds = Arc::new(Dies {
                files: SeedFiles::new(data.keys()),
                left: steps.into(),
            });
            let next: Result<Vec<_>, _> = ROLES.into_iter().map(|role| dying.next(role)).collect();
            // The list is written only when both are kept.
            let listed: Option<Vec<PublicKey>> = next.ok().map(|pairs| {
                pairs
                    .iter()
                    .map(|pair| PublicKey::of(pair).unwrap())
                    .collect()
            });
            let takes_over = |_: &PublicKey, new: &PublicKey| {
                listed.as_ref().is_some_and(|listed| listed.contains(new))
            };
            if listed.is_some() {
                assert!(dying.follow(takes_over).unwrap());
                let _ = dying.settle();
            }
            drop(dying);
            let again = Identity::load(&data, "Ada").unwrap();
            again.follow(takes_over).unwrap();
            again.settle().unwrap();
            let now = vec![again.human_key(), again.auto_key()];
            match &listed {
                None => assert_eq!(now, old, "killed after {steps} steps"),
                Some(listed) => assert_eq!(&now, listed, "killed after {steps} steps"),
            }
            assert_eq!(again.hiding().key(), hidden, "hidden values look as before");
            let once_more = Identity::load(&data, "Ada").unwrap();
            assert_eq!(once_more.human_key(), now[0]);
            assert!(!once_more.follow(takes_over).unwrap());
        }
    }

    #[test]
    fn a_rotation_that_was_cut_off_goes_on_with_the_same_keys() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let identity = Identity::open(&data, "Ada").unwrap();
        for role in ROLES {
            let next = identity.next(role).unwrap();
            let again = Identity::load(&data, "Ada").unwrap().next(role).unwrap();
            assert_eq!(next.public_key(), again.public_key());
            assert_ne!(next.public_key(), identity.signing().key(role).as_str());
        }
        assert!(
            !identity.follow(|_, _| false).unwrap(),
            "the list does not name them yet"
        );
    }
}
