//! What can go wrong with the file, and what it means for whoever writes to it.

use countersign_domain::Fault;
use sqlx::migrate::MigrateError;

const SQLITE_BUSY: i32 = 5;
const SQLITE_LOCKED: i32 = 6;
const SQLITE_READONLY: i32 = 8;
const SQLITE_INTERRUPT: i32 = 9;
const SQLITE_IOERR: i32 = 10;
const SQLITE_CORRUPT: i32 = 11;
const SQLITE_FULL: i32 = 13;
const SQLITE_CANTOPEN: i32 = 14;
const SQLITE_NOTADB: i32 = 26;
/// Somebody cut the file short while it was in use.
const SQLITE_IOERR_SHORT_READ: i32 = 522;

/// What can go wrong with the file.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused; the file is unchanged.
    #[error(
        "the database could not be used: {why}; free disk space, check its permissions, or restore a backup"
    )]
    Sqlite {
        /// SQLite's words.
        why: String,
        /// SQLite's extended result code, where it has one.
        code: Option<i32>,
    },
    /// Another process held the file longer than it is waited for; nothing is wrong with it.
    #[error("another process works on the database ({0}); try again in a moment")]
    Busy(String),
    /// Pages are not as SQLite wrote them, or the file is not its own. Nothing was repaired.
    #[error(
        "the database is damaged ({0}) and nothing is written to it any more; `countersign restore FILE --replace` \
         brings a backup back; without one move countersign.db, countersign.db-wal and countersign.db-shm out of the data \
         folder, and nothing else of it: the streams hold requests and decisions"
    )]
    Damaged(String),
    /// The disk did not take what was committed: it may be missing after a power cut.
    #[error(
        "the disk failed to write ({0}) and nothing is written any more; check the disk, then restart: the streams are \
         read again"
    )]
    NotDurable(String),
    /// The file was written by another version.
    #[error(
        "the database could not be brought to this version: {0}; use the version that wrote it, or restore a backup"
    )]
    Migrate(MigrateError),
    /// An older version wrote the file, and this process may not bring it to this version.
    #[error(
        "the database is of an older version of Countersign ({0}); start the console of this data folder with this \
         version (end the one that runs, if it is older; make a backup first, for there is no way back)"
    )]
    Older(String),
    /// A newer version wrote the file.
    #[error(
        "this data folder was last written by Countersign {by}, and this is {own}: there is no way back; install {by} \
         again, or restore a backup that {own} made",
        own = env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// That version.
        by: String,
    },
    /// A value in the file is not what this program writes.
    #[error(
        "the database holds {what}, which this program never writes; run `countersign audit verify`, and \
         `countersign restore FILE --replace` to bring a backup back"
    )]
    Corrupt {
        /// The place and the kind of the value, never the value.
        what: String,
    },
}

impl StoreError {
    /// What was found, without what to do about it: that is meant for the console's own store.
    #[must_use]
    pub fn cause(&self) -> String {
        match self {
            Self::Sqlite { why, .. }
            | Self::Busy(why)
            | Self::Damaged(why)
            | Self::NotDurable(why)
            | Self::Older(why) => why.clone(),
            Self::Migrate(error) => error.to_string(),
            Self::Newer { by } => format!("Countersign {by} wrote it"),
            Self::Corrupt { what } => format!("it holds {what}, which this program never writes"),
        }
    }
}

fn is_broken(code: i32) -> bool {
    code == SQLITE_IOERR_SHORT_READ || [SQLITE_CORRUPT, SQLITE_NOTADB].contains(&(code & 0xff))
}

/// Statements are fixed: what one of them does not find is made by a migration that the file lacks. SQLite has no code
/// of its own for it.
fn lacks_a_step(error: &str) -> bool {
    ["no such table", "no such column", "has no column named"]
        .iter()
        .any(|words| error.contains(words))
}

fn is_busy(code: i32) -> bool {
    [SQLITE_BUSY, SQLITE_LOCKED].contains(&(code & 0xff))
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let code = error.as_database_error().and_then(|error| error.code());
        Self::of(code.and_then(|code| code.parse().ok()), error.to_string())
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let code = error.sqlite_error().map(|error| error.extended_code);
        Self::of(code, error.to_string())
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            // Of the file, not of what is to be done with it.
            MigrateError::Execute(error) => error.into(),
            error => Self::Migrate(error),
        }
    }
}

impl StoreError {
    /// Whether the file or the disk below it is broken: trying again would only break more.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        matches!(
            self,
            Self::Damaged(_) | Self::Corrupt { .. } | Self::NotDurable(_)
        )
    }

    /// Whether another process held the file for too long.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy(_))
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    /// Whether the file can be read but takes no writes now (disk full, read-only folder).
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        let refusals = [SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN];
        self.code()
            .is_some_and(|code| refusals.contains(&(code & 0xff)))
    }

    /// Whether a limit of time ended the statement.
    pub(super) fn is_interrupted(&self) -> bool {
        self.code() == Some(SQLITE_INTERRUPT)
    }

    fn code(&self) -> Option<i32> {
        match self {
            Self::Sqlite { code, .. } => *code,
            _ => None,
        }
    }

    fn of(code: Option<i32>, why: String) -> Self {
        match code {
            Some(code) if is_broken(code) => Self::Damaged(why),
            Some(code) if is_busy(code) => Self::Busy(why),
            _ if lacks_a_step(&why) => Self::Older(why),
            _ => Self::Sqlite { why, code },
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::Older(_) => Self::environment(message),
            StoreError::Newer { .. } => Self::read_only(message),
            _ if error.is_read_only() || error.is_damaged() => Self::read_only(message),
            _ => Self::failed(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_another_process_holds_is_not_told_to_be_restored() {
        for (code, restored) in [
            (SQLITE_BUSY, false),
            (SQLITE_LOCKED, false),
            (SQLITE_BUSY | (2 << 8), false),
            (SQLITE_FULL, true),
        ] {
            let error = rusqlite::ffi::Error::new(code);
            let error = StoreError::from(rusqlite::Error::SqliteFailure(error, None));
            assert_eq!(error.to_string().contains("restore"), restored, "{error}");
        }
    }
}
