//! The connection that writes: through sqlx, and without a thread in between.
//!
//! sqlx hands each statement to a thread of its own, copies each value for it and hands each row back:
//! that costs several times what SQLite needs for a row. What every request passes through is done here
//! on the caller's thread instead, transactions included.
//!
//! Refuses to use the connection while sqlx may still use it, and to outlive it.

use std::ops::{Deref, DerefMut};

use rusqlite::Connection;
use sqlx::{Connection as _, SqliteConnection};

use super::StoreError;

/// More than there are statements that go this way.
const STATEMENTS: usize = 48;

/// One SQLite connection under two interfaces. As a [`SqliteConnection`] it takes sqlx's queries.
///
/// SQLite must have been told to serialise the connection's callers.
#[derive(Debug)]
pub struct WriteConnection {
    // First: its statements end before the connection is closed.
    direct: Connection,
    sqlx: SqliteConnection,
    /// Since it was last waited for, sqlx's thread may have been given something to do.
    handed_over: bool,
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
        Ok(Self {
            direct,
            sqlx,
            handed_over: false,
        })
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
            .direct(|sqlite| run(sqlite, "BEGIN IMMEDIATE"))
            .await?;
        Ok(Self { connection })
    }

    /// Makes it last.
    ///
    /// # Errors
    /// [`StoreError::Sqlite`]; nothing of it lasts then.
    pub async fn commit(self) -> Result<(), StoreError> {
        self.connection.direct(|sqlite| run(sqlite, "COMMIT")).await
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        let sqlite = &self.connection.direct;
        // SQLite ends a transaction by itself after some failures, and `commit` after success.
        if !sqlite.is_autocommit()
            && let Err(error) = run(sqlite, "ROLLBACK")
        {
            tracing::warn!(%error, "a transaction could not be rolled back; the connection is replaced");
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;

    use crate::store::pool::temporary;

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
