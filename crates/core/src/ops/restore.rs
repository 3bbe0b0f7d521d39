//! Restore: a backup becomes the store of a data folder again.
//!
//! The folder's console is stopped, the backup whole, and its chain verified. A store that the backup does not contain
//! is replaced only on request, and kept aside. The projection then reads from the streams whatever came after the
//! backup.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use super::backup::{BackupInfo, INFO, sync_folder, with_ending};
use crate::Fault;
use crate::clock::{BusClock, Clock};
use crate::data_dir::{DataDir, write_private};
use crate::identity::{Identity, Kept, KeyPlace, PLACE_FILE};
use crate::runtime::joined;
use crate::runtime::{App, Options};
use crate::store::audit::{self, Entry, Head, hex};
use crate::store::backup::{self, CarriedFile};
use crate::store::{self, StoreError};

/// Where the new store is put together.
const STAGING: &str = "restoring";
/// Where what was replaced is kept, one folder a time.
const ASIDE: &str = "replaced";
const KEY_FILES: [&str; 4] = ["keys/console-id", "keys/login.nk", SEEDS[0], SEEDS[1]];
/// Those that may be in the keychain instead.
const SEEDS: [&str; 2] = ["keys/human.nk", "keys/auto.nk"];

/// A store that was brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// What the backup says about itself.
    pub info: BackupInfo,
    /// Rows of its chain, all verified.
    pub audit_rows: i64,
    /// Number and hash of the last audit row of the store that was replaced, if it could be read.
    pub replaced: Option<(i64, String)>,
    /// Where that store and other replaced files are now.
    pub kept_in: Option<PathBuf>,
    /// Why the console will decide nothing: the folder's keys are not those that the backup's list of operators has in
    /// force.
    pub read_only: Option<String>,
}

/// Removes the unfinished store when something fails.
struct Staging(PathBuf);

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What the folder holds now.
enum FolderState {
    Nothing,
    Readable(Head, i64),
    Unreadable,
}

/// Makes the backup `file` the store of the data folder of `options`.
///
/// # Errors
/// `ErrorCode::Usage` when the file is not a backup, `ErrorCode::Environment` when a console runs in the folder, the
/// backup is damaged, keys are missing, or the folder's store would be lost, `ErrorCode::Store` when the backup belongs
/// to a newer version.
pub async fn restore(options: &Options, file: &Path, replace: bool) -> Result<Restored, Fault> {
    let carried = read(file).await?;
    let info = described(file, &carried)?;
    let data = DataDir::open(&options.data_dir)?;
    let Some(_lock) = data.try_lock()? else {
        return Err(Fault::environment(format!(
            "a console is running in {}; stop it first",
            data.path().display()
        )));
    };
    let staging = Staging(data.path().join(STAGING));
    // Left by a restore that was killed.
    let _ = fs::remove_dir_all(&staging.0);
    let staged = stage(&data, &staging.0, file, &carried, &info)?;
    let (rows, read_only) = verified(options, &staged, file, &info).await?;
    let standing = standing(&data);
    let keeps = may_replace(&staged, &standing, file, replace).await?;
    let digest = digest_of(file.to_owned()).await?;
    let identity = Identity::load(&staged, &options.operator)?;
    let actor = identity.human_key().to_string();
    note(&staged, &info, &standing, actor, &digest).await?;
    let kept_in = exchange(&data, &staged, keeps)?;
    Ok(Restored {
        audit_rows: rows,
        replaced: match &standing {
            FolderState::Readable(head, _) => Some((head.seq, hex(&head.hash))),
            _ => None,
        },
        kept_in,
        read_only,
        info,
    })
}

async fn read(file: &Path) -> Result<Vec<CarriedFile>, Fault> {
    let no_backup = |why: &dyn std::fmt::Display| {
        Fault::usage(format!(
            "{} is not a backup ({why}); `countersign backup FILE` makes one",
            file.display()
        ))
    };
    if let Err(error) = fs::File::open(file) {
        return Err(Fault::environment(format!(
            "{}: {error}; name a file that `countersign backup FILE` made and that you may read",
            file.display()
        )));
    }
    match backup::carried(file).await {
        Ok(Some(carried)) => Ok(carried),
        Ok(None) => Err(no_backup(&"it has no description")),
        Err(error) => Err(no_backup(&error.cause())),
    }
}

fn described(file: &Path, carried: &[CarriedFile]) -> Result<BackupInfo, Fault> {
    let body = carried.iter().find(|part| part.name == INFO);
    let info = body.and_then(|part| serde_json::from_slice::<BackupInfo>(&part.body).ok());
    match info {
        Some(info) if info.v == 1 => Ok(info),
        Some(info) => Err(Fault::environment(format!(
            "{} was made by countersign {}, which writes another kind of backup; use that version",
            file.display(),
            info.program
        ))),
        None => Err(Fault::usage(format!(
            "{} has a description that cannot be read; restore another backup",
            file.display()
        ))),
    }
}

/// A data folder of its own inside the data folder, so that the last steps are renames.
fn stage(
    data: &DataDir,
    folder: &Path,
    file: &Path,
    carried: &[CarriedFile],
    info: &BackupInfo,
) -> Result<DataDir, Fault> {
    let failed = |error: io::Error| {
        Fault::environment(format!(
            "{}: {error}; nothing was changed",
            folder.display()
        ))
    };
    let staged = DataDir::open(folder)?;
    fs::copy(file, staged.database()).map_err(failed)?;
    private(&staged.database()).map_err(failed)?;
    let same_console = fs::read_to_string(data.path().join("keys/console-id"))
        .is_ok_and(|id| id.trim() == info.console_id);
    for part in carried.iter().filter(|part| part.name != INFO) {
        let name = safe(&part.name).ok_or_else(|| {
            Fault::usage(format!(
                "{} carries a file outside the data folder",
                file.display()
            ))
        })?;
        write_private(&staged.path().join(name), &part.body).map_err(failed)?;
    }
    for name in KEY_FILES {
        let (from, to) = (data.path().join(name), staged.path().join(name));
        // Keys may have been renewed since the backup; those of the folder are the newer ones.
        if same_console && let Ok(body) = fs::read(from) {
            write_private(&to, &body).map_err(failed)?;
        }
    }
    let in_keychain = same_console && kept_in_keychain(data, info.keys);
    if in_keychain {
        let marker = fs::read(data.keys().join(PLACE_FILE)).map_err(failed)?;
        write_private(&staged.keys().join(PLACE_FILE), &marker).map_err(failed)?;
        for name in SEEDS {
            // Those of the keychain are the newer ones.
            match fs::remove_file(staged.path().join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
    }
    if let Some(missing) = KEY_FILES
        .iter()
        .filter(|name| !(in_keychain && SEEDS.contains(name)))
        .find(|name| !staged.path().join(name).is_file())
    {
        return Err(Fault::environment(format!(
            "{} has no keys and this folder has none of console {} ({missing} is missing); copy the folder \
             keys of that console to {} first, or restore a backup that was made with --include-keys",
            file.display(),
            info.console_id,
            data.path().display()
        )));
    }
    Ok(staged)
}

/// Whether the seeds of this folder's console are to stay in the keychain. Where it does not give them
/// and the backup has them, they are brought back as files.
fn kept_in_keychain(data: &DataDir, carried: bool) -> bool {
    let there = Kept::of(data).is_some_and(|kept| kept.place == KeyPlace::Keychain);
    there && !(carried && Identity::load(data, "").is_err())
}

/// Only plain names below the folder.
fn safe(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(name);
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    (plain && !name.is_empty()).then_some(path)
}

fn private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
}

/// Checks the pages, brings the copy to this version, and verifies its chain; the number of its rows, and why the keys
/// beside it decide nothing.
async fn verified(
    options: &Options,
    staged: &DataDir,
    file: &Path,
    info: &BackupInfo,
) -> Result<(i64, Option<String>), Fault> {
    let broken = |why: &dyn std::fmt::Display| {
        Fault::environment(format!(
            "{} is damaged: {why}; nothing was changed, use another backup",
            file.display()
        ))
    };
    backup::whole(&staged.database())
        .await
        .map_err(|error| broken(&error))?;
    let (writer, reader) = store::open(&staged.database()).await?;
    backup::unload(&writer)?;
    reader.close().await;
    writer.close()?;
    let mut reading = options.clone();
    reading.data_dir = staged.path().to_owned();
    reading.nats_url = None;
    let app = App::read(reading, false).await?;
    let found = app.audit_verify(Some(&info.audit_hash)).await;
    let read_only = app.why_no_decision();
    app.shutdown().await;
    let found = found?;
    match found.first_bad {
        None => Ok((found.rows, read_only)),
        Some(bad) => Err(broken(&format!(
            "{} {} does not verify, {}",
            bad.table, bad.id, bad.reason
        ))),
    }
}

fn standing(data: &DataDir) -> FolderState {
    if !data.database().exists() {
        return FolderState::Nothing;
    }
    match backup::settle(&data.database()) {
        Ok((head, anchored)) => FolderState::Readable(head, anchored),
        Err(error) => {
            tracing::warn!(%error, "the store of this folder cannot be read");
            FolderState::Unreadable
        }
    }
}

/// Whether there is something to be kept aside; an error when it would be lost unasked.
async fn may_replace(
    staged: &DataDir,
    standing: &FolderState,
    file: &Path,
    replace: bool,
) -> Result<bool, Fault> {
    let refused = |why: String| {
        let file = file.display();
        Err(Fault::environment(format!(
            "{why}; add --replace to put {file} in its place (the current one is kept aside)"
        )))
    };
    match standing {
        FolderState::Nothing => Ok(false),
        _ if replace => Ok(true),
        FolderState::Unreadable => refused("the store of this folder cannot be read".to_owned()),
        FolderState::Readable(head, _) => {
            let (writer, reader) = store::open(&staged.database()).await?;
            let known = backup::contains(&writer, head);
            reader.close().await;
            writer.close()?;
            match known? {
                true => Ok(true),
                false => refused(format!(
                    "the store of this folder has {} audit rows and is not part of the backup: it is newer, or another one",
                    head.seq
                )),
            }
        }
    }
}

async fn digest_of(file: PathBuf) -> Result<String, Fault> {
    let read = tokio::task::spawn_blocking(move || super::backup::sealed(&file))
        .await
        .map_err(joined)?;
    let (_, digest) = read.map_err(|error| Fault::environment(error.to_string()))?;
    Ok(digest)
}

/// The chain itself says that it was brought back, from where, and what it does not know any more.
async fn note(
    staged: &DataDir,
    info: &BackupInfo,
    standing: &FolderState,
    actor: String,
    digest: &str,
) -> Result<(), StoreError> {
    let replaced = match standing {
        FolderState::Readable(head, anchored) => {
            json!({ "seq": head.seq, "hash": hex(&head.hash), "anchored_seq": anchored })
        }
        _ => Value::Null,
    };
    let entry = Entry {
        // No bus is met here: this machine's time.
        at: BusClock::new().now(),
        actor,
        action: "restore",
        subject: info.console_id.clone(),
        detail: json!({
            "audit_seq": info.audit_seq, "audit_hash": info.audit_hash,
            "digest": digest, "made_at": info.made_at, "replaced": replaced,
        }),
    };
    let (mut writer, reader) = store::open(&staged.database()).await?;
    let tx = writer.begin()?;
    audit::append(&tx, &[entry])?;
    tx.commit()?;
    reader.close().await;
    writer.close()
}

/// Puts the staged files in place; where the old ones are kept, if there were any.
fn exchange(data: &DataDir, staged: &DataDir, keeps: bool) -> Result<Option<PathBuf>, Fault> {
    let failed = |error: io::Error| {
        Fault::environment(format!(
            "the store could not be put in place: {error}; the old one is in {} or {}",
            data.path().display(),
            data.path().join(ASIDE).display()
        ))
    };
    let aside = data
        .path()
        .join(ASIDE)
        .join(format!("{}", BusClock::new().now().0));
    let mut kept = false;
    let keep = |name: &Path| -> io::Result<()> {
        let to = aside.join(name);
        fs::create_dir_all(to.parent().unwrap_or(&aside))?;
        fs::rename(data.path().join(name), to)
    };
    let database = data.database();
    if keeps {
        fs::create_dir_all(&aside).map_err(failed)?;
        // A copy under a second name first, so that there is a store at every moment.
        for path in [
            database.clone(),
            with_ending(&database, "-wal"),
            with_ending(&database, "-shm"),
        ] {
            if let Some(name) = path.file_name().filter(|_| path.exists()) {
                let to = aside.join(name);
                fs::hard_link(&path, &to)
                    .or_else(|_| fs::copy(&path, &to).map(|_| ()))
                    .map_err(failed)?;
            }
        }
        sync_folder(&aside.join("x")).map_err(failed)?;
        kept = true;
    }
    let marker = Path::new("keys").join(PLACE_FILE);
    if data.path().join(&marker).exists() && !staged.path().join(&marker).exists() {
        keep(&marker).map_err(failed)?;
        kept = true;
    }
    let staged_keys = KEY_FILES.map(|name| (name, staged.path().join(name)));
    for (name, from) in staged_keys.into_iter().filter(|(_, from)| from.exists()) {
        let to = data.path().join(name);
        let same = fs::read(&to).is_ok_and(|old| fs::read(&from).is_ok_and(|new| new == old));
        if same {
            continue;
        }
        if to.exists() {
            keep(Path::new(name)).map_err(failed)?;
            kept = true;
        }
        place(&from, &to).map_err(failed)?;
    }
    for name in others(staged.path()) {
        let to = data.path().join(&name);
        // The folder's value was set later than the copied one.
        if !to.exists() {
            place(&staged.path().join(&name), &to).map_err(failed)?;
        }
    }
    // A log of the old store would be read into the new one.
    for ending in ["-wal", "-shm"] {
        match fs::remove_file(with_ending(&database, ending)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
    }
    place(&staged.database(), &database).map_err(failed)?;
    Ok(kept.then_some(aside))
}

fn place(from: &Path, to: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if let Some(folder) = to.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    fs::File::open(from)?.sync_all()?;
    fs::rename(from, to)?;
    sync_folder(to)
}

/// Files that a backup carries beside store and keys, relative to the folder.
fn others(staged: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(staged.join(&folder))
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries {
            let name = folder.join(entry.file_name());
            match entry.path().is_dir() {
                true if name != Path::new("keys") => folders.push(name),
                true => {}
                false if folder.as_os_str().is_empty() && name != Path::new("config.toml") => {}
                false => found.push(name),
            }
        }
    }
    found
}
