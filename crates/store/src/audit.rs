//! Table `audit`: an append-only hash chain over every change of state.
//!
//! Holds digests, never payloads.

use rusqlite::{Connection, params};
use serde_json::Value;
use sqlx::{QueryBuilder, Sqlite};

use super::audit_hash::{canonical_detail, hash_of};
pub use super::audit_hash::{hex, row_hash};
use super::{Reader, StoreError, sql};
use crate::domain::Timestamp;

/// The index of subjects leaves out what every request has, and is only used by who says so in its words.
const RARE: &str = " AND action <> 'request' AND action <> 'decide' AND action <> 'decision'";

/// Every word of the column `action`. `docs/audit.md` says what each means.
pub const ACTIONS: &[&str] = &[
    "alarm",
    "alarm_acknowledged",
    "alarm_cleared",
    "anchors_lost",
    "answer",
    "attestation_differs",
    "backup",
    "bus_recover",
    "cast",
    "conflict",
    "console_start",
    "console_stop",
    "decide",
    "decision",
    "enroll",
    "expire",
    "export",
    "feed",
    "haste_brake",
    "hello",
    "hold",
    "hold_dropped",
    "judged",
    "judged_again",
    "keys_move",
    "late",
    "lost",
    "operator_waits",
    "operators",
    "policy",
    "practice",
    "purge",
    "quarantine",
    "quorum",
    "read_only",
    "read_only_ended",
    "reader_answered",
    "reader_asked",
    "reader_off",
    "reader_on",
    "realm",
    "receipt",
    "receipt_unreadable",
    "recover_conflict",
    "regret",
    "rejected",
    "request",
    "restore",
    "retention",
    "reveal",
    "revoke",
    "shadow",
    "taken_back",
    "tighten",
    "tighten_early",
    "tighten_ignored",
    "tool_changed",
    "typed_target",
    "undo",
    "vote",
    "vote_judged",
    "vote_late",
    "vote_lost",
    "withdraw",
    "withdraw_early",
];

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// When, by the server's time.
    pub at: Timestamp,
    /// Who: a public key, or `WS/AGENT` for an agent.
    pub actor: String,
    /// What: a word such as `request`, `decide`, `decision`.
    pub action: &'static str,
    /// On what: `WS/AGENT/ID`, or the name of the thing.
    pub subject: String,
    /// Digests and numbers that tie the entry to rows and messages.
    pub detail: Value,
}

/// The end of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Number of the last row; 0 when there is none.
    pub seq: i64,
    /// Hash of the last row; zeros when there is none.
    pub hash: [u8; 32],
}

/// A row as stored.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Row {
    /// 1, 2, 3 …
    pub seq: i64,
    /// Hash of the row before.
    pub prev: Vec<u8>,
    /// Hash of this row.
    pub hash: Vec<u8>,
    /// RFC 3339, ms.
    pub at: String,
    /// Who.
    pub actor: String,
    /// What.
    pub action: String,
    /// On what.
    pub subject: String,
    /// Canonical JSON.
    pub detail: String,
}

/// A signed head that the bus has acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct StoredAnchor {
    /// Number of the audit row.
    pub seq: i64,
    /// The signed JSON `{seq, hash, at}`.
    pub payload: Vec<u8>,
    /// Base64url.
    pub sig: String,
    /// Sequence in `CS_AUDIT`.
    pub stream_seq: i64,
    /// Epoch of the stream that holds it; none where that was not written down.
    pub epoch: Option<String>,
}

/// The end of the chain as this transaction sees it.
///
/// Read anew in every transaction: other processes append to the same chain.
pub fn head(tx: &Connection) -> Result<Head, StoreError> {
    let last = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1";
    let last = sql::first(tx, last, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (seq, hash): (i64, Vec<u8>) = last.unwrap_or((0, vec![0; 32]));
    match hash.try_into() {
        Ok(hash) => Ok(Head { seq, hash }),
        Err(_) => Err(StoreError::corrupt("an audit hash of a wrong length")),
    }
}

/// The end of the chain, outside a transaction.
pub async fn current_head(reader: &Reader) -> Result<Head, StoreError> {
    reader.direct(head).await
}

/// Appends entries to the chain.
///
/// # Errors
/// [`StoreError`]; then the transaction must not be committed.
pub fn append(tx: &Connection, entries: &[Entry]) -> Result<(), StoreError> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut last = head(tx)?;
    let mut insert = tx.prepare_cached(
        "INSERT INTO audit(seq, prev, hash, at, actor, action, subject, detail)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for entry in entries {
        debug_assert!(
            ACTIONS.contains(&entry.action),
            "add the audit action {} to ACTIONS and to docs/audit.md",
            entry.action
        );
        let detail = canonical_detail(&entry.detail)?;
        let (seq, at) = (last.seq + 1, entry.at.rfc3339());
        let (actor, action, subject) = (&entry.actor, entry.action, &entry.subject);
        let hash = hash_of(&last.hash, (seq, &at, actor, action, subject), &detail);
        insert.execute(params![
            seq, last.hash, hash, at, actor, action, subject, detail
        ])?;
        last = Head { seq, hash };
    }
    Ok(())
}

/// Rows after `seq`, oldest first, at most `limit`.
pub async fn after(reader: &Reader, seq: i64, limit: i64) -> Result<Vec<Row>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT seq, prev, hash, at, actor, action, subject, detail FROM audit
         WHERE seq > ? ORDER BY seq LIMIT ?",
    )
    .bind(seq)
    .bind(limit)
    .fetch_all(&reader.0)
    .await?)
}

/// The newest row of one of these actions on this subject; `request`, `decide` and `decision` are in no
/// index and are not found.
pub async fn last_of(
    reader: &Reader,
    subject: &str,
    actions: &[&str],
) -> Result<Option<Row>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new(
        "SELECT seq, prev, hash, at, actor, action, subject, detail FROM audit WHERE subject = ",
    );
    query.push_bind(subject);
    query.push(RARE);
    query.push(" AND action IN (");
    let mut list = query.separated(", ");
    for action in actions {
        list.push_bind(*action);
    }
    query.push(") ORDER BY seq DESC LIMIT 1");
    Ok(query.build_query_as().fetch_optional(&reader.0).await?)
}

/// Details of all rows of one action on one subject, oldest first.
pub fn details_of(
    sqlite: &Connection,
    action: &str,
    subject: &str,
) -> Result<Vec<String>, StoreError> {
    let details =
        format!("SELECT detail FROM audit WHERE subject = ? AND action = ?{RARE} ORDER BY seq");
    sql::column(sqlite, &details, [subject, action])
}

/// Whether a row of this action on this subject is written.
pub fn is_written(tx: &Connection, action: &str, subject: &str) -> Result<bool, StoreError> {
    let written =
        format!("SELECT EXISTS(SELECT 1 FROM audit WHERE subject = ? AND action = ?{RARE})");
    sql::value(tx, &written, [subject, action])
}

/// Hash of one row.
pub async fn hash_at(reader: &Reader, seq: i64) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(sqlx::query_scalar("SELECT hash FROM audit WHERE seq = ?")
        .bind(seq)
        .fetch_optional(&reader.0)
        .await?)
}

/// Keeps a signed head that the bus has acknowledged.
pub fn insert_anchor(tx: &Connection, anchor: &StoredAnchor) -> Result<(), StoreError> {
    sql::change(
        tx,
        "INSERT INTO anchors(seq, payload, sig, stream_seq, epoch) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        params![
            anchor.seq,
            anchor.payload,
            anchor.sig,
            anchor.stream_seq,
            anchor.epoch,
        ],
    )?;
    Ok(())
}

/// All anchors, oldest first.
pub async fn anchors(reader: &Reader) -> Result<Vec<StoredAnchor>, StoreError> {
    Ok(
        sqlx::query_as("SELECT seq, payload, sig, stream_seq, epoch FROM anchors ORDER BY seq")
            .fetch_all(&reader.0)
            .await?,
    )
}

/// The position of the last anchor in the stream of this epoch.
pub async fn last_anchor_in(reader: &Reader, epoch: &str) -> Result<Option<i64>, StoreError> {
    // By the key of the table: one is added every minute, for years.
    Ok(sqlx::query_scalar(
        "SELECT stream_seq FROM anchors WHERE epoch = ? ORDER BY seq DESC LIMIT 1",
    )
    .bind(epoch)
    .fetch_optional(&reader.0)
    .await?)
}

/// Number of the last row that is anchored on the bus; 0 when none is.
pub async fn anchored_seq(reader: &Reader) -> Result<i64, StoreError> {
    Ok(
        sqlx::query_scalar("SELECT coalesce(max(seq), 0) FROM anchors")
            .fetch_one(&reader.0)
            .await?,
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pool::temporary;

    fn entry(subject: &str) -> Entry {
        Entry {
            at: Timestamp::parse("2026-11-21T12:00:00.000Z").unwrap(),
            actor: "U..".into(),
            action: "decide",
            subject: subject.into(),
            detail: json!({}),
        }
    }

    #[test]
    fn the_page_lists_every_action_and_no_other() {
        let page = include_str!("../../../docs/audit.md");
        // The page has another table: what a line of an export is.
        let recorded = page
            .split("\n## ")
            .find(|part| part.starts_with("What is recorded"));
        let listed: Vec<&str> = recorded
            .unwrap()
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
            .collect();
        let mut sorted = listed.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, ACTIONS);
        assert!(ACTIONS.is_sorted());
    }

    #[tokio::test]
    async fn entries_are_chained_across_transactions() {
        let (_folder, mut writer, reader) = temporary().await;
        for round in 0..3 {
            let tx = writer.begin().unwrap();
            let entries: Vec<Entry> = (0..70)
                .map(|i| entry(&format!("a/b/{round}-{i}")))
                .collect();
            append(&tx, &entries).unwrap();
            tx.commit().unwrap();
        }
        let rows = after(&reader, 0, 1_000).await.unwrap();
        assert_eq!(rows.len(), 210);
        let mut prev = vec![0; 32];
        for row in rows {
            assert_eq!(row.prev, prev);
            prev = row.hash;
        }
    }

    #[tokio::test]
    async fn the_file_refuses_to_change_or_drop_an_entry() {
        let (_folder, mut writer, _reader) = temporary().await;
        let tx = writer.begin().unwrap();
        append(&tx, &[entry("a/b/c")]).unwrap();
        tx.commit().unwrap();
        for sql in ["UPDATE audit SET actor = 'x'", "DELETE FROM audit"] {
            assert!(writer.execute(sql, []).is_err(), "{sql}");
        }
    }
}
