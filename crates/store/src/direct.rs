//! The connection that writes, on the thread of whoever calls.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::StoreError;
use super::pool::{BUSY_LIMIT, CACHE};

/// More than there are statements that write, so that each stays prepared.
const STATEMENTS: usize = 400;
/// Pages of the write-ahead log that are worth being copied into the file, 32 MiB: every few seconds under load
/// instead of several times a second.
const LONG_LOG: i32 = 8_000;

thread_local! {
    /// Pages in the log after the last commit on this thread.
    static LOG_PAGES: Cell<i32> = const { Cell::new(0) };
}

/// The one SQLite connection of this process that writes to a store.
#[derive(Debug)]
pub(super) struct WriteConnection {
    pub(super) sqlite: Connection,
    /// Pages in the log after the last commit.
    log_pages: i32,
}

impl WriteConnection {
    /// Opens an existing file.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let sqlite = Connection::open_with_flags(path, flags)?;
        sqlite.busy_timeout(BUSY_LIMIT)?;
        for (pragma, value) in [
            ("journal_mode", "WAL"),
            // A decision that was acknowledged to a person must survive a power cut (see also `Writer::sync_apart`).
            ("synchronous", "FULL"),
            ("foreign_keys", "ON"),
            ("trusted_schema", "OFF"),
            ("cell_size_check", "ON"),
            ("temp_store", "MEMORY"),
            ("cache_size", CACHE),
        ] {
            sqlite.pragma_update(None, pragma, value)?;
        }
        sqlite.set_prepared_statement_cache_capacity(STATEMENTS);
        // Instead of SQLite's own hook, which copies the log while whoever commits waits for it.
        sqlite.wal_hook(Some(|_, pages| {
            LOG_PAGES.set(pages);
            Ok(())
        }));
        Ok(Self {
            sqlite,
            log_pages: 0,
        })
    }

    /// Takes the write lock where nobody has it: the next transaction then begins without waiting. False when
    /// somebody else writes.
    pub(super) fn try_lock(&self) -> Result<bool, StoreError> {
        self.sqlite.busy_timeout(Duration::ZERO)?;
        let begun = run(&self.sqlite, BEGIN);
        self.sqlite.busy_timeout(BUSY_LIMIT)?;
        match begun {
            Ok(()) => Ok(true),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends what [`WriteConnection::try_lock`] or a transaction has begun and nobody has committed; nothing of it lasts.
    pub(super) fn unlock(&self) {
        // SQLite ends a transaction on its own after some failures, and `commit` after success.
        if !self.sqlite.is_autocommit()
            && let Err(error) = run(&self.sqlite, "ROLLBACK")
        {
            tracing::warn!(%error, "a transaction could not be rolled back; the connection is replaced");
        }
    }

    /// Whether the log is worth being copied into the file.
    pub(super) fn log_is_long(&self) -> bool {
        self.log_pages >= LONG_LOG
    }

    /// Copies the log into the file, as far as nobody reads what is in the file now. What cannot be copied stays in
    /// the log, and the next commit finds it there.
    pub(super) fn copy_log(&mut self) {
        let copied = self
            .sqlite
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = copied {
            tracing::warn!(%error, "the write-ahead log could not be copied into the database");
        }
        self.log_pages = 0;
    }

    pub(super) fn close(self) -> Result<(), StoreError> {
        self.sqlite.close().map_err(|(_, error)| error.into())
    }
}

const BEGIN: &str = "BEGIN IMMEDIATE";

fn run(sqlite: &Connection, sql: &str) -> rusqlite::Result<()> {
    sqlite.prepare_cached(sql)?.execute([]).map(drop)
}

/// A transaction that holds the write lock. What is not committed is rolled back when it is dropped.
///
/// It stays on its thread, so that nothing that is sent to another one can wait for anything else while it is open.
#[derive(Debug)]
pub struct Transaction<'w> {
    connection: &'w mut WriteConnection,
    stays: PhantomData<*const ()>,
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection.sqlite
    }
}

impl<'w> Transaction<'w> {
    pub(super) fn begin(connection: &'w mut WriteConnection) -> Result<Self, StoreError> {
        // Else `try_lock` has begun it.
        if connection.sqlite.is_autocommit() {
            run(&connection.sqlite, BEGIN)?;
        }
        Ok(Self {
            connection,
            stays: PhantomData,
        })
    }

    /// Makes it last.
    ///
    /// # Errors
    /// [`StoreError::Sqlite`]; nothing of it lasts then.
    pub fn commit(mut self) -> Result<(), StoreError> {
        self.end()?;
        if self.connection.log_is_long() {
            self.connection.copy_log();
        }
        Ok(())
    }

    /// As [`Transaction::commit`], and leaves a long log to whoever asks for [`super::Writer::log_is_long`].
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub fn commit_only(mut self) -> Result<(), StoreError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), StoreError> {
        LOG_PAGES.set(0);
        run(&self.connection.sqlite, "COMMIT")?;
        let pages = LOG_PAGES.get();
        // Nothing was written: the log is as long as before.
        if pages > 0 {
            self.connection.log_pages = pages;
        }
        Ok(())
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.connection.unlock();
    }
}

#[cfg(test)]
mod tests {
    use sqlx::ConnectOptions as _;

    use crate::pool::{options, temporary};

    #[tokio::test]
    async fn a_lock_is_taken_at_once_or_not_at_all_and_the_next_transaction_has_it() {
        let (folder, mut writer, reader) = temporary().await;
        let path = folder.path().join("countersign.db");
        let mut other = options(&path).connect().await.unwrap();
        sqlx::query("BEGIN IMMEDIATE")
            .execute(&mut other)
            .await
            .unwrap();
        assert!(!writer.try_lock().unwrap());
        sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
        assert!(writer.try_lock().unwrap());
        let refused = sqlx::query("PRAGMA busy_timeout = 0")
            .execute(&mut other)
            .await;
        refused.unwrap();
        let begin = sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await;
        assert!(begin.is_err(), "it is held");
        let tx = writer.begin().unwrap();
        let put = "INSERT INTO meta(key, value) VALUES ('a', 'b')";
        tx.execute(put, []).unwrap();
        tx.commit().unwrap();
        let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM meta WHERE key = 'a'")
            .fetch_one(&reader.0)
            .await
            .unwrap();
        assert_eq!(rows, 1);
        let begin = sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await;
        assert!(begin.is_ok(), "it is free again");
        sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
        assert!(writer.try_lock().unwrap());
        writer.unlock();
        let begin = sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await;
        assert!(begin.is_ok(), "it was given back without a transaction");
    }

    #[tokio::test]
    async fn a_long_log_is_copied_by_a_commit_or_left_to_whoever_asks() {
        let (folder, mut writer, _reader) = temporary().await;
        let file = folder.path().join("countersign.db");
        let before = std::fs::metadata(&file).unwrap().len();
        let fill = "INSERT OR REPLACE INTO meta(key, value)
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
                    SELECT 'k' || i, hex(zeroblob(2000)) FROM n";
        let tx = writer.begin().unwrap();
        tx.execute(fill, []).unwrap();
        tx.commit_only().unwrap();
        assert!(writer.log_is_long());
        assert_eq!(
            std::fs::metadata(&file).unwrap().len(),
            before,
            "left alone"
        );
        writer.copy_log();
        assert!(!writer.log_is_long());
        let copied = std::fs::metadata(&file).unwrap().len();
        assert!(copied > before + 30_000_000);
        let tx = writer.begin().unwrap();
        let more = fill.replace("'k'", "'l'");
        tx.execute(&more, []).unwrap();
        tx.commit().unwrap();
        assert!(!writer.log_is_long());
        assert!(std::fs::metadata(&file).unwrap().len() > copied + 30_000_000);
    }

    #[tokio::test]
    async fn what_is_not_committed_is_not_there() {
        let (_folder, mut writer, reader) = temporary().await;
        let put = "INSERT INTO meta(key, value) VALUES ('a', 'b')";
        for commit in [false, true] {
            let tx = writer.begin().unwrap();
            tx.execute(put, []).unwrap();
            if commit {
                tx.commit().unwrap();
            } else {
                drop(tx);
            }
            let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM meta WHERE key = 'a'")
                .fetch_one(&reader.0)
                .await
                .unwrap();
            assert_eq!(rows, i64::from(commit));
        }
    }
}
