//! Who this console is: its id, the key that logs in, and the two keys that sign.
//!
//! The login key never signs a decision and a signing key never logs in: a NATS client signs
//! whatever nonce a server sends (protocol, section 5).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use countersign_wire::{Hiding, KeyRole, PublicKey, TrustedKey};
use nkeys::KeyPair;
use uuid::Uuid;

use crate::data_dir::{ConsoleLock, DataDir, write_private};

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
    /// A file that holds no key.
    #[error("{path} holds no user nkey; restore it from a backup, or remove it to get a new key")]
    NotAKey {
        /// Which.
        path: PathBuf,
    },
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
    /// Signs what the operator decided.
    pub human: KeyPair,
    /// Signs what the console decided by itself.
    pub auto: KeyPair,
    human_key: PublicKey,
    auto_key: PublicKey,
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
        let id_file = folder.join("console-id");
        let stored = fs::read_to_string(&id_file)
            .ok()
            .and_then(|text| text.trim().parse().ok());
        let console_id = match stored {
            Some(id) => id,
            None if missing == Missing::Refuse => {
                let error = io::ErrorKind::NotFound.into();
                return Err(IdentityError::Io {
                    path: id_file,
                    error,
                });
            }
            None => {
                let id = Uuid::new_v4();
                write_private(&id_file, id.to_string().as_bytes()).map_err(|error| {
                    IdentityError::Io {
                        path: id_file,
                        error,
                    }
                })?;
                id
            }
        };
        let human = key(&folder.join("human.nk"), missing)?;
        let auto = key(&folder.join("auto.nk"), missing)?;
        let public = |pair: &KeyPair, name: &str| {
            PublicKey::of(pair).map_err(|_| IdentityError::NotAKey {
                path: folder.join(name),
            })
        };
        Ok(Self {
            console_id,
            operator: operator.to_owned(),
            login: key(&folder.join("login.nk"), missing)?,
            human_key: public(&human, "human.nk")?,
            auto_key: public(&auto, "auto.nk")?,
            human,
            auto,
        })
    }

    /// Public key of the operator.
    #[must_use]
    pub fn human_key(&self) -> &PublicKey {
        &self.human_key
    }

    /// Public key of the console.
    #[must_use]
    pub fn auto_key(&self) -> &PublicKey {
        &self.auto_key
    }

    /// Name under which the console itself decides.
    #[must_use]
    pub fn console_name(&self) -> String {
        format!("console {}", &self.console_id.simple().to_string()[..8])
    }

    /// Hides secrets from people under a key of this console: it comes from the one that signs what the
    /// console decides.
    #[must_use]
    pub fn hiding(&self) -> Hiding {
        // A key in memory always has its seed.
        Hiding::from_seed(&self.auto.seed().unwrap_or_default())
    }

    /// What an agent must trust.
    #[must_use]
    pub fn trusted_keys(&self) -> [TrustedKey; 2] {
        [
            TrustedKey {
                key: self.human_key.clone(),
                name: self.operator.clone(),
                role: KeyRole::Human,
            },
            TrustedKey {
                key: self.auto_key.clone(),
                name: self.console_name(),
                role: KeyRole::Auto,
            },
        ]
    }
}

/// Reads the seed in `path`, or makes a new user key there.
fn key(path: &Path, missing: Missing) -> Result<KeyPair, IdentityError> {
    let not_a_key = || IdentityError::NotAKey {
        path: path.to_owned(),
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
        assert_ne!(first.login.public_key(), first.human.public_key());
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
}
