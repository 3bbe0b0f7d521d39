//! Reading without a thread in between, for what has thousands of rows or takes many statements.
//!
//! sqlx hands every statement and every row over to the caller, a few at a time: on a busy machine each of these turns
//! waits for its own turn. Here everything is read at once, on a thread that may block.

use rusqlite::Connection;
use tokio::runtime::Handle;

use super::{Reader, StoreError};

#[allow(unsafe_code)]
fn borrowed(handle: *mut rusqlite::ffi::sqlite3) -> Result<Connection, StoreError> {
    // SAFETY: the handle is open and stays so: its lock is held until all statements of the connection, which does not
    // own it, have ended.
    Ok(unsafe { Connection::from_handle(handle) }?)
}

impl Reader {
    /// Does `work` on one of the connections, which nobody else uses meanwhile.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Sqlite`] too when no connection is free within ten seconds.
    pub async fn direct<T: Send + 'static, E: 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, StoreError>
    where
        StoreError: From<E>,
    {
        let mut connection = self.0.acquire().await?;
        let runtime = Handle::current();
        let done = tokio::task::spawn_blocking(move || {
            runtime.block_on(async {
                // Held to the end: sqlx's own thread stays away from the connection.
                let mut handle = connection.lock_handle().await?;
                let sqlite = borrowed(handle.as_raw_handle().as_ptr())?;
                Ok::<T, StoreError>(work(&sqlite)?)
            })
        });
        done.await
            .map_err(|error| sqlx::Error::Io(std::io::Error::other(error)))?
    }
}
