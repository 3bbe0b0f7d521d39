//! Table `requests`: the same call asked again.

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
    /// What the operator told the agent.
    pub message: Option<String>,
    /// The server's stamp of the decision, ms.
    pub decided_at: i64,
}

/// The newest call that was decided, by the server's stamps, before row `id` was asked, and that has
/// its workspace, agent, tool and argument digest. The same in every console, whenever it was read.
///
/// # Errors
/// [`StoreError::Sqlite`].
pub async fn of(reader: &Reader, id: i64) -> Result<Option<EarlierCall>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT e.id, e.ws, e.agent, e.request_id, e.verdict, d.decided_by, d.message, e.decided_at
         FROM requests r CROSS JOIN requests e
           ON e.ws = r.ws AND e.agent = r.agent AND e.tool = r.tool
           AND substr(e.args_digest, 8, 8) = substr(r.args_digest, 8, 8) AND e.state = 'decided'
         LEFT JOIN decisions d ON d.request = e.id
         WHERE r.id = ?1 AND e.id < ?1 AND e.args_digest = r.args_digest AND e.decided_at <= r.stored_at
         ORDER BY e.id DESC LIMIT 1",
    )
    .bind(id)
    .fetch_optional(&reader.0)
    .await?)
}
