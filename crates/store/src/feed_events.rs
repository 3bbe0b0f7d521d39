//! Table `feed_events`: events that a receiver refused, that wait behind one, or that a command sends again.

use rusqlite::{Connection, params};

use super::{Reader, StoreError};

/// One event, without its body: that is made from its row of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct KeptEvent {
    /// Its id.
    pub id: String,
    /// Its row of the log.
    pub seq: i64,
    /// Its type.
    #[sqlx(rename = "type")]
    pub kind: String,
    /// What it is about: its order counts.
    pub subject: String,
    /// How often it was refused; 0 for one that waits behind another.
    pub tries: i64,
    /// When it was kept, ms.
    pub first_at: i64,
    /// When it was tried last, ms.
    pub last_at: i64,
    /// Why it was refused.
    pub last_error: Option<String>,
    /// When the next try may be, ms.
    pub due_at: i64,
    /// `retrying` or `dead`.
    pub state: String,
}

pub(super) fn write(
    sqlite: &Connection,
    feed: &str,
    kept: &[KeptEvent],
    settled: &[String],
) -> rusqlite::Result<()> {
    for event in kept {
        let mut put = sqlite.prepare_cached(
            "INSERT OR REPLACE INTO feed_events(feed, id, seq, type, subject, tries, first_at, last_at, last_error, due_at,
               state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        put.execute(params![
            feed,
            event.id,
            event.seq,
            event.kind,
            event.subject,
            event.tries,
            event.first_at,
            event.last_at,
            event.last_error,
            event.due_at,
            event.state,
        ])?;
    }
    for id in settled {
        sqlite
            .prepare_cached("DELETE FROM feed_events WHERE feed = ? AND id = ?")?
            .execute([feed, id])?;
    }
    Ok(())
}

/// The events of a feed, oldest first, the dead ones too.
///
/// # Errors
/// [`StoreError`].
pub async fn of_feed(reader: &Reader, feed: &str) -> Result<Vec<KeptEvent>, StoreError> {
    of_states(reader, feed, "%").await
}

/// Those that are to be sent, oldest first.
///
/// # Errors
/// [`StoreError`].
pub async fn retrying(reader: &Reader, feed: &str) -> Result<Vec<KeptEvent>, StoreError> {
    of_states(reader, feed, "retrying").await
}

async fn of_states(reader: &Reader, feed: &str, state: &str) -> Result<Vec<KeptEvent>, StoreError> {
    // Of one row the event itself comes before its `audit` one, as it was sent.
    let sql = "SELECT id, seq, type, subject, tries, first_at, last_at, last_error, due_at, state FROM feed_events
               WHERE feed = ? AND state LIKE ? ORDER BY seq, type LIKE 'audit.%', id";
    let events = sqlx::query_as(sql).bind(feed).bind(state);
    Ok(events.fetch_all(&reader.0).await?)
}

/// Whether a feed has dead events.
///
/// # Errors
/// [`StoreError`].
pub async fn has_dead(reader: &Reader, feed: &str) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS(SELECT 1 FROM feed_events WHERE feed = ? AND state = 'dead')";
    Ok(sqlx::query_scalar(sql)
        .bind(feed)
        .fetch_one(&reader.0)
        .await?)
}

/// How many events of a feed are to be sent, and the row of the oldest.
///
/// # Errors
/// [`StoreError`].
pub async fn count_retrying(reader: &Reader, feed: &str) -> Result<(i64, Option<i64>), StoreError> {
    let sql = "SELECT count(*), min(seq) FROM feed_events WHERE feed = ? AND state = 'retrying'";
    Ok(sqlx::query_as(sql).bind(feed).fetch_one(&reader.0).await?)
}
