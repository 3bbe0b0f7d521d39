//! Brings what is committed to the disk, apart from the connection that commits.
//!
//! With `synchronous=FULL` SQLite waits for the disk inside of every commit. With `NORMAL` it does not, and only a
//! power cut shows the difference: the file stays whole, and the last commits may be missing from it
//! (<https://www.sqlite.org/pragma.html#pragma_synchronous>). A commit is durable once the write-ahead log is on the
//! disk as it was after it, whoever waits for that.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::StoreError;

/// The write-ahead log of a database that is open here.
#[derive(Debug)]
pub struct LogSync {
    log: File,
    folder: PathBuf,
    /// The folder knows of the log, which may be as new as what is in it.
    named: AtomicBool,
}

impl LogSync {
    /// Of this database.
    ///
    /// # Errors
    /// [`StoreError::NotDurable`] when it has no log.
    pub(super) fn beside(database: &Path) -> Result<Self, StoreError> {
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        Ok(Self {
            // Nothing is written through it; some systems bring to the disk only what may be written.
            log: OpenOptions::new()
                .read(true)
                .write(true)
                .open(log)
                .map_err(failed)?,
            folder: database
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty())
                .map_or_else(|| PathBuf::from("."), Path::to_owned),
            named: AtomicBool::new(false),
        })
    }

    /// Returns when everything committed earlier is durable. Blocks for as long as the disk takes.
    ///
    /// # Errors
    /// [`StoreError::NotDurable`]: a second try proves nothing, since a system may forget what it could not
    /// write.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.log.sync_data().map_err(failed)?;
        if !self.named.load(Ordering::Relaxed) {
            // Only here can a folder be opened, and does it have to be.
            #[cfg(unix)]
            File::open(&self.folder)
                .and_then(|folder| folder.sync_all())
                .map_err(failed)?;
            self.named.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that `map_err` takes"
)]
fn failed(error: io::Error) -> StoreError {
    StoreError::NotDurable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::temporary;

    #[tokio::test]
    async fn the_log_of_an_open_database_is_brought_to_the_disk_and_of_none_that_has_no_log() {
        let (folder, writer, reader) = temporary().await;
        let log = reader.log().unwrap();
        log.sync().unwrap();
        log.sync().unwrap();
        writer.close().unwrap();
        let other = folder.path().join("other.db");
        assert!(LogSync::beside(&other).is_err());
    }
}
