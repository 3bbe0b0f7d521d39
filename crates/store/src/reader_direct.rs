//! Reading without a thread in between, for what has thousands of rows.
//!
//! sqlx hands every row over to the caller, a few at a time: on a busy machine each of these turns waits for
//! its own turn. Here a whole result is read at once, on a thread that may block.

use rusqlite::Connection;
use tokio::runtime::Handle;

use super::direct::borrowed;
use super::{Reader, StoreError};

impl Reader {
    /// Does `work` on one of the connections, which nobody else uses meanwhile.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Sqlite`] too when no connection is free within ten seconds.
    pub(super) async fn direct<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
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
            .map_err(|error| StoreError::Sqlite(sqlx::Error::Io(std::io::Error::other(error))))?
    }
}
