//! Table `feeds`: how far each feed has come, and what is written of feeds at once.

use rusqlite::{Connection, params};
use serde_json::Value;

use super::feed_events::{self, KeptEvent};
use super::{Reader, StoreError};

/// How long dead events are kept, and the place of a feed that is out of the settings, ms.
pub const KEPT_MS: i64 = 30 * 86_400_000;
/// Dead events of a feed at most: the oldest ones go.
const MOST_DEAD: i64 = 100_000;

/// One feed.
#[derive(Debug, Clone, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct FeedRow {
    /// Its name.
    pub name: String,
    /// Digest of its settings.
    pub settings: String,
    /// Where it sends, JSON.
    pub address: String,
    /// The last row of the audit log that is settled.
    pub cursor: i64,
    /// The last row that is sent again.
    pub replay_to: Option<i64>,
    /// The row behind which it goes on then.
    pub resume_at: Option<i64>,
    /// `ok`, `resting` or `disabled`.
    pub state: String,
    /// ms.
    pub last_taken_at: Option<i64>,
    /// Why the last try failed.
    pub last_error: Option<String>,
    /// Grows with every change that a command makes.
    pub revision: i64,
    /// Since when it is out of the settings, ms.
    pub removed_at: Option<i64>,
}

/// What is written of one feed at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FeedNote {
    /// Its name.
    pub feed: String,
    /// The feed from now on, and the revision that was read: where it is another one by now, nothing of the note is
    /// written.
    pub row: Option<(FeedRow, i64)>,
    /// Events that are kept from now on, or are kept otherwise.
    pub kept: Vec<KeptEvent>,
    /// Ids of events that are kept no longer.
    pub settled: Vec<String>,
    /// Rows of the log whose dead events are sent again.
    pub revived: Option<(i64, i64)>,
    /// Whether dead events that are too old or too many are removed.
    pub prunes: bool,
    /// Whether it fails; none leaves the alarm as it is.
    pub failing: Option<bool>,
    /// The detail of a row of the audit log, and whether the operator did it.
    pub audit: Option<(Value, bool)>,
}

/// Writes a note, without its alarm and its row of the log. Returns false where the feed has been changed since it was
/// read: then nothing is written.
///
/// # Errors
/// [`StoreError`].
pub fn keep(sqlite: &Connection, note: &FeedNote, now: i64) -> Result<bool, StoreError> {
    if let Some((row, read)) = &note.row {
        let mut put = sqlite.prepare_cached(
            "INSERT INTO feeds(name, settings, address, cursor, replay_to, resume_at, state, last_taken_at, last_error,
               revision, removed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT(name) DO UPDATE SET settings = ?2, address = ?3, cursor = ?4, replay_to = ?5, resume_at = ?6,
               state = ?7, last_taken_at = ?8, last_error = ?9, revision = ?10, removed_at = ?11 WHERE revision = ?12",
        )?;
        let written = put.execute(params![
            row.name,
            row.settings,
            row.address,
            row.cursor,
            row.replay_to,
            row.resume_at,
            row.state,
            row.last_taken_at,
            row.last_error,
            row.revision,
            row.removed_at,
            read,
        ])?;
        if written == 0 {
            return Ok(false);
        }
    }
    if let Some((first, last)) = note.revived {
        let sql =
            "DELETE FROM feed_events WHERE feed = ? AND state = 'dead' AND seq BETWEEN ? AND ?";
        sqlite.execute(sql, params![note.feed, first, last])?;
    }
    feed_events::write(sqlite, &note.feed, &note.kept, &note.settled)?;
    let is_removed = |(row, _): &(FeedRow, i64)| row.removed_at.is_some();
    // Many rows are looked at: not for each refused event.
    if note.prunes || note.row.as_ref().is_some_and(is_removed) {
        let before = now - KEPT_MS;
        let sql = "DELETE FROM feed_events WHERE state = 'dead' AND last_at < ?1
                   OR feed IN (SELECT name FROM feeds WHERE removed_at < ?1)";
        sqlite.execute(sql, [before])?;
        sqlite.execute("DELETE FROM feeds WHERE removed_at < ?", [before])?;
        let sql = "DELETE FROM feed_events WHERE feed = ?1 AND state = 'dead' AND seq <=
                     (SELECT seq FROM feed_events WHERE feed = ?1 AND state = 'dead' ORDER BY seq DESC LIMIT 1 OFFSET ?2)";
        sqlite.execute(sql, params![note.feed, MOST_DEAD])?;
    }
    Ok(true)
}

/// Every feed that is known, by name.
///
/// # Errors
/// [`StoreError`].
pub async fn all(reader: &Reader) -> Result<Vec<FeedRow>, StoreError> {
    let sql = "SELECT name, settings, address, cursor, replay_to, resume_at, state, last_taken_at, last_error, revision,
                 removed_at FROM feeds ORDER BY name";
    Ok(sqlx::query_as(sql).fetch_all(&reader.0).await?)
}

/// The row behind which a feed begins that the console has not had: that before the start of the console. None while
/// what a realm had before this folder joined it, in this start, may not have been read.
///
/// # Errors
/// [`StoreError`].
pub async fn beginning(reader: &Reader, is_caught_up: bool) -> Result<Option<i64>, StoreError> {
    let start =
        "SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM audit WHERE action = 'console_start'
                 ORDER BY seq DESC LIMIT 1)";
    let start: i64 = sqlx::query_scalar(start).fetch_one(&reader.0).await?;
    let joined = "SELECT EXISTS(SELECT 1 FROM audit WHERE seq > ? AND action = 'realm')";
    let joined = sqlx::query_scalar(joined).bind(start);
    if !joined.fetch_one(&reader.0).await? {
        return Ok(Some((start - 1).max(0)));
    }
    let head = super::audit::current_head(reader).await?;
    Ok(is_caught_up.then_some(head.seq))
}
