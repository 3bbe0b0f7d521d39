//! Tables `rule_uses`, `rule_notes` and `policy_versions`: what rules did, and under which words.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension as _, params};
use sqlx::SqliteConnection;

use super::direct::WriteConnection;
use super::{Reader, StoreError, redefined};
use crate::domain::Timestamp;

/// Calls whose amounts a sum adds up; with more in its window the rule asks.
pub const SUMMED_MAX: i64 = 1_000;

/// A decision that a rule or a setup key made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleUse {
    /// The request's row.
    pub request: i64,
    /// Workspace.
    pub ws: String,
    /// The rule, or the setup key.
    pub rule_id: String,
    /// Its version.
    pub rule_version: i64,
    /// `rule` or `setup_key`.
    pub origin: &'static str,
    /// `approve` or `deny`.
    pub verdict: &'static str,
    /// When, server time.
    pub at: Timestamp,
}

/// What a rule said of a request without deciding it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleNote {
    /// The request's row.
    pub request: i64,
    /// Workspace.
    pub ws: String,
    /// The rule.
    pub rule_id: String,
    /// Its version.
    pub rule_version: i64,
    /// `shadow` or `trouble`.
    pub kind: &'static str,
    /// What it would have done, or what was wrong.
    pub detail: String,
    /// The rule set in force.
    pub policy_digest: String,
    /// When, server time.
    pub at: Timestamp,
}

/// Notes decisions that are on their way; what was refused has left nothing there.
///
/// # Errors
/// [`StoreError`].
pub async fn insert(tx: &mut WriteConnection, uses: &[RuleUse]) -> Result<(), StoreError> {
    if uses.is_empty() {
        return Ok(());
    }
    tx.direct(|sqlite| {
        let mut insert = sqlite.prepare_cached(
            "INSERT OR REPLACE INTO rule_uses(request, ws, rule_id, rule_version, origin, verdict,
             decision_id, at)
             SELECT request, ?2, ?3, ?4, ?5, ?6, decision_id, ?7 FROM outbox
             WHERE request = ?1 AND state = 'queued'",
        )?;
        for of in uses {
            insert.execute(params![
                of.request,
                of.ws,
                of.rule_id,
                of.rule_version,
                of.origin,
                of.verdict,
                of.at.0
            ])?;
        }
        Ok(())
    })
    .await
}

/// Notes what the stream says of these requests, whichever console decided them.
///
/// # Errors
/// [`StoreError`].
pub async fn take_up(tx: &mut WriteConnection, requests: &[i64]) -> Result<(), StoreError> {
    if requests.is_empty() {
        return Ok(());
    }
    tx.direct(|sqlite| {
        let mut insert = sqlite.prepare_cached(
            "INSERT OR REPLACE INTO rule_uses(request, ws, rule_id, rule_version, origin, verdict,
             decision_id, at)
             SELECT request, ws, rule_id, coalesce(rule_version, 0), origin, verdict, decision_id, stored_at
             FROM decisions WHERE request = ? AND rule_id IS NOT NULL AND origin IN ('rule', 'setup_key')
             AND fault IS NULL AND effective = verdict AND decision_id IS NOT NULL",
        )?;
        for request in requests {
            insert.execute([request])?;
        }
        Ok(())
    })
    .await
}

/// Forgets a decision that came too late or lost.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn forget(tx: &mut SqliteConnection, decision_id: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM rule_uses WHERE decision_id = ?")
        .bind(decision_id)
        .execute(tx)
        .await?;
    Ok(())
}

/// The calls that a rule has approved after a moment, or would have approved where it is one in the shadow.
const APPROVED: &str = "FROM (
    SELECT request, at FROM rule_uses
      WHERE ws = ?1 AND rule_id = ?2 AND at > ?3 AND origin = 'rule' AND verdict = 'approve'
    UNION
    SELECT request, at FROM rule_notes
      WHERE ?4 AND ws = ?1 AND rule_id = ?2 AND at > ?3 AND kind = 'shadow' AND detail = 'approve')";

/// Whose calls are counted.
#[derive(Debug, Clone, Copy)]
pub struct Approvals<'a> {
    /// Workspace.
    pub ws: &'a str,
    /// The rule.
    pub rule_id: &'a str,
    /// Only those after this moment.
    pub since: Timestamp,
    /// Also those that it would have approved in the shadow.
    pub shadow: bool,
}

/// How many calls a rule has approved.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn approved(tx: &mut SqliteConnection, of: Approvals<'_>) -> Result<u64, StoreError> {
    let sql = format!("SELECT count(*) {APPROVED}");
    let count: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
        .bind(of.ws)
        .bind(of.rule_id)
        .bind(of.since.0)
        .bind(of.shadow)
        .fetch_one(tx)
        .await?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// The rows of the calls that a rule has approved, the newest first, at most `limit`.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn approved_calls(
    tx: &mut SqliteConnection,
    of: Approvals<'_>,
    limit: i64,
) -> Result<Vec<i64>, StoreError> {
    let sql = format!("SELECT request {APPROVED} ORDER BY at DESC LIMIT ?5");
    let calls = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
        .bind(of.ws)
        .bind(of.rule_id)
        .bind(of.since.0)
        .bind(of.shadow)
        .bind(limit);
    Ok(calls.fetch_all(tx).await?)
}

/// The payload of one call; none where it is not kept any more.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn payload(
    tx: &mut SqliteConnection,
    request: i64,
) -> Result<Option<Vec<u8>>, StoreError> {
    let raw = sqlx::query_scalar("SELECT raw FROM requests WHERE id = ?");
    Ok(raw.bind(request).fetch_optional(tx).await?)
}

/// Adds a note; false when it is there already.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn note(tx: &mut SqliteConnection, note: &RuleNote) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "INSERT INTO rule_notes(request, ws, rule_id, rule_version, kind, detail, policy_digest, at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
    )
    .bind(note.request)
    .bind(&note.ws)
    .bind(&note.rule_id)
    .bind(note.rule_version)
    .bind(note.kind)
    .bind(&note.detail)
    .bind(&note.policy_digest)
    .bind(note.at.0)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// What a rule did so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct RuleRecord {
    /// Decisions.
    pub uses: i64,
    /// The last one, ms.
    pub last_used: Option<i64>,
    /// What a shadow rule would have decided.
    pub shadows: i64,
    /// Why it could not be read for sure the last time.
    pub last_error: Option<String>,
}

/// What a rule did so far.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn record_of(reader: &Reader, ws: &str, rule_id: &str) -> Result<RuleRecord, StoreError> {
    Ok(sqlx::query_as(
        "SELECT
           (SELECT count(*) FROM rule_uses WHERE ws = ?1 AND rule_id = ?2 AND origin = 'rule') AS uses,
           (SELECT max(at) FROM rule_uses WHERE ws = ?1 AND rule_id = ?2 AND origin = 'rule') AS last_used,
           (SELECT count(*) FROM rule_notes WHERE ws = ?1 AND rule_id = ?2 AND kind = 'shadow') AS shadows,
           (SELECT detail FROM rule_notes WHERE ws = ?1 AND rule_id = ?2 AND kind = 'trouble'
            ORDER BY at DESC LIMIT 1) AS last_error",
    )
    .bind(ws)
    .bind(rule_id)
    .fetch_one(&reader.0)
    .await?)
}

/// What every rule of a workspace did so far, and how many calls it has approved after `since`, by its id.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn records(
    reader: &Reader,
    ws: &str,
    since: Timestamp,
) -> Result<BTreeMap<String, (RuleRecord, i64)>, StoreError> {
    let mut found: BTreeMap<String, (RuleRecord, i64)> = BTreeMap::new();
    let used: Vec<(String, i64, Option<i64>, i64)> = sqlx::query_as(
        "SELECT rule_id, count(*), max(at), sum(at > ?2 AND verdict = 'approve') FROM rule_uses
         WHERE ws = ?1 AND origin = 'rule' GROUP BY rule_id",
    )
    .bind(ws)
    .bind(since.0)
    .fetch_all(&reader.0)
    .await?;
    for (id, uses, last_used, today) in used {
        let record = RuleRecord {
            uses,
            last_used,
            ..RuleRecord::default()
        };
        found.insert(id, (record, today));
    }
    // With `max` alone the other columns are those of the row that holds it.
    let noted: Vec<(String, String, i64, String, i64)> = sqlx::query_as(
        "SELECT rule_id, kind, count(*), detail, max(at) FROM rule_notes WHERE ws = ?
         GROUP BY rule_id, kind",
    )
    .bind(ws)
    .fetch_all(&reader.0)
    .await?;
    for (id, kind, count, detail, _) in noted {
        let (record, _) = found.entry(id).or_default();
        match kind.as_str() {
            "shadow" => record.shadows = count,
            _ => record.last_error = Some(detail),
        }
    }
    Ok(found)
}

/// Keeps the body of a digest.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn keep_version(
    tx: &mut SqliteConnection,
    digest: &str,
    body: &[u8],
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO policy_versions(digest, body, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
    )
    .bind(digest)
    .bind(body)
    .bind(at.0)
    .execute(tx)
    .await?;
    Ok(())
}

/// The body of a digest that a decision named.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn version(reader: &Reader, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(
        sqlx::query_scalar("SELECT body FROM policy_versions WHERE digest = ?")
            .bind(digest)
            .fetch_optional(&reader.0)
            .await?,
    )
}

/// Row numbers of requests that wait behind row `after`.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn waiting(
    tx: &mut SqliteConnection,
    after: i64,
    limit: i64,
) -> Result<Vec<i64>, StoreError> {
    Ok(sqlx::query_scalar(
        "SELECT id FROM requests WHERE state <> 'decided' AND state = 'pending' AND id > ?
         ORDER BY id LIMIT ?",
    )
    .bind(after)
    .bind(limit)
    .fetch_all(tx)
    .await?)
}

/// What a judgement needs of a request beside its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToJudge {
    /// Payload as received, where it was wanted.
    pub raw: Option<Vec<u8>>,
    /// When its tool was last defined otherwise than before, or may have been.
    pub redefined_at: Option<Timestamp>,
}

/// What a judgement needs of these requests, in their order; none where a row is not known. Whether its
/// payload is wanted stands beside each: what has just arrived is still at hand.
///
/// # Errors
/// [`StoreError`].
pub async fn to_judge(
    tx: &mut WriteConnection,
    wanted: &[(i64, bool)],
) -> Result<Vec<Option<ToJudge>>, StoreError> {
    tx.direct(|sqlite| {
        let mut select = sqlite.prepare_cached(&format!(
            "SELECT iif(?2, r.raw, NULL), {} WHERE r.id = ?1",
            redefined::OF_REQUEST
        ))?;
        let read = |row: &rusqlite::Row<'_>| {
            Ok(ToJudge {
                raw: row.get(0)?,
                redefined_at: row.get::<_, Option<i64>>(1)?.map(Timestamp),
            })
        };
        wanted
            .iter()
            .map(|wanted| select.query_row(*wanted, read).optional())
            .collect()
    })
    .await
}
