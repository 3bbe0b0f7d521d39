//! What rules did so far, from what they decided and what they only said.

use std::collections::BTreeMap;

use super::{Reader, StoreError};
use crate::domain::Timestamp;

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
pub async fn of_rule(reader: &Reader, ws: &str, rule_id: &str) -> Result<RuleRecord, StoreError> {
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
pub async fn of_workspace(
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
