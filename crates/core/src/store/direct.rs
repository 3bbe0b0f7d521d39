//! Statements on the writing connection without a thread in between.
//!
//! sqlx hands each statement to a thread of its own, copies each value for it and hands each row back:
//! that costs several times what SQLite needs for a row. What every request passes through is written
//! here instead: one lock for many rows, each bound where it stands.
//!
//! Refuses to keep anything beyond the lock: neither a statement nor a pointer outlives it.

use rusqlite::Connection;
use sqlx::SqliteConnection;

use super::StoreError;

/// Does `work` in the transaction that `tx` is in.
///
/// Blocks the thread while SQLite works: the one writer has a thread of its own.
///
/// # Errors
/// [`StoreError`]; then the transaction must not be committed.
#[allow(unsafe_code)]
pub(crate) async fn direct<T>(
    tx: &mut SqliteConnection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    let mut locked = tx.lock_handle().await?;
    let handle = locked.as_raw_handle().as_ptr();
    // SAFETY: the handle is open and nobody else uses it while `locked` lives; the connection does not
    // own it, and is dropped with all its statements before `locked` is.
    let connection = unsafe { Connection::from_handle(handle) }?;
    Ok(work(&connection)?)
}
