//! Table `practice`: verdicts on practice cards. Its switch is in `meta`; the calls that cards are made of are read here.

use rusqlite::{Connection, params};

use super::{Reader, StoreError, meta, sql};

/// Key of the switch in `meta`: `on N` or `off N`.
const SWITCH: &str = "practice";
/// About one card in this many is practice, where nobody chose another number.
pub const ONE_IN: u32 = 40;
/// Of so many newest decisions, calls are chosen.
const NEWEST: i64 = 2_000;
/// The most calls.
const CALLS: i64 = 200;

/// Whether practice is on, and how often a card comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PracticeSwitch {
    /// Off until somebody turns it on.
    pub on: bool,
    /// About one card in this many is practice.
    pub one_in: u32,
}

/// One verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PracticeVerdict {
    /// The person's key.
    pub operator: String,
    /// The person's name.
    pub name: String,
    /// What was changed; none where nothing was.
    pub kind: Option<&'static str>,
    /// `caught`, `missed`, `false_alarm` or `passed`.
    pub outcome: &'static str,
    /// When, ms.
    pub at: i64,
}

/// How often a person's verdicts had one outcome.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct PracticeCount {
    /// The person's key.
    pub operator: String,
    /// The name in the newest verdict.
    pub name: String,
    /// What was changed.
    pub kind: Option<String>,
    /// What the verdict was.
    pub outcome: String,
    /// How often.
    pub cards: u32,
}

/// A call that a person approved.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct ApprovedByPerson {
    /// Workspace.
    pub ws: String,
    /// Agent.
    pub agent: String,
    /// Request id.
    pub request_id: String,
    /// The tool.
    pub tool: String,
    /// Payload as received.
    pub raw: Vec<u8>,
    /// The decision, where it changed the arguments.
    pub edited: Option<Vec<u8>>,
}

/// The real requests that wait: how many, and when the first and the last of them are due, ms.
pub async fn queue(reader: &Reader) -> Result<(i64, Option<i64>, Option<i64>), StoreError> {
    let sql =
        "SELECT COUNT(*), MIN(deadline_at), MAX(deadline_at) FROM requests WHERE state = 'pending'";
    Ok(sqlx::query_as(sql).fetch_one(&reader.0).await?)
}

/// Reads the switch.
pub async fn switch(reader: &Reader) -> Result<PracticeSwitch, StoreError> {
    let kept = meta::get(reader, SWITCH).await?.unwrap_or_default();
    let (word, number) = kept.split_once(' ').unwrap_or_default();
    Ok(PracticeSwitch {
        on: word == "on",
        one_in: number.parse().unwrap_or(ONE_IN),
    })
}

/// Sets the switch. Returns whether anything changed.
pub fn set(tx: &Connection, to: PracticeSwitch) -> Result<bool, StoreError> {
    let word = if to.on { "on" } else { "off" };
    meta::put(tx, SWITCH, &format!("{word} {}", to.one_in))
}

/// Keeps one verdict.
pub fn keep(tx: &Connection, of: &PracticeVerdict) -> Result<(), StoreError> {
    let keep = "INSERT INTO practice(operator, name, kind, outcome, at) VALUES (?, ?, ?, ?, ?)";
    let of = params![of.operator, of.name, of.kind, of.outcome, of.at];
    sql::change(tx, keep, of)?;
    Ok(())
}

/// Every person's verdicts, counted, by name.
pub async fn counts(reader: &Reader) -> Result<Vec<PracticeCount>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT operator, (SELECT n.name FROM practice n WHERE n.operator = p.operator ORDER BY n.id DESC LIMIT 1) AS name,
           kind, outcome, COUNT(*) AS cards
         FROM practice p GROUP BY operator, kind, outcome ORDER BY name, operator",
    )
    .fetch_all(&reader.0)
    .await?)
}

/// Calls that people approved since then and that did not fail, the newest first.
pub async fn approved(reader: &Reader, since: i64) -> Result<Vec<ApprovedByPerson>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT r.ws, r.agent, r.request_id, r.tool, r.raw, CASE r.verdict WHEN 'modify' THEN d.payload END AS edited
         FROM (SELECT id FROM requests WHERE decided_at >= ?1 ORDER BY decided_at DESC, id DESC LIMIT ?2) newest
         JOIN requests r ON r.id = newest.id JOIN decisions d ON d.request = r.id
         WHERE r.tool IS NOT NULL AND r.state = 'decided' AND r.origin = 'operator' AND r.verdict IN ('approve', 'modify')
           AND length(r.raw) > 0
           AND NOT EXISTS (SELECT 1 FROM receipts c WHERE c.ws = r.ws AND c.agent = r.agent
             AND c.request_id = r.request_id AND c.stage IN ('failed', 'refused'))
         ORDER BY r.decided_at DESC LIMIT ?3",
    )
    .bind(since)
    .bind(NEWEST)
    .bind(CALLS)
    .fetch_all(&reader.0)
    .await?)
}
