//! One SQLite file with the product's PRAGMAs: a row and an audit row for each request, and the
//! stream position, in one transaction for each batch.

use std::path::Path;

use countersign_floor::read::Arrival;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, QueryBuilder, Sqlite, SqliteConnection};

/// Rows of one statement: a round trip to the connection's thread costs several times what a row does.
const ROWS: usize = 64;

pub(crate) async fn open(path: &Path) -> anyhow::Result<SqliteConnection> {
    let mut connection = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        .pragma("temp_store", "MEMORY")
        .pragma("cache_size", "-16384")
        .disable_statement_logging()
        .connect()
        .await?;
    for sql in [
        "CREATE TABLE requests(id INTEGER PRIMARY KEY, subject TEXT NOT NULL UNIQUE, raw BLOB NOT NULL,
         seq INTEGER NOT NULL UNIQUE, stored_at INTEGER NOT NULL, state TEXT NOT NULL) STRICT",
        "CREATE INDEX requests_pending ON requests(stored_at, id) WHERE state = 'pending'",
        "CREATE TABLE audit(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, action TEXT NOT NULL,
         subject TEXT NOT NULL, detail TEXT NOT NULL) STRICT",
        "CREATE TABLE position(id INTEGER PRIMARY KEY, next_seq INTEGER NOT NULL) STRICT",
        "INSERT INTO position(id, next_seq) VALUES (1, 1)",
    ] {
        sqlx::query(sql).execute(&mut connection).await?;
    }
    Ok(connection)
}

/// Commits a batch with its position.
pub(crate) async fn commit(
    connection: &mut SqliteConnection,
    batch: &[Arrival],
) -> anyhow::Result<()> {
    let Some(last) = batch.last() else {
        return Ok(());
    };
    let mut tx = connection.begin_with("BEGIN IMMEDIATE").await?;
    for piece in pieces(batch) {
        let mut query = QueryBuilder::<Sqlite>::new(
            "INSERT INTO requests(subject, raw, seq, stored_at, state) ",
        );
        query.push_values(piece, |mut values, row| {
            values
                .push_bind(row.subject.as_str())
                .push_bind(&row.payload[..])
                .push_bind(row.seq)
                .push_bind(row.stamp_ms)
                .push_bind("pending");
        });
        query.build().execute(&mut *tx).await?;
        let mut query =
            QueryBuilder::<Sqlite>::new("INSERT INTO audit(at, action, subject, detail) ");
        query.push_values(piece, |mut values, row| {
            values
                .push_bind(row.stamp_ms)
                .push_bind("request")
                .push_bind(row.subject.as_str())
                .push_bind(format!("{{\"stream_seq\":{}}}", row.seq));
        });
        query.build().execute(&mut *tx).await?;
    }
    sqlx::query("UPDATE position SET next_seq = ? WHERE id = 1")
        .bind(last.seq + 1)
        .execute(&mut *tx)
        .await?;
    Ok(tx.commit().await?)
}

/// Powers of two, so that few statement texts serve every batch.
fn pieces<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let size = (1_usize << rows.len().checked_ilog2()?).min(ROWS);
        let (piece, rest) = rows.split_at(size);
        rows = rest;
        Some(piece)
    })
}
