//! The data folder: what lies where, who may read it, and which process owns it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use countersign_domain::Fault;
use countersign_wire::without_login;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// How many private files this process has begun.
static UNFINISHED: AtomicU64 = AtomicU64::new(0);

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// The folder or a file in it.
    #[error(
        "{path}: {error}; check that the folder exists, belongs to you and has space, or set COUNTERSIGN_DATA_DIR"
    )]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl DataDirError {
    /// Whether the folder is there but nothing can be written to it: a full disk, a read-only one, or
    /// missing rights.
    #[must_use]
    pub fn takes_no_writes(&self) -> bool {
        let Self::Io { error, .. } = self;
        matches!(
            error.kind(),
            io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::ReadOnlyFilesystem
                | io::ErrorKind::PermissionDenied
        )
    }
}

/// What a running console publishes for other processes of the same folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeInfo {
    /// The console's process.
    pub pid: u32,
    /// Where its bus is.
    pub nats_url: String,
    /// The embedded server's process, none on an outside server.
    pub nats_pid: Option<u32>,
    /// Whether a command started it and stops it again: others wait for its end and do not lean on it.
    #[serde(default)]
    pub passing: bool,
    /// The other servers of an outside cluster, as it names them: a command connects where the console is.
    #[serde(default)]
    pub servers: Vec<String>,
}

impl RuntimeInfo {
    /// This process's own entry.
    #[must_use]
    pub fn own(nats_url: String, nats_pid: Option<u32>, passing: bool) -> Self {
        Self {
            pid: std::process::id(),
            nats_url,
            nats_pid,
            passing,
            servers: Vec::new(),
        }
    }

    /// The address that a command of this folder was given, with the servers that its console knows of this cluster.
    #[must_use]
    pub fn with_cluster(&self, url: &str) -> String {
        if self.nats_url != without_login(url) {
            return url.to_owned();
        }
        let scheme = self.nats_url.split("://").next().unwrap_or("nats");
        let known = |server: &&String| !self.nats_url.contains(server.as_str());
        let others = self.servers.iter().filter(known);
        let others = others.map(|server| format!("{scheme}://{server}"));
        std::iter::once(url.to_owned())
            .chain(others)
            .collect::<Vec<_>>()
            .join(",")
    }

    /// Whether the process that wrote it still lives.
    #[must_use]
    pub fn lives(&self) -> bool {
        i32::try_from(self.pid).is_ok_and(|pid| kill(Pid::from_raw(pid), None).is_ok())
    }
}

/// The folder.
#[derive(Debug, Clone)]
pub struct DataDir(PathBuf);

/// Held by the one process that projects.
#[derive(Debug)]
pub struct ConsoleLock {
    _file: Flock<File>,
}

/// Held by the one process that changes signing keys.
#[derive(Debug)]
pub struct KeysLock {
    _file: Flock<File>,
}

impl DataDir {
    /// Opens the folder, or makes it. The console's own folder is closed to others (0700).
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        let failed = |error| DataDirError::Io {
            path: path.to_owned(),
            error,
        };
        if !path.is_dir() {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(path)
                .map_err(failed)?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed)?;
        }
        let data = Self(path.canonicalize().map_err(failed)?);
        // A folder that holds a console's data, or nothing, is the console's own.
        let empty = fs::read_dir(path).map_err(failed)?.next().is_none();
        if empty || data.database().is_file() {
            let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
            if mode & 0o077 != 0 {
                fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed)?;
            }
        }
        Ok(data)
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The SQLite file.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.0.join("countersign.db")
    }

    /// The folder of the keys.
    #[must_use]
    pub fn keys(&self) -> PathBuf {
        self.0.join("keys")
    }

    /// Where the enrolment file of an agent lies by default.
    #[must_use]
    pub fn enrolment(&self, workspace: &str, agent: &str) -> PathBuf {
        self.0
            .join("agents")
            .join(workspace)
            .join(agent)
            .join("agent.json")
    }

    /// Takes the lock of the folder, if no other process holds it.
    pub fn try_lock(&self) -> Result<Option<ConsoleLock>, DataDirError> {
        let locked = Self::try_flock(self.0.join("console.lock"))?;
        Ok(locked.map(|file| ConsoleLock { _file: file }))
    }

    fn try_flock(path: PathBuf) -> Result<Option<Flock<File>>, DataDirError> {
        let failed = |error| DataDirError::Io {
            path: path.clone(),
            error,
        };
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => Ok(Some(file)),
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, error)) => Err(failed(error.into())),
        }
    }

    /// Takes the lock under which signing keys are changed, if no other process holds it.
    pub fn try_lock_keys(&self) -> Result<Option<KeysLock>, DataDirError> {
        let locked = Self::try_flock(self.keys().join("lock"))?;
        Ok(locked.map(|file| KeysLock { _file: file }))
    }

    /// Whether a process holds the lock.
    ///
    /// Looks with a shared lock that is given back at once, so readers do not keep each other out; a
    /// console that starts in that moment tries again.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let Ok(file) = File::open(self.0.join("console.lock")) else {
            return false;
        };
        Flock::lock(file, FlockArg::LockSharedNonblock).is_err()
    }

    /// Whether the process that wrote the bus's address still lives.
    #[must_use]
    pub fn runtime_lives(&self) -> bool {
        self.read_runtime().is_some_and(|info| info.lives())
    }

    /// Writes where the bus is, for other processes.
    pub fn write_runtime(&self, info: &RuntimeInfo) -> Result<(), DataDirError> {
        let text = serde_json::to_vec(info).map_err(io::Error::from);
        let path = self.0.join("runtime.json");
        text.and_then(|text| write_private(&path, &text))
            .map_err(|error| DataDirError::Io { path, error })
    }

    /// What the running console wrote; none when none runs.
    #[must_use]
    pub fn read_runtime(&self) -> Option<RuntimeInfo> {
        let text = fs::read(self.0.join("runtime.json")).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Removes the entry: the console stops.
    pub fn remove_runtime(&self) {
        // Missing is as good as removed; a stale file is recognised by the free lock.
        let _ = fs::remove_file(self.0.join("runtime.json"));
    }
}

/// Writes a file that only its owner may read, whole or not at all.
///
/// # Errors
/// On any system error the old file stays.
pub fn write_private(path: &Path, text: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    // Two processes may write the same file, or one twice at once; each time it is its own unfinished one.
    let nth = UNFINISHED.fetch_add(1, Ordering::Relaxed);
    let unfinished = path.with_extension(format!("{nth}.{}.unfinished", std::process::id()));
    write_through(&unfinished, path, text)
}

fn write_through(unfinished: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    // Whatever has this name there may be readable by others or lead elsewhere.
    match fs::remove_file(unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(unfinished)?;
    let written = file
        .write_all(text)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(unfinished, path));
    if written.is_err() {
        // It may hold the half of a seed.
        let _ = fs::remove_file(unfinished);
    }
    written
}

impl From<DataDirError> for Fault {
    fn from(error: DataDirError) -> Self {
        match error.takes_no_writes() {
            true => Self::read_only(error.to_string()),
            false => Self::environment(error.to_string()),
        }
    }
}

/// The data folder holds no console's store.
#[must_use]
pub fn no_console(folder: &Path) -> Fault {
    Fault::environment(format!(
        "{} holds no console's data yet; start one with `countersign serve` or open the window",
        folder.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_connects_to_the_servers_that_its_console_knows_of_the_same_cluster() {
        let info = RuntimeInfo {
            servers: vec!["n0:4222".into(), "n1:4222".into(), "[::1]:4222".into()],
            ..RuntimeInfo::own("tls://n0:4222".into(), None, false)
        };
        for (given, connects_to) in [
            (
                "tls://u:p@n0:4222",
                "tls://u:p@n0:4222,tls://n1:4222,tls://[::1]:4222",
            ),
            ("tls://n1:4222", "tls://n1:4222"),
        ] {
            assert_eq!(info.with_cluster(given), connects_to);
        }
    }

    #[test]
    fn one_process_holds_the_lock_and_only_the_owner_reads() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(&folder.path().join("a b/data")).unwrap();
        let lock = data.try_lock().unwrap();
        assert!(lock.is_some());
        assert!(data.try_lock().unwrap().is_none());
        assert!(data.is_running());
        drop(lock);
        assert!(!data.is_running());
        assert!(data.try_lock().unwrap().is_some());
        let info = RuntimeInfo {
            pid: 1,
            nats_url: "nats://127.0.0.1:1".into(),
            nats_pid: None,
            passing: false,
            servers: Vec::new(),
        };
        data.write_runtime(&info).unwrap();
        assert_eq!(data.read_runtime(), Some(info));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(data.path()), 0o700);
        assert_eq!(mode(&data.path().join("runtime.json")), 0o600);
    }

    #[test]
    fn a_private_file_follows_no_link_and_leaves_nothing_when_it_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.json");
        let unfinished = folder.path().join("agent.unfinished");
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "").unwrap();
        std::os::unix::fs::symlink(&elsewhere, &unfinished).unwrap();
        write_through(&unfinished, &path, b"seed").unwrap();
        assert_eq!(fs::read(&elsewhere).unwrap(), b"");
        assert_eq!(fs::read(&path).unwrap(), b"seed");
        let taken = folder.path().join("taken.json");
        fs::create_dir(&taken).unwrap();
        fs::write(taken.join("something"), "").unwrap();
        assert!(write_private(&taken, b"seed").is_err());
        let left = fs::read_dir(folder.path()).unwrap().flatten();
        let mut left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["agent.json", "elsewhere", "taken.json"]);
    }

    #[test]
    fn many_who_write_one_private_file_at_once_all_succeed_and_one_of_them_stands() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.json");
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..16_u8)
                .map(|nth| {
                    let path = &path;
                    scope
                        .spawn(move || (0..20).try_for_each(|_| write_private(path, &[nth; 4_096])))
                })
                .collect();
            for writer in writers {
                writer.join().unwrap().unwrap();
            }
        });
        let current = fs::read(&path).unwrap();
        assert_eq!(current.len(), 4_096);
        assert!(current.iter().all(|byte| *byte == current[0]));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
