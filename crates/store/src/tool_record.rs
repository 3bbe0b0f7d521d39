//! Table `requests`: the newest calls of one tool by one agent, and how long people took lately.

use super::looked::looked;
use super::outcomes::{self, OutcomeRow};
use super::{Reader, StoreError};
use crate::domain::Timestamp;
use crate::domain::fate::Fate;

/// A call, for who looks for earlier ones of its tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
    /// Workspace.
    pub workspace: &'a str,
    /// Agent.
    pub agent: &'a str,
    /// Tool.
    pub tool: &'a str,
    /// Its row: only those before it count.
    pub before: i64,
}

/// Rows of the newest calls of a tool, and of those of an agent; parameters as in [`ToolCall`], then how many of
/// each. Two lists: a flood of one agent's calls must not hide another's, nor one of other tools this one.
/// The limit counts what is read, not what passes: rows follow arrival, so that nothing newer is behind it.
macro_rules! newest_calls {
    () => {
        "SELECT id FROM (SELECT id FROM requests INDEXED BY requests_by_tool
           WHERE ws = ?1 AND tool = ?2 AND id < ?4 ORDER BY id DESC LIMIT ?5)
         UNION
         SELECT id FROM (SELECT id FROM requests INDEXED BY requests_by_agent
           WHERE ws = ?1 AND agent = ?3 AND id < ?4 ORDER BY id DESC LIMIT ?5)"
    };
}
pub(super) use newest_calls;

/// How earlier calls ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// The newest first.
    pub outcomes: Vec<Fate>,
    /// There may be more of them, behind all that was looked at.
    pub cut: bool,
}

/// How an agent's earlier calls of a tool ended that were stored at `since` or later: those among the newest
/// `limit` calls of the tool and the newest `limit` of the agent.
pub async fn of_tool(
    reader: &Reader,
    call: ToolCall<'_>,
    since: Timestamp,
    limit: i64,
) -> Result<Earlier, StoreError> {
    let rows: Vec<OutcomeRow> = sqlx::query_as(concat!(
        "SELECT state, verdict, origin, stored_at, decided_at FROM requests NOT INDEXED WHERE id IN (",
        newest_calls!(),
        ") AND ws = ?1 AND tool = ?2 AND agent = ?3 AND stored_at >= ?6 ORDER BY id DESC",
    ))
    .bind(call.workspace)
    .bind(call.tool)
    .bind(call.agent)
    .bind(call.before)
    .bind(limit)
    .bind(since.0)
    .fetch_all(&reader.0)
    .await?;
    let outcomes = rows
        .into_iter()
        .map(outcomes::read)
        .collect::<Result<_, _>>();
    // A list that ends before the limit, or before `since`, holds all of them.
    let cut: bool = sqlx::query_scalar(
        "SELECT coalesce((SELECT stored_at FROM requests INDEXED BY requests_by_tool
             WHERE ws = ?1 AND tool = ?2 AND id < ?4 ORDER BY id DESC LIMIT 1 OFFSET ?5) >= ?6, 0)
         AND coalesce((SELECT stored_at FROM requests INDEXED BY requests_by_agent
             WHERE ws = ?1 AND agent = ?3 AND id < ?4 ORDER BY id DESC LIMIT 1 OFFSET ?5) >= ?6, 0)",
    )
    .bind(call.workspace)
    .bind(call.tool)
    .bind(call.agent)
    .bind(call.before)
    .bind(limit)
    .bind(since.0)
    .fetch_one(&reader.0)
    .await?;
    Ok(Earlier {
        outcomes: outcomes?,
        cut,
    })
}

/// How long each request waited that a person decided at `since` or later, and how long its card was in front of the
/// person where this console's window measured it, ms: of the newest `limit` requests that people decided.
pub async fn people_took(
    reader: &Reader,
    since: Timestamp,
    limit: i64,
) -> Result<Vec<(i64, Option<i64>)>, StoreError> {
    Ok(sqlx::query_as(concat!(
        "SELECT max(decided_at - stored_at, 0), ",
        looked!("l.front_ms", "r.id"),
        " FROM (
           SELECT id, state, stored_at, decided_at FROM requests INDEXED BY requests_by_origin
           WHERE origin = 'operator' ORDER BY id DESC LIMIT ?) r
         WHERE state = 'decided' AND decided_at >= ?",
    ))
    .bind(limit)
    .bind(since.0)
    .fetch_all(&reader.0)
    .await?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::pool::temporary;

    #[tokio::test]
    async fn the_pace_of_people_is_that_of_decisions_since_then_and_never_of_a_rule() {
        let (_folder, writer, reader) = temporary().await;
        for (seq, state, origin, decided) in [
            (1, "decided", "operator", 1_500),
            (2, "decided", "operator", 2_002),
            (3, "decided", "rule", 2_100),
            (4, "void", "operator", 2_200),
            (5, "decided", "operator", 2_305),
            (6, "decided", "operator", 1_999),
            // A stamp before the one of its request takes no time.
            (1_450, "decided", "operator", 2_400),
        ] {
            let put =
                "INSERT INTO requests(ws, agent, request_id, risk, allowed, approvals_required,
                   request_digest, stream_epoch, stream_seq, stored_at, received_at, lifetime,
                   deadline_at, state, verdict, origin, decided_at, delivery, raw)
                 VALUES ('acme', 'bot', ?1, 'low', '[]', 1, 'd', 'e', ?1, 1000 + ?1, 0, 0, 0, ?2,
                   'approve', ?3, ?4, 'on_bus', x'')";
            let values = rusqlite::params![seq, state, origin, decided];
            writer.execute(put, values).unwrap();
        }
        let found = async |since: i64, limit: i64| {
            let took = people_took(&reader, Timestamp(since), limit).await;
            let waited = took.unwrap().into_iter().map(|(waited, _)| waited);
            waited.collect::<Vec<_>>()
        };
        assert_eq!(found(2_000, 100).await, [0, 1_300, 1_000]);
        assert_eq!(found(2_000, 3).await, [0, 1_300]);
        assert_eq!(found(2_401, 100).await, [0_i64; 0]);
    }
}
