//! The lock of an entry: one process and one task at a time, and none is left behind by a killed process.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// How often a lock is tried again that its last holder removed at the same moment.
const TRIES: usize = 100;

/// Makes a folder for its owner alone, where it is missing.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Locks an entry until the file is closed. Whoever gets a lock that its last holder has just removed tries again: two
/// could hold it else.
pub(super) fn lock(entry: &Path) -> Result<File, TryLockError> {
    let path = entry.with_extension("lock");
    for _ in 0..TRIES {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(TryLockError::Error)?;
        file.try_lock()?;
        if is_at(&file, &path) {
            return Ok(file);
        }
    }
    Err(TryLockError::WouldBlock)
}

/// Removes the lock of an entry that is gone, while it is held. Elsewhere than on Unix it stays, as nobody could see it.
pub(super) fn forget(entry: &Path) {
    if cfg!(unix) && !entry.exists() {
        let _ = fs::remove_file(entry.with_extension("lock"));
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let there = fs::metadata(path).map(|about| about.ino());
    let own = file.metadata().map(|about| about.ino());
    matches!((there, own), (Ok(there), Ok(own)) if there == own)
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}
