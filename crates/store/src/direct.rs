//! The connection that writes: through sqlx, and without a thread in between.
//!
//! sqlx hands each statement to a thread of its own, copies each value for it and hands each row back:
//! that costs several times what SQLite needs for a row. What every request passes through is done here
//! on the caller's thread instead, transactions included.
//!
//! The connection is used only while sqlx does not use it, and never after its end.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};
use sqlx::{Connection as _, SqliteConnection};

use super::StoreError;

/// More than there are statements that go this way.
const STATEMENTS: usize = 64;
/// Pages of the write-ahead log that are worth being copied into the file, 32 MiB: every few seconds under load
/// instead of several times a second.
const LONG_LOG: i32 = 8_000;

thread_local! {
    /// Pages in the log after the last commit on this thread.
    static LOG_PAGES: Cell<i32> = const { Cell::new(0) };
}

/// One SQLite connection under two interfaces. As a [`SqliteConnection`] it takes sqlx's queries.
///
/// SQLite must be configured to serialise the connection's callers.
#[derive(Debug)]
pub struct WriteConnection {
    // First: its statements end before the connection is closed.
    direct: Connection,
    sqlx: SqliteConnection,
    /// Since it was last waited for, sqlx's thread may have been given something to do.
    handed_over: bool,
    /// Pages in the log after the last commit.
    log_pages: i32,
}

impl Deref for WriteConnection {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.sqlx
    }
}

impl DerefMut for WriteConnection {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        self.handed_over = true;
        &mut self.sqlx
    }
}

impl WriteConnection {
    pub(super) async fn of(mut sqlx: SqliteConnection) -> Result<Self, StoreError> {
        let handle = sqlx.lock_handle().await?.as_raw_handle().as_ptr();
        let direct = borrowed(handle)?;
        direct.set_prepared_statement_cache_capacity(STATEMENTS);
        // Instead of SQLite's own hook, which copies the log while whoever commits waits for it.
        direct.wal_hook(Some(|_, pages| {
            LOG_PAGES.set(pages);
            Ok(())
        }));
        Ok(Self {
            direct,
            sqlx,
            handed_over: false,
            log_pages: 0,
        })
    }

    /// Takes the write lock where nobody has it: the next transaction then begins without waiting. False when
    /// somebody else writes.
    pub(super) async fn try_lock(&mut self, patience: Duration) -> Result<bool, StoreError> {
        let locked = self.direct(|sqlite| {
            sqlite.busy_timeout(Duration::ZERO)?;
            let begun = run(sqlite, BEGIN);
            sqlite.busy_timeout(patience)?;
            match begun {
                Ok(()) => Ok(true),
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                    Ok(false)
                }
                Err(error) => Err(error),
            }
        });
        locked.await
    }

    /// Ends what [`WriteConnection::try_lock`] or a transaction has begun and nobody has committed; nothing of it lasts.
    pub(super) fn unlock(&mut self) {
        let sqlite = &self.direct;
        // SQLite ends a transaction on its own after some failures, and `commit` after success.
        if !sqlite.is_autocommit()
            && let Err(error) = run(sqlite, "ROLLBACK")
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
    pub(super) async fn copy_log(&mut self) {
        let copied = self.direct(|sqlite| {
            let mut copy = sqlite.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?;
            copy.query_row([], |_| Ok(()))
        });
        if let Err(error) = copied.await {
            tracing::warn!(%error, "the write-ahead log could not be copied into the database");
        }
        self.log_pages = 0;
    }

    /// Does `work` on this thread, which blocks while SQLite works: the one writer has a thread of its own.
    ///
    /// # Errors
    /// [`StoreError`]; a transaction must then not be committed.
    pub(super) async fn direct<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        if self.handed_over {
            // A query that returned its row may not be over: nothing can be committed beside it.
            drop(self.sqlx.lock_handle().await?);
            self.handed_over = false;
        }
        Ok(work(&self.direct)?)
    }

    pub(super) async fn close(self) -> Result<(), StoreError> {
        drop(self.direct);
        Ok(self.sqlx.close().await?)
    }
}

#[allow(unsafe_code)]
pub(super) fn borrowed(handle: *mut rusqlite::ffi::sqlite3) -> Result<Connection, StoreError> {
    // SAFETY: the handle is open. The connection does not own it, and all its statements end before it
    // is closed: `WriteConnection` drops them first, and `Reader::direct` before it gives its connection back.
    Ok(unsafe { Connection::from_handle(handle) }?)
}

const BEGIN: &str = "BEGIN IMMEDIATE";

fn run(sqlite: &Connection, sql: &str) -> rusqlite::Result<()> {
    sqlite.prepare_cached(sql)?.execute([]).map(drop)
}

/// A transaction that holds the write lock. What is not committed is rolled back when it is dropped.
#[derive(Debug)]
pub struct Transaction<'w> {
    connection: &'w mut WriteConnection,
}

impl Deref for Transaction<'_> {
    type Target = WriteConnection;

    fn deref(&self) -> &WriteConnection {
        self.connection
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut WriteConnection {
        self.connection
    }
}

impl<'w> Transaction<'w> {
    pub(super) async fn begin(connection: &'w mut WriteConnection) -> Result<Self, StoreError> {
        connection
            .direct(|sqlite| match sqlite.is_autocommit() {
                true => run(sqlite, BEGIN),
                // `try_lock` has begun it.
                false => Ok(()),
            })
            .await?;
        Ok(Self { connection })
    }

    /// Makes it last.
    ///
    /// # Errors
    /// [`StoreError::Sqlite`]; nothing of it lasts then.
    pub async fn commit(mut self) -> Result<(), StoreError> {
        self.end().await?;
        if self.connection.log_is_long() {
            self.connection.copy_log().await;
        }
        Ok(())
    }

    /// As [`Transaction::commit`], and leaves a long log to whoever asks for [`super::Writer::log_is_long`].
    pub async fn commit_only(mut self) -> Result<(), StoreError> {
        self.end().await
    }

    async fn end(&mut self) -> Result<(), StoreError> {
        let ended = self.connection.direct(|sqlite| {
            LOG_PAGES.set(0);
            run(sqlite, "COMMIT")?;
            Ok(LOG_PAGES.get())
        });
        let pages = ended.await?;
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
    use futures::TryStreamExt;
    use sqlx::ConnectOptions as _;

    use crate::pool::{temporary, writing};

    #[tokio::test]
    async fn a_transaction_is_over_only_after_what_sqlx_was_asked_in_it() {
        let (_folder, mut writer, _reader) = temporary().await;
        for round in 0..200 {
            let mut tx = writer.begin().await.unwrap();
            let put = "INSERT INTO meta(key, value)
                       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
                       SELECT 'k' || i, ? FROM n WHERE true
                       ON CONFLICT DO UPDATE SET value = excluded.value RETURNING value";
            let mut found = sqlx::query_scalar::<_, String>(put)
                .bind(round.to_string())
                .fetch(&mut **tx);
            assert_eq!(found.try_next().await.unwrap(), Some(round.to_string()));
            drop(found);
            tx.commit().await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_lock_is_taken_at_once_or_not_at_all_and_the_next_transaction_has_it() {
        let (folder, mut writer, reader) = temporary().await;
        let path = folder.path().join("countersign.db");
        let mut other = writing(&path).connect().await.unwrap();
        sqlx::query("BEGIN IMMEDIATE")
            .execute(&mut other)
            .await
            .unwrap();
        assert!(!writer.try_lock().await.unwrap());
        sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
        assert!(writer.try_lock().await.unwrap());
        let refused = sqlx::query("PRAGMA busy_timeout = 0")
            .execute(&mut other)
            .await;
        refused.unwrap();
        let begin = sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await;
        assert!(begin.is_err(), "it is held");
        let mut tx = writer.begin().await.unwrap();
        let put = "INSERT INTO meta(key, value) VALUES ('a', 'b')";
        tx.direct(|sqlite| sqlite.execute(put, [])).await.unwrap();
        tx.commit().await.unwrap();
        let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM meta WHERE key = 'a'")
            .fetch_one(&reader.0)
            .await
            .unwrap();
        assert_eq!(rows, 1);
        let begin = sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await;
        assert!(begin.is_ok(), "it is free again");
        sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
        assert!(writer.try_lock().await.unwrap());
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
        let mut tx = writer.begin().await.unwrap();
        tx.direct(|sqlite| sqlite.execute(fill, [])).await.unwrap();
        tx.commit_only().await.unwrap();
        assert!(writer.log_is_long());
        assert_eq!(
            std::fs::metadata(&file).unwrap().len(),
            before,
            "left alone"
        );
        writer.copy_log().await;
        assert!(!writer.log_is_long());
        let copied = std::fs::metadata(&file).unwrap().len();
        assert!(copied > before + 30_000_000);
        let mut tx = writer.begin().await.unwrap();
        let more = fill.replace("'k'", "'l'");
        tx.direct(|sqlite| sqlite.execute(&more, [])).await.unwrap();
        tx.commit().await.unwrap();
        assert!(!writer.log_is_long());
        assert!(std::fs::metadata(&file).unwrap().len() > copied + 30_000_000);
    }

    #[tokio::test]
    async fn what_is_not_committed_is_not_there() {
        let (_folder, mut writer, reader) = temporary().await;
        let put = "INSERT INTO meta(key, value) VALUES ('a', 'b')";
        for commit in [false, true] {
            let mut tx = writer.begin().await.unwrap();
            tx.direct(|sqlite| sqlite.execute(put, [])).await.unwrap();
            if commit {
                tx.commit().await.unwrap();
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
