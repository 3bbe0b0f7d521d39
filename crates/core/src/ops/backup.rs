//! Backup: one file with everything that a console needs to come back.
//!
//! An existing file is replaced only on request, and an unfinished one has another name. Keys are copied only on
//! request and with an audit row. The bus's streams are left out: they are the shared truth, and a restored console
//! reads them.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use countersign_redaction::Hiding;
use countersign_wire::Sha256Digest;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::Fault;
use crate::data_dir::DataDir;
use crate::identity::Identity;
use crate::runtime::App;
use crate::runtime::joined;
use crate::store::StoreError;
use crate::store::audit::{Head, hex};
use crate::store::backup::{self, CarriedFile};

/// A copy that takes longer is given up: the store's log grows as long as it is read.
const LIMIT: Duration = Duration::from_secs(60 * 60);
/// Read at once.
const PIECE: usize = 1 << 20;
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
/// Public files of the data folder that a console cannot make again.
const PLAIN: [&str; 3] = ["keys/console-id", SETTINGS, "nats/port"];
const SETTINGS: &str = "config.toml";
/// Name under which a backup describes itself.
pub(super) const INFO: &str = "info";

/// How a backup is made.
#[derive(Debug, Clone)]
pub struct BackupOptions {
    /// Where to.
    pub file: PathBuf,
    /// Copy the seeds of the console's keys and the enrolment files too.
    pub include_keys: bool,
    /// Replace an existing file.
    pub replace: bool,
}

/// What a backup says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupInfo {
    /// Version of this description, 1.
    pub v: u32,
    /// Version of the program that made it.
    pub program: String,
    /// RFC 3339, ms, by the server's clock where it was reached.
    pub made_at: String,
    /// Which console.
    pub console_id: String,
    /// Public key of its operator.
    pub human_key: String,
    /// The realm, once the console has met a bus.
    pub realm: Option<String>,
    /// Number of the last audit row.
    pub audit_seq: i64,
    /// Its hash, hexadecimal.
    pub audit_hash: String,
    /// Whether the keys are in it.
    pub keys: bool,
}

/// A backup that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupMade {
    /// Its description.
    pub info: BackupInfo,
    /// Size of the file.
    pub bytes: u64,
    /// `sha256:…` of the file.
    pub digest: String,
    /// Whether the audit log names it; false where the store takes no writes.
    pub audited: bool,
}

/// Called while the copy is written: bytes so far, and bytes expected at most.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// Removes what was not finished.
struct Unfinished {
    path: PathBuf,
    wanted: Arc<AtomicBool>,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.wanted.store(false, Ordering::Relaxed);
        // After a rename there is nothing of this name.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(with_ending(&self.path, "-journal"));
    }
}

pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

impl App {
    /// Writes a backup beside whoever works on the folder. Dropping the future ends it and leaves no
    /// file behind.
    ///
    /// # Errors
    /// `ErrorCode::Usage` when the file exists or is one of the console's own,
    /// `ErrorCode::Environment` when it cannot be written, `ErrorCode::ReadOnly` when keys were asked
    /// for and the store takes no audit row, `ErrorCode::Store`.
    pub async fn backup(
        &self,
        options: &BackupOptions,
        progress: Progress<'_>,
    ) -> Result<BackupMade, Fault> {
        let target = target(self.data(), options)?;
        let cannot = |error: &dyn std::fmt::Display| {
            Fault::environment(format!(
                "the backup could not be written to {}: {error}; choose a folder that exists and has space",
                target.display()
            ))
        };
        crate::unfinished::remove_beside(&target);
        let unfinished = Unfinished {
            path: with_ending(&target, &format!(".{}.unfinished", std::process::id())),
            wanted: Arc::new(AtomicBool::new(true)),
        };
        let part = &unfinished.path;
        File::options()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(part)
            .map_err(|error| cannot(&error))?;
        self.copy(&unfinished, progress)
            .await
            .map_err(|error| match error {
                StoreError::Sqlite { why, .. } => cannot(&why),
                damaged => damaged.into(),
            })?;
        let head = backup::inspect(part).await?;
        let (info, files) = self.contents(&head, options.include_keys)?;
        backup::carry(part, &files)
            .await
            .map_err(|error| cannot(&error))?;
        let finished = part.clone();
        let (bytes, digest) = tokio::task::spawn_blocking(move || sealed(&finished))
            .await
            .map_err(joined)?
            .map_err(|error| cannot(&error))?;
        let detail = json!({
            "audit_seq": head.seq, "audit_hash": info.audit_hash, "digest": digest, "keys": info.keys,
        });
        let console = self.identity().console_id.to_string();
        let audited = match self.record("backup", console, detail).await {
            Ok(()) => true,
            // A store that takes no writes is when a copy is needed most; keys never leave unnoticed.
            Err(error) if options.include_keys => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "the backup is not in the audit log");
                false
            }
        };
        if !options.replace && target.exists() {
            return Err(cannot(&"a file of this name was created meanwhile"));
        }
        fs::rename(part, &target)
            .and_then(|()| sync_folder(&target))
            .map_err(|error| cannot(&error))?;
        Ok(BackupMade {
            info,
            bytes,
            digest,
            audited,
        })
    }

    async fn copy(
        &self,
        unfinished: &Unfinished,
        progress: Progress<'_>,
    ) -> Result<(), StoreError> {
        let source = self.data().database();
        let expected = backup::expected_bytes(&source).await?;
        let give_up = Instant::now() + LIMIT;
        let asked = Arc::clone(&unfinished.wanted);
        let wanted = move || asked.load(Ordering::Relaxed) && Instant::now() < give_up;
        let copying = backup::copy(&source, &unfinished.path, wanted);
        tokio::pin!(copying);
        loop {
            tokio::select! {
                done = &mut copying => return done,
                () = tokio::time::sleep(PROGRESS_EVERY) => {
                    let so_far = fs::metadata(&unfinished.path).map_or(0, |file| file.len());
                    progress(so_far, expected.max(so_far));
                }
            }
        }
    }

    fn contents(
        &self,
        head: &Head,
        include_keys: bool,
    ) -> Result<(BackupInfo, Vec<CarriedFile>), Fault> {
        let identity = self.identity();
        let info = BackupInfo {
            v: 1,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            made_at: self.now().rfc3339(),
            console_id: identity.console_id.to_string(),
            human_key: identity.human_key().to_string(),
            realm: self.realm().map(|realm| realm.to_string()),
            audit_seq: head.seq,
            audit_hash: hex(&head.hash),
            keys: include_keys,
        };
        let described = serde_json::to_vec(&info)
            .map_err(|_| Fault::failed("the backup could not be described"))?;
        let mut files = vec![CarriedFile {
            name: INFO.to_owned(),
            body: described,
        }];
        let folder = self.data().path();
        for name in PLAIN {
            files.extend(read_if_there(folder, name)?);
        }
        if include_keys {
            files.extend(seeds(identity)?);
            files.extend(enrolments(folder)?);
            files.extend(secrets_of_feeds(folder)?);
        } else {
            without_logins(&mut files, &identity.hiding());
        }
        Ok((info, files))
    }
}

/// The settings may hold the password of a bus.
fn without_logins(files: &mut [CarriedFile], hiding: &Hiding) {
    let settings = files.iter_mut().filter(|file| file.name == SETTINGS);
    for file in settings {
        file.body = hiding
            .text(&String::from_utf8_lossy(&file.body))
            .into_bytes();
    }
}

/// Where the backup goes, after looking that nothing is lost by it.
fn target(data: &DataDir, options: &BackupOptions) -> Result<PathBuf, Fault> {
    let file = &options.file;
    let usage = |why: &str| Fault::usage(format!("{}: {why}", file.display()));
    let name = file
        .file_name()
        .ok_or_else(|| usage("this names no file to write the backup to"))?;
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = folder
        .canonicalize()
        .map_err(|error| Fault::environment(format!("{}: {error}", folder.display())))?;
    let target = folder.join(name);
    let database = data.database();
    let own = [
        database.clone(),
        with_ending(&database, "-wal"),
        with_ending(&database, "-shm"),
        data.path().join("console.lock"),
        data.path().join("config.toml"),
        data.path().join("runtime.json"),
    ];
    let own_folder = ["keys", "nats", "agents", "feeds"].map(|name| data.path().join(name));
    if own.contains(&target) || own_folder.iter().any(|own| target.starts_with(own)) {
        return Err(usage("this is a file of the console itself"));
    }
    match fs::symlink_metadata(&target) {
        Ok(found) if !found.is_file() => Err(usage("it exists and is not a file")),
        Ok(_) if !options.replace => Err(usage(
            "it exists already; name another file, or add --force to replace it",
        )),
        _ => Ok(target),
    }
}

fn read_if_there(folder: &Path, name: &str) -> Result<Option<CarriedFile>, Fault> {
    match fs::read(folder.join(name)) {
        Ok(body) => Ok(Some(CarriedFile {
            name: name.to_owned(),
            body,
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Fault::environment(format!(
            "{}: {error}",
            folder.join(name).display()
        ))),
    }
}

/// From the identity in use, wherever its seeds are kept.
fn seeds(identity: &Identity) -> Result<Vec<CarriedFile>, Fault> {
    let keys = identity.signing();
    let pairs = [
        ("keys/login.nk", &identity.login),
        ("keys/human.nk", &keys.human),
        ("keys/auto.nk", &keys.auto),
    ];
    let carry = |(name, pair): (&str, &nkeys::KeyPair)| {
        let seed = pair.seed().map_err(|_| {
            Fault::environment(format!("{name}: the key has no seed that could be copied; make the backup without --include-keys"))
        })?;
        Ok(CarriedFile {
            name: name.to_owned(),
            body: seed.into_bytes(),
        })
    };
    pairs.into_iter().map(carry).collect()
}

/// `agents/WS/AGENT/agent.json` of the data folder.
fn enrolments(folder: &Path) -> Result<Vec<CarriedFile>, Fault> {
    let names = |path: PathBuf| -> Vec<String> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.collect()
    };
    let mut files = Vec::new();
    for workspace in names(folder.join("agents")) {
        for agent in names(folder.join("agents").join(&workspace)) {
            let name = format!("agents/{workspace}/{agent}/agent.json");
            files.extend(read_if_there(folder, &name)?);
        }
    }
    Ok(files)
}

/// What signs webhooks.
fn secrets_of_feeds(folder: &Path) -> Result<Vec<CarriedFile>, Fault> {
    let entries = fs::read_dir(folder.join("feeds"))
        .into_iter()
        .flatten()
        .flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let secrets = names.filter(|name| name.ends_with(".secret") || name.ends_with(".old"));
    let read =
        secrets.filter_map(|name| read_if_there(folder, &format!("feeds/{name}")).transpose());
    read.collect()
}

/// Size and digest of the finished file, once it is on the disk.
pub(super) fn sealed(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    file.sync_all()?;
    let (mut hasher, mut piece) = (Sha256::new(), vec![0; PIECE]);
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        hasher.update(&piece[..read]);
    }
    let digest: [u8; 32] = hasher.finalize().into();
    Ok((
        file.metadata()?.len(),
        Sha256Digest::from(digest).to_string(),
    ))
}

pub(super) fn sync_folder(file: &Path) -> io::Result<()> {
    match file.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
