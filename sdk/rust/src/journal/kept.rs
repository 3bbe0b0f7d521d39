//! The content of an entry's file, the same in every SDK.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::{since_boot, wall_clock};
use crate::judge::Asked;

const VERSION: u8 = 1;
const KEPT_AFTER_DEADLINE: f64 = 24.0 * 3600.0;

/// Whose entry it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Scope {
    pub(super) realm: String,
    pub(super) workspace: String,
    pub(super) agent: String,
}

/// `ticks` is the clock that counts sleep, in seconds; it says something on the boot of this id only. `wall` is the
/// wall clock, in seconds since 1970.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    v: u8,
    #[serde(flatten)]
    pub(super) scope: Scope,
    pub(super) payload: String,
    lifetime_ms: u64,
    boot: Option<String>,
    ticks: f64,
    wall: f64,
}

impl Kept {
    /// Of a request whose timer begins now.
    pub(super) fn starting(scope: Scope, asked: &Asked) -> Self {
        Self {
            v: VERSION,
            scope,
            payload: String::from_utf8_lossy(&asked.payload).into_owned(),
            lifetime_ms: u64::try_from(asked.lifetime.as_millis()).unwrap_or(u64::MAX),
            boot: boot_id(),
            ticks: since_boot().unwrap_or_default().as_secs_f64(),
            wall: now(),
        }
    }

    /// None where no entry can be read.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let text = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            read => read.ok(),
        };
        let kept = text.and_then(|text| serde_json::from_slice::<Self>(&text).ok());
        let kept = kept.filter(|kept| kept.v == VERSION);
        if kept.is_none() {
            tracing::warn!("{} cannot be read and is not used", path.display());
        }
        kept
    }

    /// All of it or nothing, on the disk when this returns.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new()
            .prefix(".entry-")
            .tempfile_in(folder)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        flush_folder(folder)
    }

    /// Since the timer began; without end where a clock went back.
    pub(super) fn passed(&self) -> Duration {
        let same_boot = self.boot.is_some() && self.boot == boot_id();
        let passed = match since_boot() {
            Some(ticks) if same_boot => ticks.as_secs_f64() - self.ticks,
            _ => now() - self.wall,
        };
        Duration::try_from_secs_f64(passed).unwrap_or(Duration::MAX)
    }
}

/// Removes the file; its absence is on the disk when this returns.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    flush_folder(path.parent().unwrap_or(Path::new(".")))
}

/// Whether an entry is older than its deadline plus a day, or a file that is none older than a day.
pub(super) fn is_old(path: &Path) -> bool {
    let (since, lifetime) = match (
        Kept::read(path),
        fs::metadata(path).and_then(|of| of.modified()),
    ) {
        (Some(kept), _) => (kept.wall, Duration::from_millis(kept.lifetime_ms)),
        (None, Ok(at)) => (seconds(time::OffsetDateTime::from(at)), Duration::ZERO),
        (None, Err(_)) => return false,
    };
    now() - since > lifetime.as_secs_f64() + KEPT_AFTER_DEADLINE
}

fn now() -> f64 {
    seconds(wall_clock().get())
}

fn seconds(at: time::OffsetDateTime) -> f64 {
    at.unix_timestamp_nanos() as f64 / 1e9
}

fn boot_id() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

fn flush_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
