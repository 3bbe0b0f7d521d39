//! When tools were last defined otherwise than before, or may have been.
//!
//! A tool that no hello defines here counts as never defined only where that is known.

use super::{Reader, StoreError};
use crate::domain::Timestamp;

/// The moment for the tool of request `r`, and where it is read from.
pub(super) const OF_REQUEST: &str =
    "iif(t.def_digest IS NULL, a.tools_unknown_at, t.redefined_at) AS redefined_at FROM requests r
    LEFT JOIN tools t ON t.ws = r.ws AND t.agent = r.agent AND t.name = r.tool
    LEFT JOIN agents a ON a.ws = r.ws AND a.name = r.agent";

/// The moment for a request's tool.
pub async fn of_request(reader: &Reader, id: i64) -> Result<Option<Timestamp>, StoreError> {
    let sql = format!("SELECT {OF_REQUEST} WHERE r.id = ?");
    let at: Option<Option<i64>> = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
        .bind(id)
        .fetch_optional(&reader.0)
        .await?;
    Ok(at.flatten().map(Timestamp))
}

/// Agent, tool and moment (ms) of every tool of a workspace that is known here and has one.
pub async fn of_workspace(
    reader: &Reader,
    ws: &str,
) -> Result<Vec<(String, String, i64)>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT t.agent, t.name, iif(t.def_digest IS NULL, a.tools_unknown_at, t.redefined_at) AS at
         FROM tools t LEFT JOIN agents a ON a.ws = t.ws AND a.name = t.agent
         WHERE t.ws = ? AND at IS NOT NULL",
    )
    .bind(ws)
    .fetch_all(&reader.0)
    .await?)
}
