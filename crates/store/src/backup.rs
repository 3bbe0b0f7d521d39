//! Copies of the file: how one is made while the console works, and how one is read.
//!
//! The file that it copies is never changed, its own table never stays in a store that is used, and a file that is not
//! a backup is not opened.

use std::path::Path;

use rusqlite::{OpenFlags, params};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};

use super::audit::{self, Head};
use super::{StoreError, Writer, pool, sql};

/// Virtual-machine steps of SQLite between two looks whether the copy is still wanted.
const STEPS: i32 = 4_096;

/// A file that a backup carries beside the tables: its path in the data folder, and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedFile {
    /// Relative, with `/`.
    pub name: String,
    /// As on the disk.
    pub body: Vec<u8>,
}

fn plain(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        .disable_statement_logging()
}

/// Pages that a copy will have at most, times their size.
pub async fn expected_bytes(source: &Path) -> Result<u64, StoreError> {
    let mut connection = pool::options(source).read_only(true).connect().await?;
    let bytes: i64 = sqlx::query_scalar(
        "SELECT (page_count - freelist_count) * page_size
         FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
    )
    .fetch_one(&mut connection)
    .await?;
    connection.close().await?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// Writes one consistent state of `source` into the empty file `target`.
///
/// It is one read transaction: a console goes on writing meanwhile, and its log grows until the copy
/// is done. `wanted` is asked again and again; false ends the copy with an error.
pub async fn copy(
    source: &Path,
    target: &Path,
    wanted: impl Fn() -> bool + Send + 'static,
) -> Result<(), StoreError> {
    let mut connection = pool::options(source).read_only(true).connect().await?;
    connection
        .lock_handle()
        .await?
        .set_progress_handler(STEPS, wanted);
    let done = sqlx::query("VACUUM INTO ?")
        .bind(target.to_string_lossy().into_owned())
        .execute(&mut connection)
        .await;
    connection.lock_handle().await?.remove_progress_handler();
    connection.close().await?;
    done?;
    Ok(())
}

/// The end of the chain in a fresh copy, after looking through its pages.
///
/// # Errors
/// [`StoreError::Corrupt`] when the copy is damaged, thus the original too.
pub async fn inspect(target: &Path) -> Result<Head, StoreError> {
    let mut connection = plain(target).connect().await?;
    pool::quick_check(&mut connection).await?;
    connection.close().await?;
    audit::head(&writing(target)?)
}

/// Adds what a backup carries beside the tables, and closes the copy.
pub async fn carry(target: &Path, files: &[CarriedFile]) -> Result<(), StoreError> {
    let mut connection = plain(target)
        .journal_mode(SqliteJournalMode::Delete)
        .synchronous(SqliteSynchronous::Full)
        .connect()
        .await?;
    sqlx::query("CREATE TABLE backup(name TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT")
        .execute(&mut connection)
        .await?;
    for file in files {
        sqlx::query("INSERT INTO backup(name, body) VALUES (?, ?)")
            .bind(&file.name)
            .bind(&file.body)
            .execute(&mut connection)
            .await?;
    }
    Ok(connection.close().await?)
}

/// What a backup carries beside the tables; none when the file is not a backup.
///
/// # Errors
/// [`StoreError::Sqlite`] when it is not an SQLite file or cannot be read.
pub async fn carried(file: &Path) -> Result<Option<Vec<CarriedFile>>, StoreError> {
    // Immutable: a backup may lie on a medium that takes no lock.
    let mut connection = plain(file)
        .read_only(true)
        .immutable(true)
        .connect()
        .await?;
    let known: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'backup'",
    )
    .fetch_one(&mut connection)
    .await?;
    let rows: Vec<(String, Vec<u8>)> = match known {
        0 => return Ok(None),
        _ => {
            sqlx::query_as("SELECT name, body FROM backup ORDER BY name")
                .fetch_all(&mut connection)
                .await?
        }
    };
    connection.close().await?;
    let files = rows
        .into_iter()
        .map(|(name, body)| CarriedFile { name, body });
    Ok(Some(files.collect()))
}

/// Whether every page and index of a file is whole.
///
/// # Errors
/// [`StoreError::Corrupt`] with the first fault.
pub async fn whole(file: &Path) -> Result<(), StoreError> {
    let mut connection = plain(file).connect().await?;
    let fault: String = sqlx::query_scalar("PRAGMA integrity_check(1)")
        .fetch_one(&mut connection)
        .await?;
    connection.close().await?;
    match fault.as_str() {
        "ok" => Ok(()),
        fault => Err(StoreError::Corrupt {
            what: fault.to_owned(),
        }),
    }
}

/// Makes a store of a backup: what it carried beside the tables leaves no trace in the file.
pub fn unload(writer: &Writer) -> Result<(), StoreError> {
    writer.pragma_update(None, "secure_delete", "ON")?;
    writer.execute("DROP TABLE IF EXISTS backup", [])?;
    Ok(())
}

/// Whether the chain of a store has a row of this number and hash.
pub fn contains(writer: &Writer, head: &Head) -> Result<bool, StoreError> {
    let contains = "SELECT EXISTS(SELECT 1 FROM audit WHERE seq = ? AND hash = ?)";
    Ok(head.seq == 0 || sql::value(writer, contains, params![head.seq, head.hash])?)
}

/// Ends and anchored end of the chain of a store that nobody uses, whichever version wrote it; its
/// log is written back, so that the file alone is the whole store.
pub fn settle(file: &Path) -> Result<(Head, i64), StoreError> {
    let sqlite = writing(file)?;
    let head = audit::head(&sqlite)?;
    let anchored = sql::value(&sqlite, "SELECT coalesce(max(seq), 0) FROM anchors", [])?;
    Ok((head, anchored))
}

/// Opens a file that nobody uses. When it is closed, its log is written back.
fn writing(file: &Path) -> Result<rusqlite::Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sqlite = rusqlite::Connection::open_with_flags(file, flags)?;
    sqlite.pragma_update(None, "trusted_schema", "OFF")?;
    sqlite.pragma_update(None, "cell_size_check", "ON")?;
    Ok(sqlite)
}
