//! Table `requests`: the same call asked again.

use std::collections::BTreeMap;

use super::{Reader, StoreError};

/// An earlier decided call of the same agent, tool and arguments.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct EarlierCall {
    /// Row number.
    pub id: i64,
    /// Workspace.
    pub ws: String,
    /// Agent.
    pub agent: String,
    /// Request id.
    pub request_id: String,
    /// As it reads everywhere.
    pub verdict: Option<String>,
    /// JSON `{name, key}`.
    pub decided_by: Option<String>,
    /// The operator's words to the agent.
    pub message: Option<String>,
    /// The server's stamp of the decision, ms.
    pub decided_at: i64,
}

/// For each of these rows the newest call that was decided, by the server's stamps, before it was asked, and
/// that has its workspace, agent, tool and argument digest; rows without one are left out. The same in every
/// console, whenever it was read.
pub async fn of(reader: &Reader, ids: &[i64]) -> Result<BTreeMap<i64, EarlierCall>, StoreError> {
    newest(reader, ids, "", "").await
}

/// The same, of those that a person approved or denied, where the newest one was denied.
pub async fn denied(
    reader: &Reader,
    ids: &[i64],
) -> Result<BTreeMap<i64, EarlierCall>, StoreError> {
    let by_a_person = "AND x.origin = 'operator' AND x.verdict IN ('approve', 'deny', 'terminate')";
    newest(reader, ids, by_a_person, "WHERE e.verdict <> 'approve'").await
}

async fn newest(
    reader: &Reader,
    ids: &[i64],
    of: &'static str,
    only: &'static str,
) -> Result<BTreeMap<i64, EarlierCall>, StoreError> {
    let sql = format!(
        "SELECT r.id AS asked, e.id, e.ws, e.agent, e.request_id, e.verdict, d.decided_by, d.message, e.decided_at
         FROM json_each(?) wanted CROSS JOIN requests r ON r.id = wanted.value
         CROSS JOIN requests e ON e.id = (
           SELECT x.id FROM requests x
           WHERE x.ws = r.ws AND x.agent = r.agent AND x.tool = r.tool
           AND substr(x.args_digest, 8, 8) = substr(r.args_digest, 8, 8) AND x.state = 'decided'
           AND x.id < r.id AND x.args_digest = r.args_digest AND x.decided_at <= r.stored_at {of}
           ORDER BY x.id DESC LIMIT 1)
         LEFT JOIN decisions d ON d.request = e.id {only}"
    );
    let found: Vec<Repeating> = sqlx::query_as(sqlx::AssertSqlSafe(sql))
        .bind(serde_json::Value::from(ids).to_string())
        .fetch_all(&reader.0)
        .await?;
    let found = found.into_iter().map(|row| (row.asked, row.earlier));
    Ok(found.collect())
}

#[derive(sqlx::FromRow)]
struct Repeating {
    asked: i64,
    #[sqlx(flatten)]
    earlier: EarlierCall,
}
