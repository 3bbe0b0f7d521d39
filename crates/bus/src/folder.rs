//! The folder of the server that the console runs: `<data>/nats/` with `nats.conf`, `jetstream/`,
//! `ports/`, `port`, `lock` and `log`.
//!
//! A store has one user at a time: nats-server itself does not lock it.

use super::{BusError, unix};
use countersign_keys::data_dir::write_private;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A server that is being ended by the death of its console holds the lock a moment longer.
const LOCK_WAIT: Duration = Duration::from_secs(3);
const LOCK_POLL: Duration = Duration::from_millis(50);
/// How much of the log is read at most to explain a failure.
const TAIL_BYTES: u64 = 64 * 1024;
/// Enough for the server to come back and store some messages.
const ROOM_BYTES: usize = 1024 * 1024;

#[derive(Debug, Clone)]
/// What the embedded server keeps in the data folder: `nats/`.
pub(super) struct NatsFolder {
    root: PathBuf,
}

impl NatsFolder {
    /// Makes the folder where it is missing, readable for its owner alone.
    pub(super) fn create(data_dir: &Path) -> Result<Self, BusError> {
        let data_dir =
            std::path::absolute(data_dir).map_err(|error| BusError::store(data_dir, error))?;
        let folder = Self {
            root: data_dir.join("nats"),
        };
        let ports = folder.ports_dir();
        unix::create_private_dir(&ports).map_err(|error| BusError::store(&ports, error))?;
        Ok(folder)
    }

    /// The folder itself.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The server's configuration.
    pub(super) fn conf(&self) -> PathBuf {
        self.root.join("nats.conf")
    }

    /// The server's log.
    pub(super) fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    /// Where the server says which port it has taken.
    pub(super) fn ports_dir(&self) -> PathBuf {
        self.root.join("ports")
    }

    /// Takes the lock, which is held for as long as the file or a copy of its handle is open.
    pub(super) async fn lock(&self) -> Result<File, BusError> {
        let path = self.root.join("lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .read(true)
            .open(&path)
            .map_err(|error| BusError::store(&path, error))?;
        let give_up = tokio::time::Instant::now() + LOCK_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(BusError::store(&path, error)),
                Err(TryLockError::WouldBlock) if tokio::time::Instant::now() >= give_up => {
                    return Err(BusError::StoreLocked {
                        folder: self.root.clone(),
                    });
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_POLL).await,
            }
        }
    }

    /// Replaces the configuration.
    pub(super) fn write_conf(&self, text: &str) -> Result<(), BusError> {
        write_private(&self.conf(), text.as_bytes())
            .map_err(|error| BusError::store(self.conf(), error))
    }

    /// The port that was taken the last time: agents know it.
    pub(super) fn remembered_port(&self) -> Option<u16> {
        let text = std::fs::read_to_string(self.root.join("port")).ok()?;
        text.trim().parse().ok().filter(|&port| port > 0)
    }

    /// Keeps the port for the next start.
    pub(super) fn remember_port(&self, port: u16) -> Result<(), BusError> {
        let path = self.root.join("port");
        write_private(&path, format!("{port}\n").as_bytes())
            .map_err(|error| BusError::store(&path, error))
    }

    /// The port that was taken in the place of the remembered one.
    pub(super) fn port_instead(&self) -> Option<u16> {
        let text = std::fs::read_to_string(self.instead()).ok()?;
        text.trim().parse().ok().filter(|&port| port > 0)
    }

    /// Keeps a port for the next start at which the remembered one is taken; none when that is of no use any more.
    pub(super) fn remember_instead(&self, port: Option<u16>) -> Result<(), BusError> {
        let path = self.instead();
        let done = match port {
            Some(port) => write_private(&path, format!("{port}\n").as_bytes()),
            None => match std::fs::remove_file(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                done => done,
            },
        };
        done.map_err(|error| BusError::store(&path, error))
    }

    fn instead(&self) -> PathBuf {
        self.root.join("port.instead")
    }

    /// Files of earlier servers would be read as the next one's.
    pub(super) fn clear_ports(&self) -> Result<(), BusError> {
        let dir = self.ports_dir();
        let failed = |error| BusError::store(&dir, error);
        for entry in std::fs::read_dir(&dir).map_err(failed)? {
            std::fs::remove_file(entry.map_err(failed)?.path()).map_err(failed)?;
        }
        Ok(())
    }

    /// The port in the ports file of process `pid`, once that file is complete.
    pub(super) fn announced_port(&self, pid: u32) -> Option<u16> {
        let ending = format!("_{pid}.ports");
        let entries = std::fs::read_dir(self.ports_dir()).ok()?;
        let file = entries
            .flatten()
            .find(|entry| entry.file_name().to_string_lossy().ends_with(&ending))?;
        let text = std::fs::read_to_string(file.path()).ok()?;
        let ports: serde_json::Value = serde_json::from_str(&text).ok()?;
        let url = ports["nats"][0].as_str()?;
        url.rsplit_once(':')?.1.parse().ok()
    }

    /// Whether a file of some size can be written and kept.
    pub(super) fn has_room(&self) -> bool {
        let path = self.root.join("room");
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&path)?;
            file.write_all(&[0; ROOM_BYTES])?;
            file.sync_all()
        };
        let written = write().is_ok();
        // It takes room itself; one that stays is written over.
        let _ = std::fs::remove_file(&path);
        written
    }

    /// Bytes of the log now, so that what is read later begins behind them.
    pub(super) fn log_size(&self) -> u64 {
        std::fs::metadata(self.log()).map_or(0, |found| found.len())
    }

    /// What was logged after `from`, at most the last 64 KiB; a file that was rotated since is read whole.
    pub(super) fn log_since(&self, from: u64) -> String {
        let read = || -> std::io::Result<String> {
            let mut file = File::open(self.log())?;
            let size = file.metadata()?.len();
            let from = if size < from { 0 } else { from };
            file.seek(SeekFrom::Start(from.max(size.saturating_sub(TAIL_BYTES))))?;
            let mut bytes = Vec::new();
            file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        read().unwrap_or_default()
    }
}
