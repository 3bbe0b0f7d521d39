//! Decisions and votes as they go to a bus that lost them, and their places once they are on it again.

use countersign_wire::{RequestKey, Signer, Stream};
use rusqlite::{Connection, params};

use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;

/// Which kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Table `decisions`.
    Decision,
    /// Table `votes`.
    Vote,
}

/// A message as it was stored.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct StoredMessage {
    /// Row number: the order in which they were stored.
    pub id: i64,
    /// From the subject.
    pub ws: String,
    /// From the subject.
    pub agent: String,
    /// From the subject.
    pub request_id: String,
    /// The voter's public key; none for a decision.
    pub voter: Option<String>,
    /// Payload as stored.
    pub payload: Vec<u8>,
    /// Header `CS-Key`.
    pub key: Option<String>,
    /// Header `CS-Sig`.
    pub sig: Option<String>,
    /// The server's stamp at which it was stored first, ms.
    pub stored_at: i64,
    /// Epoch of the stream in which it was seen last.
    pub stream_epoch: String,
    /// Sequence there.
    pub stream_seq: i64,
}

/// How many of a kind there are.
pub async fn count(reader: &Reader, kind: Kind) -> Result<u64, StoreError> {
    let query = match kind {
        Kind::Decision => "SELECT count(*) FROM decisions",
        Kind::Vote => "SELECT count(*) FROM votes",
    };
    let count: i64 = sqlx::query_scalar(query).fetch_one(&reader.0).await?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// The server's stamp of the first decision, vote or request that was read behind a sequence of its stream; none where
/// there is none.
pub async fn first_behind(
    reader: &Reader,
    stream: Stream,
    (epoch, seq): (&str, i64),
) -> Result<Option<Timestamp>, StoreError> {
    let query = match stream {
        Stream::Decisions => {
            "SELECT min(at) FROM (
               SELECT min(stored_at) AS at FROM decisions WHERE stream_epoch = ?1 AND stream_seq > ?2
               UNION ALL
               SELECT min(at) AS at FROM votes WHERE stream_epoch = ?1 AND stream_seq > ?2)"
        }
        Stream::Requests => {
            "SELECT min(stored_at) FROM requests WHERE stream_epoch = ?1 AND stream_seq > ?2"
        }
        _ => return Ok(None),
    };
    let first: Option<i64> = sqlx::query_scalar(query)
        .bind(epoch)
        .bind(seq)
        .fetch_one(&reader.0)
        .await?;
    Ok(first.map(Timestamp))
}

/// Those after a row, in the order in which they were stored, at most `limit`.
pub async fn page(
    reader: &Reader,
    kind: Kind,
    after: i64,
    limit: i64,
) -> Result<Vec<StoredMessage>, StoreError> {
    let query = match kind {
        Kind::Decision => {
            "SELECT id, ws, agent, request_id, NULL AS voter, payload, key, sig, stored_at,
             stream_epoch, stream_seq FROM decisions WHERE id > ? ORDER BY id LIMIT ?"
        }
        Kind::Vote => {
            "SELECT id, ws, agent, request_id, key AS voter, payload, signer AS key, sig, at AS stored_at,
             stream_epoch, stream_seq FROM votes WHERE id > ? ORDER BY id LIMIT ?"
        }
    };
    Ok(sqlx::query_as(query)
        .bind(after)
        .bind(limit)
        .fetch_all(&reader.0)
        .await?)
}

/// A message as it came, and its place now.
#[derive(Debug, Clone, Copy)]
pub struct Again<'a> {
    /// The request.
    pub request: &'a RequestKey,
    /// The voter; none for a decision.
    pub voter: Option<&'a Signer>,
    /// Payload as stored.
    pub payload: &'a [u8],
    /// Header `CS-Sig`.
    pub sig: Option<&'a str>,
    /// The stream's epoch.
    pub epoch: &'a str,
    /// The sequence there.
    pub seq: i64,
}

/// Notes the place of the very same message in a stream that was made or numbered anew; the stamp of its first storing
/// (ms). None when another one is known, or this one at this epoch.
pub fn moved(tx: &Connection, again: Again<'_>) -> Result<Option<i64>, StoreError> {
    let (table, of_voter, stamp) = match again.voter {
        None => ("decisions", "?8 IS NULL", "stored_at"),
        Some(_) => ("votes", "key = ?8", "at"),
    };
    // Only the fixed words above are put together.
    let query = format!(
        "UPDATE {table} SET stream_epoch = ?6, stream_seq = ?7
         WHERE ws = ?1 AND agent = ?2 AND request_id = ?3 AND payload = ?4 AND sig IS ?5
         AND stream_epoch <> ?6 AND {of_voter} RETURNING {stamp}"
    );
    let values = params![
        again.request.workspace.as_ref(),
        again.request.agent.as_ref(),
        again.request.request_id.as_ref(),
        again.payload,
        again.sig,
        again.epoch,
        again.seq,
        again.voter.map(Signer::as_str),
    ];
    sql::first(tx, &query, values, |row| row.get(0))
}
