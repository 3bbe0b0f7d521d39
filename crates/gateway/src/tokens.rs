//! The tokens of a folder: one file each, kept as a digest, read again while the gateway runs.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_post::secret;
use countersign_wire::{AgentKey, RequestId, Sha256Digest, Timestamp};
use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, watch};

use crate::files::{flush_folder_of, make_private, read, written_anew};
use crate::moment::Moment;

const PREFIX: &str = "cg_";
/// A revoked token ends within a second.
const READ_EVERY: Duration = Duration::from_millis(300);
/// Long polls of one token at the same time.
const WAITS: usize = 64;

/// What DIR keeps of a token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenFile {
    /// Its name, unique in the folder.
    pub name: String,
    /// Whose asks it makes and sees.
    pub agent: AgentKey,
    /// When it was made.
    pub created_at: Timestamp,
    sha256: Sha256Digest,
    callback_secret: String,
}

/// A token, shown once.
#[derive(Serialize)]
pub struct NewToken {
    /// What its holder sends.
    pub token: String,
    /// Its name.
    pub name: String,
    /// Whose asks it makes and sees.
    pub agent: String,
    /// What callbacks are signed with.
    pub callback_secret: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Why the tokens of a folder cannot be changed or read.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The name is taken, or none.
    #[error("{0}")]
    Name(String),
    /// No token has this name.
    #[error("no token is called {0:?}; list them with `countersign gateway tokens`")]
    NotFound(String),
    /// The folder cannot be used.
    #[error("{path}: {source}", path = .path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fn file(dir: &Path, name: &str) -> Result<PathBuf, TokenError> {
    let named = name.parse::<RequestId>();
    let named = named.map_err(|_| {
        let why = "a token's name is 1 to 64 letters, digits, _ and -, and starts with a letter or a digit";
        TokenError::Name(why.to_owned())
    })?;
    Ok(dir.join("tokens").join(format!("{named}.json")))
}

/// Makes a token for an agent.
///
/// # Errors
/// Where its name is taken or none, or the folder cannot be written.
pub fn create(dir: &Path, name: &str, agent: &AgentKey) -> Result<NewToken, TokenError> {
    let path = file(dir, name)?;
    let failed = |source| TokenError::Folder {
        path: path.clone(),
        source,
    };
    make_private(dir)
        .and_then(|()| make_private(&dir.join("tokens")))
        .map_err(failed)?;
    let token = format!(
        "{PREFIX}{}",
        BASE64URL_NOPAD.encode(&rand::random::<[u8; 32]>())
    );
    let kept = TokenFile {
        name: name.to_owned(),
        agent: agent.clone(),
        created_at: Moment::now().after(0.0),
        sha256: Sha256Digest::of_bytes(token.as_bytes()),
        callback_secret: secret(&rand::random()),
    };
    match written_anew(&path, &kept) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let why = format!(
                "a token is called {name:?} already; choose another name, or revoke that one"
            );
            return Err(TokenError::Name(why));
        }
        Err(error) => return Err(failed(error)),
    }
    Ok(NewToken {
        token,
        name: kept.name,
        agent: kept.agent.to_string(),
        callback_secret: kept.callback_secret,
        created_at: kept.created_at,
    })
}

/// Every token, by its name.
///
/// # Errors
/// Where the folder or a file in it cannot be read.
pub fn list(dir: &Path) -> Result<Vec<TokenFile>, TokenError> {
    let (tokens, mut damaged) = found(dir)?;
    damaged.pop().map_or(Ok(tokens), Err)
}

/// Those that can be read, by their names, and what is wrong with the others.
fn found(dir: &Path) -> Result<(Vec<TokenFile>, Vec<TokenError>), TokenError> {
    let folder = dir.join("tokens");
    let failed = |path: &Path, source| TokenError::Folder {
        path: path.to_owned(),
        source,
    };
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
        entries => entries.map_err(|error| failed(&folder, error))?,
    };
    let (mut tokens, mut damaged) = (Vec::new(), Vec::new());
    for entry in entries {
        let path = entry.map_err(|error| failed(&folder, error))?.path();
        if path.extension().is_some_and(|end| end == "json") {
            match read::<TokenFile>(&path) {
                // Revoked at this moment.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => damaged.push(failed(&path, error)),
                Ok(token) => tokens.push(token),
            }
        }
    }
    tokens.sort_by(|one, other| one.name.cmp(&other.name));
    Ok((tokens, damaged))
}

/// Ends a token.
///
/// # Errors
/// Where there is none of this name, or the folder cannot be written.
pub fn revoke(dir: &Path, name: &str) -> Result<(), TokenError> {
    let path = file(dir, name)?;
    match fs::remove_file(&path).and_then(|()| flush_folder_of(&path)) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(TokenError::NotFound(name.to_owned()))
        }
        Err(source) => Err(TokenError::Folder { path, source }),
    }
}

/// A token in force.
pub(crate) struct Token {
    pub(crate) agent: AgentKey,
    pub(crate) sha256: Sha256Digest,
    pub(crate) callback_secret: String,
    /// Room for its long polls.
    pub(crate) waits: Arc<Semaphore>,
}

/// The tokens that could be read.
#[derive(Default)]
pub(crate) struct Table {
    tokens: HashMap<Sha256Digest, Arc<Token>>,
    /// These are all that there are.
    whole: bool,
}

/// The tokens in force; clones share them.
#[derive(Clone)]
pub(crate) struct Tokens {
    dir: PathBuf,
    table: Arc<watch::Sender<Table>>,
    /// What is wrong with the folder, each said once.
    said: Arc<Mutex<Vec<String>>>,
}

impl Tokens {
    /// Reads the folder, and again without end.
    pub(crate) fn follow(dir: &Path) -> Result<Self, TokenError> {
        let tokens = Self {
            dir: dir.to_owned(),
            table: Arc::default(),
            said: Arc::default(),
        };
        tokens.put(list(dir)?, true);
        let followed = tokens.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(READ_EVERY).await;
                followed.read();
            }
        });
        Ok(tokens)
    }

    /// Tokens that cannot be read do not count.
    fn read(&self) {
        let (read, faults) = match found(&self.dir) {
            Ok(found) => found,
            Err(error) => (Vec::new(), vec![error]),
        };
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        self.put(read, faults.is_empty());
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        for fault in faults.iter().filter(|fault| !said.contains(fault)) {
            tracing::error!("tokens that cannot be read do not count: {fault}");
        }
        *said = faults;
    }

    fn put(&self, read: Vec<TokenFile>, whole: bool) {
        self.table.send_if_modified(|table| {
            let known = |file: &TokenFile| table.tokens.contains_key(&file.sha256);
            let same = read.len() == table.tokens.len() && read.iter().all(known);
            if same && table.whole == whole {
                return false;
            }
            let token = |file: TokenFile| match table.tokens.get(&file.sha256) {
                Some(token) => Arc::clone(token),
                None => Arc::new(Token {
                    agent: file.agent,
                    sha256: file.sha256,
                    callback_secret: file.callback_secret,
                    waits: Arc::new(Semaphore::new(WAITS)),
                }),
            };
            let read = read.into_iter().map(|file| (file.sha256, token(file)));
            let tokens = read.collect();
            *table = Table { tokens, whole };
            true
        });
    }

    /// The token of this digest, if it is in force.
    pub(crate) fn get(&self, sha256: &Sha256Digest) -> Option<Arc<Token>> {
        self.table.borrow().tokens.get(sha256).cloned()
    }

    /// Whether the token is known to be gone.
    pub(crate) fn is_gone(&self, sha256: &Sha256Digest) -> bool {
        let table = self.table.borrow();
        table.whole && !table.tokens.contains_key(sha256)
    }

    /// The token that was sent. One that is not known may have been made a moment ago.
    pub(crate) fn of(&self, sent: &str) -> Option<Arc<Token>> {
        let sha256 = Sha256Digest::of_bytes(sent.as_bytes());
        let well_formed = sent.len() == PREFIX.len() + 43 && sent.starts_with(PREFIX);
        self.get(&sha256).or_else(|| {
            if well_formed {
                self.read();
            }
            self.get(&sha256)
        })
    }

    /// Changes with the tokens.
    pub(crate) fn changes(&self) -> watch::Receiver<Table> {
        self.table.subscribe()
    }
}
