//! Connections: exactly one that writes, a few that read, the same PRAGMAs on all.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::StoreError;
use super::direct::{Transaction, WriteConnection};
use super::log_sync::LogSync;
use super::sql;
use super::updates::{Updates, bring_up, refuse_older, sign};

pub(super) static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations");

const READERS: u32 = 4;
pub(super) const BUSY_LIMIT: Duration = Duration::from_secs(10);
/// Less than a console may take to stop.
const FOLD_BACK_WAIT: Duration = Duration::from_secs(1);
/// 16 MiB: with four times as many, looking through them costs more than finding them there saves.
pub(super) const CACHE: &str = "-16384";
/// 8 MiB for each reader: a look at everything that waits must not fill the memory four times.
const READER_CACHE: &str = "-8192";
/// More than there are statements that read.
const PREPARED_STATEMENTS: usize = 400;

/// The one connection that writes.
#[derive(Debug)]
pub struct Writer {
    connection: WriteConnection,
    path: PathBuf,
    /// Pages that the file may have; for tests of a full disk.
    page_limit: Option<Arc<AtomicU32>>,
    /// Somebody else brings the log to the disk.
    synced_apart: bool,
}

/// Outside of a transaction for reading alone.
impl Deref for Writer {
    type Target = rusqlite::Connection;

    fn deref(&self) -> &rusqlite::Connection {
        &self.connection.sqlite
    }
}

impl Writer {
    /// Opens an existing file of this version.
    fn of(path: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            connection: WriteConnection::open(path)?,
            path: path.to_owned(),
            page_limit: None,
            synced_apart: false,
        })
    }

    /// Lets the file grow to so many pages and no further, as a full disk does: for tests. The limit is
    /// read again whenever the connection is replaced.
    pub fn limit_pages(&mut self, limit: Arc<AtomicU32>) -> Result<(), StoreError> {
        self.page_limit = Some(limit);
        self.apply_page_limit()
    }

    /// Commits without waiting for the disk from now on: whoever has the log must [`LogSync::sync`] it before a commit
    /// counts as durable.
    ///
    /// # Errors
    /// [`StoreError`]; every commit then waits for the disk, as before.
    pub fn sync_apart(&mut self) -> Result<LogSync, StoreError> {
        let log = LogSync::beside(&self.path)?;
        self.synced_apart = true;
        self.apply_synchronous()?;
        Ok(log)
    }

    fn apply_synchronous(&self) -> Result<(), StoreError> {
        if self.synced_apart {
            self.pragma_update(None, "synchronous", "NORMAL")?;
        }
        Ok(())
    }

    fn apply_page_limit(&self) -> Result<(), StoreError> {
        if let Some(limit) = &self.page_limit {
            let limit = limit.load(Ordering::Relaxed);
            self.pragma_update_and_check(None, "max_page_count", limit, |_| Ok(()))?;
        }
        Ok(())
    }

    /// Starts a transaction that holds the write lock from its first statement on, so that what it
    /// reads cannot change before it commits.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when another process keeps the lock for longer than ten seconds.
    pub fn begin(&mut self) -> Result<Transaction<'_>, StoreError> {
        Transaction::begin(&mut self.connection)
    }

    /// Takes the write lock where nobody has it, so that [`Writer::begin`] does not wait; false when somebody else
    /// has it.
    pub fn try_lock(&self) -> Result<bool, StoreError> {
        self.connection.try_lock()
    }

    /// Gives back a lock that [`Writer::try_lock`] took, where no transaction follows.
    pub fn unlock(&self) {
        self.connection.unlock();
    }

    /// Whether so much is in the write-ahead log that [`Writer::copy_log`] should be asked for, after a
    /// [`Transaction::commit_only`].
    pub fn log_is_long(&self) -> bool {
        self.connection.log_is_long()
    }

    /// Copies the write-ahead log into the file, as far as nobody reads what is in the file now. Takes as long as the
    /// disk takes for 32 MiB.
    pub fn copy_log(&mut self) {
        self.connection.copy_log();
    }

    /// A number that changes when another process commits.
    pub fn data_version(&self) -> Result<i64, StoreError> {
        sql::value(self, "PRAGMA data_version", [])
    }

    /// Copies the write-ahead log back into the file. SQLite does so only when the last connection to close is one that
    /// may write; a console's readers outlive its writer. Without it the file alone is not a copy, and pages in the log
    /// hide what happens to those in the file.
    ///
    /// Somebody who reads for longer than a second leaves a part of it to the next start.
    ///
    /// # Errors
    /// [`StoreError::Sqlite`] when a page cannot be written; the log then stays.
    pub fn fold_log_back(&self) -> Result<(), StoreError> {
        self.busy_timeout(FOLD_BACK_WAIT)?;
        Ok(self.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }

    /// Closes the connection.
    ///
    /// # Errors
    /// [`StoreError::Sqlite`] when SQLite cannot end what it had begun.
    pub fn close(self) -> Result<(), StoreError> {
        self.connection.close()
    }

    /// Replaces the connection: after a failed transaction SQLite may have rolled back on its own.
    ///
    /// # Errors
    /// [`StoreError::Sqlite`]; the old connection then stays.
    pub fn reopen(&mut self) -> Result<(), StoreError> {
        // The old one is closed at once: the file would count one more reader.
        self.connection = WriteConnection::open(&self.path)?;
        self.apply_synchronous()?;
        self.apply_page_limit()
    }
}

/// A few connections that cannot write.
#[derive(Debug, Clone)]
pub struct Reader(pub SqlitePool);

impl Reader {
    /// The write-ahead log of the database that these connections read.
    ///
    /// # Errors
    /// [`StoreError::NotDurable`] when it has none.
    pub fn log(&self) -> Result<LogSync, StoreError> {
        LogSync::beside(self.0.connect_options().get_filename())
    }

    /// Closes all of them.
    pub async fn close(&self) {
        self.0.close().await;
    }
}

pub(super) fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        // A decision that was acknowledged to a person must survive a power cut (see also `sync_apart`).
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY_LIMIT)
        .statement_cache_capacity(PREPARED_STATEMENTS)
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        .pragma("temp_store", "MEMORY")
        .pragma("cache_size", CACHE)
        // 32 MiB, for an update of the store.
        .pragma("wal_autocheckpoint", "8000")
        .disable_statement_logging()
}

/// Opens the file for reading and writing, makes it if it is missing, and brings it to this version.
pub async fn open(path: &Path) -> Result<(Writer, Reader), StoreError> {
    open_telling(path, &Updates::default()).await
}

/// As [`open`], and reports the progress of an update of the store that takes long.
pub async fn open_telling(path: &Path, reported: &Updates) -> Result<(Writer, Reader), StoreError> {
    let mut steps = options(path).create_if_missing(true).connect().await?;
    bring_up(&MIGRATIONS, &mut steps, reported).await?;
    sign(&mut steps).await?;
    steps.close().await?;
    Ok((Writer::of(path)?, open_read_only(path).await?))
}

/// Opens the file of a console that runs, to work beside it.
///
/// # Errors
/// As [`open`]; [`StoreError::Older`] where that console would have to bring it to this version.
pub async fn open_beside(path: &Path) -> Result<(Writer, Reader), StoreError> {
    let mut steps = options(path).connect().await?;
    refuse_older(&MIGRATIONS, &mut steps).await?;
    steps.close().await?;
    Ok((Writer::of(path)?, open_read_only(path).await?))
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
pub async fn open_read_only(path: &Path) -> Result<Reader, StoreError> {
    let options = options(path)
        .read_only(true)
        .pragma("cache_size", READER_CACHE);
    match readers(options.clone()).await {
        Err(error) if error.is_read_only() && !has_log(path) => {
            // SQLite cannot put its files beside it; without a log nobody else is writing either.
            readers(options.immutable(true)).await
        }
        opened => opened,
    }
}

async fn readers(options: SqliteConnectOptions) -> Result<Reader, StoreError> {
    let pool = SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(BUSY_LIMIT)
        .connect_with(options)
        .await?;
    Ok(Reader(pool))
}

fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

/// Looks through the pages of an existing file for as long as `limit`, before anybody writes to it.
pub async fn look_through(path: &Path, limit: Duration) -> Result<(), StoreError> {
    const STEPS: i32 = 10_000;
    match std::fs::metadata(path) {
        Err(_) => return Ok(()),
        Ok(file) if file.len() == 0 => return Err(StoreError::corrupt("nothing at all")),
        Ok(_) => {}
    }
    let mut connection = options(path)
        .read_only(true)
        .pragma("cache_size", READER_CACHE)
        .connect()
        .await?;
    let give_up = tokio::time::Instant::now() + limit;
    connection
        .lock_handle()
        .await?
        .set_progress_handler(STEPS, move || tokio::time::Instant::now() < give_up);
    let found = quick_check(&mut connection).await;
    connection.lock_handle().await?.remove_progress_handler();
    connection.close().await?;
    match found {
        Err(error) if error.is_interrupted() => {
            tracing::info!("the database is too large to be looked through at every start");
            Ok(())
        }
        found => found,
    }
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
    use crate::requests;

    #[tokio::test]
    async fn every_connection_has_the_same_pragmas() {
        let (_folder, writer, reader) = temporary().await;
        for (pragma, expected) in [
            ("journal_mode", "wal"),
            ("synchronous", "2"),
            ("foreign_keys", "1"),
            ("trusted_schema", "0"),
        ] {
            let select = format!("SELECT CAST({pragma} AS TEXT) FROM pragma_{pragma}");
            let written: String = sql::value(&writer, &select, []).unwrap();
            let read: String = sqlx::query_scalar(sqlx::AssertSqlSafe(select))
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
    async fn who_syncs_apart_keeps_doing_so_on_a_connection_that_replaces_the_first() {
        let (_folder, mut writer, _reader) = temporary().await;
        let log = writer.sync_apart().unwrap();
        for _ in 0..2 {
            let synchronous: i64 = sql::value(&writer, "PRAGMA synchronous", []).unwrap();
            assert_eq!(synchronous, 1, "NORMAL");
            writer.begin().unwrap().commit().unwrap();
            log.sync().unwrap();
            writer.reopen().unwrap();
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
            let tx = writer.begin().unwrap();
            for _ in 0..2 {
                requests::records(&tx, &known).unwrap();
            }
            drop(tx);
            writer.reopen().unwrap();
        }
        let tx = writer.begin().unwrap();
        requests::records(&tx, &known).unwrap();
        tx.commit().unwrap();
        reader.close().await;
        writer.close().unwrap();
        // SQLite removes it with the last connection, which a statement would have kept open.
        assert!(!folder.path().join("countersign.db-wal").exists());
    }

    #[tokio::test]
    async fn opening_twice_changes_nothing() {
        let (folder, writer, reader) = temporary().await;
        reader.close().await;
        writer.close().unwrap();
        open(&folder.path().join("countersign.db")).await.unwrap();
    }
}
