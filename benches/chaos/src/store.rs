//! The rows of a console's database, read from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};

const BUSY_LIMIT: Duration = Duration::from_secs(10);

/// A request and what the console says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestRow {
    pub(crate) raw: Vec<u8>,
    pub(crate) state: String,
    pub(crate) verdict: Option<String>,
    /// Milliseconds.
    pub(crate) deadline_at: i64,
}

/// A decision and how the console reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecisionRow {
    pub(crate) payload: Vec<u8>,
    pub(crate) key: Option<String>,
    pub(crate) sig: Option<String>,
    pub(crate) effective: Option<String>,
    pub(crate) fault: Option<String>,
    /// Milliseconds.
    pub(crate) stored_at: i64,
}

/// What a console knows, by `WS/AGENT/ID`.
#[derive(Debug, Default)]
pub(crate) struct ConsoleRows {
    pub(crate) requests: BTreeMap<String, RequestRow>,
    pub(crate) decisions: BTreeMap<String, DecisionRow>,
    /// Payloads of votes, by request and voter.
    pub(crate) votes: BTreeMap<(String, String), Vec<u8>>,
    /// What was put aside, and why.
    pub(crate) quarantine: Vec<String>,
    /// Action, request and decision's id of audit entries about a decision.
    pub(crate) audited: BTreeSet<(String, String, String)>,
    /// Outbox rows that are still open.
    pub(crate) outbox: i64,
}

async fn audited(database: &mut SqliteConnection, rows: &mut ConsoleRows) -> anyhow::Result<()> {
    let entries = "SELECT action, subject, json_extract(detail, '$.decision_id') AS id FROM audit
                   WHERE action IN ('decide', 'decision', 'taken_back') AND id IS NOT NULL";
    for row in sqlx::query(entries).fetch_all(database).await? {
        let entry = (
            row.try_get("action")?,
            row.try_get("subject")?,
            row.try_get("id")?,
        );
        rows.audited.insert(entry);
    }
    Ok(())
}

/// Reads the file of a console that may still run.
pub(crate) async fn read(path: &Path) -> anyhow::Result<ConsoleRows> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .busy_timeout(BUSY_LIMIT);
    let mut database = options.connect().await?;
    let mut rows = ConsoleRows::default();
    let key = "ws || '/' || agent || '/' || request_id AS name";
    let requests = format!("SELECT {key}, raw, state, verdict, deadline_at FROM requests");
    for row in sqlx::query(sqlx::AssertSqlSafe(requests))
        .fetch_all(&mut database)
        .await?
    {
        let request = RequestRow {
            raw: row.try_get("raw")?,
            state: row.try_get("state")?,
            verdict: row.try_get("verdict")?,
            deadline_at: row.try_get("deadline_at")?,
        };
        rows.requests.insert(row.try_get("name")?, request);
    }
    let decisions =
        format!("SELECT {key}, payload, key, sig, effective, fault, stored_at FROM decisions");
    for row in sqlx::query(sqlx::AssertSqlSafe(decisions))
        .fetch_all(&mut database)
        .await?
    {
        let decision = DecisionRow {
            payload: row.try_get("payload")?,
            key: row.try_get("key")?,
            sig: row.try_get("sig")?,
            effective: row.try_get("effective")?,
            fault: row.try_get("fault")?,
            stored_at: row.try_get("stored_at")?,
        };
        rows.decisions.insert(row.try_get("name")?, decision);
    }
    let votes = format!("SELECT {key}, key, payload FROM votes");
    for row in sqlx::query(sqlx::AssertSqlSafe(votes))
        .fetch_all(&mut database)
        .await?
    {
        let name = (row.try_get("name")?, row.try_get("key")?);
        rows.votes.insert(name, row.try_get("payload")?);
    }
    audited(&mut database, &mut rows).await?;
    rows.quarantine = sqlx::query_scalar("SELECT subject || ': ' || code FROM quarantine")
        .fetch_all(&mut database)
        .await?;
    let open = "SELECT COUNT(*) FROM outbox WHERE state IN ('holding', 'queued')";
    rows.outbox = sqlx::query_scalar(open).fetch_one(&mut database).await?;
    database.close().await?;
    Ok(rows)
}
