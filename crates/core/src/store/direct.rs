//! Statements on the writing connection without a thread in between.
//!
//! sqlx hands each statement to a thread of its own, copies each value for it and hands each row back:
//! that costs several times what SQLite needs for a row. What every request passes through is written
//! here instead: one lock for many rows, each bound where it stands.
//!
//! Refuses to use a connection that sqlx uses at the moment, and to outlive it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use sqlx::SqliteConnection;

use super::StoreError;

/// More than there are statements that go this way.
const STATEMENTS: usize = 32;

/// Prepared statements of the open writers, by their handle.
static KEPT: Mutex<BTreeMap<usize, Connection>> = Mutex::new(BTreeMap::new());

fn kept() -> MutexGuard<'static, BTreeMap<usize, Connection>> {
    // The map is whole after each of the steps below, whoever panicked.
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the statements of one connection prepared until it is dropped, which must be before that
/// connection is closed. SQLite must have been told to serialise the connection's callers.
#[derive(Debug)]
pub(super) struct Prepared(usize);

impl Prepared {
    pub(super) async fn of(connection: &mut SqliteConnection) -> Result<Self, StoreError> {
        let mut locked = connection.lock_handle().await?;
        let handle = locked.as_raw_handle().as_ptr();
        let sqlite = borrowed(handle)?;
        sqlite.set_prepared_statement_cache_capacity(STATEMENTS);
        kept().insert(handle as usize, sqlite);
        Ok(Self(handle as usize))
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        kept().remove(&self.0);
    }
}

#[allow(unsafe_code)]
fn borrowed(handle: *mut rusqlite::ffi::sqlite3) -> Result<Connection, StoreError> {
    // SAFETY: the handle is open. The connection does not own it, and all its statements end before it
    // is closed: with the lock in `direct`, or with `Prepared`.
    Ok(unsafe { Connection::from_handle(handle) }?)
}

/// Does `work` in the transaction that `tx` is in.
///
/// Blocks the thread while SQLite works: the one writer has a thread of its own.
///
/// # Errors
/// [`StoreError`]; then the transaction must not be committed.
pub(super) async fn direct<T>(
    tx: &mut SqliteConnection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    let mut locked = tx.lock_handle().await?;
    let handle = locked.as_raw_handle().as_ptr();
    let known = kept().remove(&(handle as usize));
    let keep = known.is_some();
    let sqlite = match known {
        Some(sqlite) => sqlite,
        None => borrowed(handle)?,
    };
    let done = work(&sqlite);
    if keep {
        kept().insert(handle as usize, sqlite);
    }
    Ok(done?)
}
