//! Connections: exactly one that writes, a few that read, the same PRAGMAs on all.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::migrate::MigrateError;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::direct::Prepared;

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations");

const READERS: u32 = 4;
const BUSY_LIMIT: Duration = Duration::from_secs(10);
/// Every bulk statement exists in seven sizes (see [`super::bulk`]), so the default of 100 would
/// throw prepared statements away.
const PREPARED_STATEMENTS: usize = 400;

/// What can go wrong with the file.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused; the file is unchanged.
    #[error(
        "the database could not be used: {0}; free disk space, check its permissions, or restore a backup"
    )]
    Sqlite(#[from] sqlx::Error),
    /// The same, from a statement that does not go through sqlx.
    #[error(
        "the database could not be used: {0}; free disk space, check its permissions, or restore a backup"
    )]
    Direct(#[from] rusqlite::Error),
    /// The file was written by another version.
    #[error(
        "the database could not be brought to this version: {0}; use the version that wrote it, or restore a backup"
    )]
    Migrate(#[from] MigrateError),
    /// A value in the file is not what this program writes.
    #[error(
        "the database holds {what}, which this program never writes; run `countersign audit verify`"
    )]
    Corrupt {
        /// The place and the kind of the value, never the value.
        what: String,
    },
}

/// Whether SQLite found pages that are not as it wrote them, or a file that is none of its own.
pub(crate) fn damaged(error: &sqlx::Error) -> bool {
    const SQLITE_CORRUPT: u32 = 11;
    const SQLITE_NOTADB: u32 = 26;
    primary_code(error).is_some_and(|code| [SQLITE_CORRUPT, SQLITE_NOTADB].contains(&code))
}

fn primary_code(error: &sqlx::Error) -> Option<u32> {
    let sqlx::Error::Database(error) = error else {
        return None;
    };
    let code = error.code()?.parse::<u32>().ok()?;
    Some(code & 0xff)
}

impl StoreError {
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    /// Whether the file can be read but takes no writes now (disk full, read-only folder).
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        if let Self::Direct(error) = self {
            use rusqlite::ErrorCode::{DiskFull, ReadOnly, SystemIoFailure};
            let code = error.sqlite_error_code();
            return matches!(code, Some(DiskFull | ReadOnly | SystemIoFailure));
        }
        const SQLITE_READONLY: u32 = 8;
        const SQLITE_IOERR: u32 = 10;
        const SQLITE_FULL: u32 = 13;
        let Self::Sqlite(error) = self else {
            return false;
        };
        primary_code(error)
            .is_some_and(|code| [SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL].contains(&code))
    }
}

/// The one connection that writes.
#[derive(Debug)]
pub struct Writer {
    // First: it ends before the connection is closed.
    prepared: Prepared,
    pub(crate) connection: SqliteConnection,
    path: PathBuf,
}

impl Writer {
    /// Starts a transaction that holds the write lock from its first statement on, so that what it
    /// reads cannot change before it commits.
    ///
    /// # Errors
    /// [`StoreError::Sqlite`] when another process keeps the lock for longer than ten seconds.
    pub async fn begin(&mut self) -> Result<sqlx::Transaction<'_, sqlx::Sqlite>, StoreError> {
        Ok(self.connection.begin_with("BEGIN IMMEDIATE").await?)
    }

    /// A number that changes when another process commits.
    ///
    /// # Errors
    /// [`StoreError::Sqlite`] when the file cannot be read.
    pub async fn data_version(&mut self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar("PRAGMA data_version")
            .fetch_one(&mut self.connection)
            .await?)
    }

    /// Closes the file after copying the write-ahead log back.
    ///
    /// # Errors
    /// [`StoreError::Sqlite`] when the last page cannot be written.
    pub async fn close(self) -> Result<(), StoreError> {
        drop(self.prepared);
        Ok(self.connection.close().await?)
    }

    /// Replaces the connection. After a failed transaction SQLite may have rolled back by itself, which
    /// the old connection's bookkeeping does not know.
    ///
    /// # Errors
    /// [`StoreError::Sqlite`]; the old connection then stays.
    pub async fn reopen(&mut self) -> Result<(), StoreError> {
        let mut connection = writing(&self.path).connect().await?;
        self.prepared = Prepared::of(&mut connection).await?;
        self.connection = connection;
        Ok(())
    }
}

/// A few connections that cannot write.
#[derive(Debug, Clone)]
pub struct Reader(pub(crate) SqlitePool);

impl Reader {
    /// Closes all of them.
    pub async fn close(&self) {
        self.0.close().await;
    }
}

pub(super) fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        // A decision that was acknowledged to a person must survive a power cut.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY_LIMIT)
        .statement_cache_capacity(PREPARED_STATEMENTS)
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        .pragma("temp_store", "MEMORY")
        .pragma("cache_size", "-65536")
        // 32 MiB: a checkpoint every few seconds under load instead of several a second.
        .pragma("wal_autocheckpoint", "8000")
        .disable_statement_logging()
}

/// Its statements are also ended by others than sqlx's thread (see [`Prepared`]).
fn writing(path: &Path) -> SqliteConnectOptions {
    options(path).serialized(true)
}

/// Opens the file for reading and writing, makes it if it is missing, and brings it to this version.
///
/// # Errors
/// [`StoreError`] when the file cannot be opened or belongs to another version.
pub async fn open(path: &Path) -> Result<(Writer, Reader), StoreError> {
    let mut writer = writing(path).create_if_missing(true).connect().await?;
    MIGRATIONS.run(&mut writer).await?;
    let prepared = Prepared::of(&mut writer).await?;
    let reader = open_read_only(path).await?;
    let writer = Writer {
        prepared,
        connection: writer,
        path: path.to_owned(),
    };
    Ok((writer, reader))
}

/// Whether every page of the file hangs together; indexes are not compared with their tables.
///
/// # Errors
/// [`StoreError::Corrupt`] with the first fault.
pub(super) async fn quick_check(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let fault: String = sqlx::query_scalar("PRAGMA quick_check(1)")
        .fetch_one(connection)
        .await?;
    match fault.as_str() {
        "ok" => Ok(()),
        fault => Err(StoreError::corrupt(fault)),
    }
}

/// Opens an existing file for reading only.
///
/// # Errors
/// [`StoreError`] when there is no such file.
pub async fn open_read_only(path: &Path) -> Result<Reader, StoreError> {
    let pool = SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(BUSY_LIMIT)
        .connect_with(options(path).read_only(true))
        .await?;
    Ok(Reader(pool))
}

#[cfg(test)]
pub(crate) async fn temporary() -> (tempfile::TempDir, Writer, Reader) {
    let folder = tempfile::tempdir().unwrap();
    let (writer, reader) = open(&folder.path().join("countersign.db")).await.unwrap();
    (folder, writer, reader)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::requests;

    #[tokio::test]
    async fn every_connection_has_the_same_pragmas() {
        let (_folder, mut writer, reader) = temporary().await;
        for (pragma, expected) in [
            ("journal_mode", "wal"),
            ("synchronous", "2"),
            ("foreign_keys", "1"),
            ("trusted_schema", "0"),
        ] {
            let sql = format!("SELECT CAST({pragma} AS TEXT) FROM pragma_{pragma}");
            let written: String = sqlx::query_scalar(sqlx::AssertSqlSafe(sql.clone()))
                .fetch_one(&mut writer.connection)
                .await
                .unwrap();
            let read: String = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
                .fetch_one(&reader.0)
                .await
                .unwrap();
            assert_eq!(
                (written.as_str(), read.as_str()),
                (expected, expected),
                "{pragma}"
            );
        }
    }

    #[tokio::test]
    async fn a_reader_cannot_write() {
        let (_folder, _writer, reader) = temporary().await;
        let refused = sqlx::query("DELETE FROM meta").execute(&reader.0).await;
        assert!(StoreError::from(refused.unwrap_err()).is_read_only());
    }

    #[tokio::test]
    async fn no_prepared_statement_outlives_its_connection() {
        let (folder, mut writer, reader) = temporary().await;
        let known = ["acme/bot/r1".parse().unwrap()];
        for _ in 0..2 {
            let mut tx = writer.begin().await.unwrap();
            for _ in 0..2 {
                requests::records(&mut tx, &known).await.unwrap();
            }
            drop(tx);
            writer.reopen().await.unwrap();
        }
        let mut tx = writer.begin().await.unwrap();
        requests::records(&mut tx, &known).await.unwrap();
        tx.commit().await.unwrap();
        reader.close().await;
        writer.close().await.unwrap();
        // SQLite removes it with the last connection, which a statement would have kept open.
        assert!(!folder.path().join("countersign.db-wal").exists());
    }

    #[tokio::test]
    async fn opening_twice_changes_nothing() {
        let (folder, writer, reader) = temporary().await;
        reader.close().await;
        writer.close().await.unwrap();
        open(&folder.path().join("countersign.db")).await.unwrap();
    }
}
