//! Which index gives the candidates of a page of the history, and between which rows.
//!
//! SQLite never has to sort: each piece is a range of an index that ends with the row number, and several pieces are
//! merged.

use sqlx::{QueryBuilder, Sqlite};

use super::block_times::BLOCK;
use super::{Reader, StoreError, conditions, search_index};
use crate::domain::history::HistoryFilter;
use crate::domain::{STALLS, State};

/// Ranges that are merged for one page at most; SQLite takes 500.
const PIECES: usize = 200;
/// Verdicts with which a request reads `decided`.
const DECIDED: [&str; 7] = [
    "approve",
    "modify",
    "deny",
    "skip",
    "respond",
    "escalate",
    "terminate",
];

/// States in which a request may have no time of a decision.
const UNDECIDED: [State; 7] = [
    State::Pending,
    State::Holding,
    State::Queued,
    State::Expired,
    State::Withdrawn,
    State::Rejected,
    State::Void,
];

/// Rows between `above` and `below`, without these two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) above: i64,
    pub(super) below: i64,
}

impl Span {
    /// What is left behind this row.
    pub(super) fn go_on(&mut self, towards: Towards, after: i64) {
        match towards {
            Towards::Older => self.below = self.below.min(after),
            Towards::Newer => self.above = self.above.max(after),
        }
    }
}

/// Which way pages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Towards {
    /// The newest first.
    Older,
    /// The oldest first.
    Newer,
}

impl Towards {
    pub(super) fn sql(self) -> &'static str {
        match self {
            Self::Older => "DESC",
            Self::Newer => "ASC",
        }
    }
}

/// Where candidates come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// Every row in its order.
    All,
    /// The index of words, with what it is asked for.
    Text(String),
    /// Ranges of indexes: the beginning of a statement, and its values.
    Ranges(Vec<(&'static str, Vec<String>)>),
    /// These rows, JSON.
    Rows(String),
}

const BY_RULE: &str = "SELECT request AS id FROM decisions WHERE rule_id = ? AND request";
const BY_SIGNER: &str = "SELECT request AS id FROM decisions WHERE key = ? AND request";
const BY_STALL: &str =
    "SELECT request AS id FROM stalls WHERE code IS NOT NULL AND code = ? AND request";
const BY_STATE: &str = "SELECT id FROM requests WHERE state <> 'decided' AND state = ? AND id";
const BY_TOOL: &str = "SELECT id FROM requests WHERE ws = ? AND tool = ? AND id";
const BY_AGENT: &str = "SELECT id FROM requests WHERE ws = ? AND agent = ? AND id";
const BY_VERDICT: &str = "SELECT id FROM requests WHERE verdict = ? AND id";
const BY_ORIGIN: &str = "SELECT id FROM requests WHERE origin = ? AND id";
const BY_RISK: &str = "SELECT id FROM requests WHERE risk = ? AND id";

impl Source {
    /// Whether every candidate passes: the filter says nothing else.
    pub(super) fn is_exact(&self, filter: &HistoryFilter) -> bool {
        let given = [
            filter.workspace.is_some(),
            filter.agent.is_some(),
            filter.tool.is_some(),
            filter.risk.is_some(),
            filter.states.is_some(),
            filter.verdicts.is_some(),
            filter.origins.is_some(),
            filter.hasty,
            filter.overdue,
            filter.signers.is_some(),
            filter.rule.is_some(),
            filter.undecided,
            !filter.text.is_blank(),
        ];
        let count = given.into_iter().filter(|given| *given).count();
        match self {
            Self::All | Self::Rows(_) => count == 0,
            // Their index holds some that have been decided.
            _ => count == 1 && !filter.undecided,
        }
    }

    /// Whether every candidate has what the filter asks of this column of `requests` or `decisions`.
    pub(super) fn is_by(&self, column: &str) -> bool {
        let Self::Ranges(ranges) = self else {
            return false;
        };
        let by = match column {
            "rule_id" => BY_RULE,
            "key" => BY_SIGNER,
            "code" => BY_STALL,
            "state" => BY_STATE,
            "tool" => BY_TOOL,
            "agent" => BY_AGENT,
            "verdict" => BY_VERDICT,
            "origin" => BY_ORIGIN,
            "risk" => BY_RISK,
            _ => return false,
        };
        ranges.first().is_some_and(|(sql, _)| *sql == by)
    }

    /// Writes the statement that gives the newest candidates of a span, or the oldest, as `id`, at most `limit` (-1:
    /// all). Returns false, and writes nothing, where nothing can be found.
    pub(super) fn push(
        &self,
        query: &mut QueryBuilder<Sqlite>,
        span: Span,
        limit: i64,
        towards: Towards,
    ) -> bool {
        match self {
            Self::All => range(query, "SELECT id FROM requests WHERE id", &[], span),
            Self::Text(words) => {
                let words = std::slice::from_ref(words);
                range(query, search_index::MATCHING, words, span);
            }
            Self::Rows(rows) => {
                query.push("SELECT value AS id FROM json_each(");
                query.push_bind(rows.clone());
                query.push(")");
            }
            Self::Ranges(ranges) if ranges.is_empty() => return false,
            Self::Ranges(ranges) => {
                for (number, (sql, values)) in ranges.iter().enumerate() {
                    if number > 0 {
                        query.push(" UNION ALL ");
                    }
                    range(query, sql, values, span);
                }
            }
        }
        query.push(format!(" ORDER BY id {} LIMIT ", towards.sql()));
        query.push_bind(limit);
        true
    }
}

/// One range: a statement that ends with its row number, the values of its places, and the span.
fn range(query: &mut QueryBuilder<Sqlite>, sql: &str, values: &[String], span: Span) {
    let mut pieces = sql.split('?');
    query.push(pieces.next().unwrap_or_default());
    for (piece, value) in pieces.zip(values) {
        query.push_bind(value.clone());
        query.push(piece);
    }
    let column = sql.rsplit(' ').next().unwrap_or("id");
    query.push(" > ");
    query.push_bind(span.above);
    query.push(format!(" AND {column} < "));
    query.push_bind(span.below);
    let table = sql.split(' ').skip_while(|word| *word != "FROM").nth(1);
    let table = table.unwrap_or("requests");
    query
        .push(" AND ")
        .push(conditions::no_probe(&format!("{table}.{column}")));
}

/// The source with the fewest candidates, as far as that is known without looking.
pub(super) async fn of(reader: &Reader, filter: &HistoryFilter) -> Result<Source, StoreError> {
    let any = |sql, values: &[String]| {
        let range = |value: &String| (sql, vec![value.clone()]);
        Source::Ranges(values.iter().map(range).collect())
    };
    let one = |sql, value: &String| any(sql, std::slice::from_ref(value));
    // Only this shows whether a row has the words.
    if !filter.text.is_blank() {
        let words = search_index::expression(&filter.text);
        return Ok(words.map_or(Source::Ranges(Vec::new()), Source::Text));
    }
    if let Some(rule) = &filter.rule {
        return Ok(one(BY_RULE, rule));
    }
    if let Some(signers) = &filter.signers
        && signers.len() <= PIECES
    {
        return Ok(any(BY_SIGNER, signers));
    }
    if filter.overdue {
        return Ok(any(BY_STALL, &STALLS.map(|stall| stall.code().to_owned())));
    }
    if filter.undecided && filter.states.is_none() {
        return Ok(any(BY_STATE, &UNDECIDED.map(|state| state.as_str().into())));
    }
    if let Some(states) = filter.undecided_states() {
        let words: Vec<String> = states.iter().map(|state| state.as_str().into()).collect();
        return Ok(any(BY_STATE, &words));
    }
    for (sql, name) in [(BY_TOOL, &filter.tool), (BY_AGENT, &filter.agent)] {
        let Some(name) = name else { continue };
        let workspaces = match &filter.workspace {
            Some(workspace) => vec![workspace.clone()],
            None => workspaces(reader, PIECES + 1).await?,
        };
        if workspaces.len() <= PIECES {
            let range = |workspace: String| (sql, vec![workspace, name.clone()]);
            return Ok(Source::Ranges(workspaces.into_iter().map(range).collect()));
        }
    }
    let words = [(BY_VERDICT, &filter.verdicts), (BY_ORIGIN, &filter.origins)];
    if let Some((sql, words)) = words
        .into_iter()
        .find_map(|(sql, words)| Some((sql, words.as_ref()?)))
    {
        return Ok(any(sql, words));
    }
    if let Some(risk) = &filter.risk {
        return Ok(one(BY_RISK, risk));
    }
    if let Some(workspace) = &filter.workspace {
        let agents = agents(reader, workspace, PIECES + 1).await?;
        if agents.len() <= PIECES {
            let range = |agent| (BY_AGENT, vec![workspace.clone(), agent]);
            return Ok(Source::Ranges(agents.into_iter().map(range).collect()));
        }
    }
    if filter.states.as_deref() == Some(&[State::Decided]) {
        return Ok(any(BY_VERDICT, &DECIDED.map(str::to_owned)));
    }
    Ok(Source::All)
}

/// The rows that hold everything stored in the time of the filter.
pub(super) async fn span(reader: &Reader, filter: &HistoryFilter) -> Result<Span, StoreError> {
    let (mut above, mut below) = (0, i64::MAX);
    if let Some(since) = filter.since {
        let first: Option<i64> = sqlx::query_scalar(
            "SELECT block FROM request_times WHERE last_at >= ? ORDER BY block LIMIT 1",
        )
        .bind(since.0)
        .fetch_optional(&reader.0)
        .await?;
        above = first.map_or(i64::MAX - 1, |block| block * BLOCK - 1);
    }
    if let Some(until) = filter.until {
        let last: Option<i64> = sqlx::query_scalar(
            "SELECT block FROM request_times WHERE first_at < ? ORDER BY block DESC LIMIT 1",
        )
        .bind(until.0)
        .fetch_optional(&reader.0)
        .await?;
        below = last.map_or(0, |block| (block + 1) * BLOCK);
    }
    Ok(Span { above, below })
}

/// Names of workspaces, in order, at most `limit`: one step of the index for each.
pub(super) async fn workspaces(reader: &Reader, limit: usize) -> Result<Vec<String>, StoreError> {
    Ok(sqlx::query_scalar(
        "WITH RECURSIVE name(ws) AS (
           SELECT min(ws) FROM requests
           UNION ALL
           SELECT (SELECT min(ws) FROM requests WHERE ws > name.ws) FROM name WHERE name.ws IS NOT NULL)
         SELECT ws FROM name WHERE ws IS NOT NULL LIMIT ?",
    )
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(&reader.0)
    .await?)
}

/// Names of a workspace's agents, in order, at most `limit`.
pub(super) async fn agents(
    reader: &Reader,
    workspace: &str,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    Ok(sqlx::query_scalar(
        "WITH RECURSIVE name(agent) AS (
           SELECT min(agent) FROM requests WHERE ws = ?1
           UNION ALL
           SELECT (SELECT min(agent) FROM requests WHERE ws = ?1 AND agent > name.agent)
           FROM name WHERE name.agent IS NOT NULL)
         SELECT agent FROM name WHERE agent IS NOT NULL LIMIT ?2",
    )
    .bind(workspace)
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(&reader.0)
    .await?)
}
