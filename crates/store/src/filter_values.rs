//! Which values occur in the history, for its filters.
//!
//! Each value is one step of an index: requests are not scanned.

use super::conditions::PROBE;
use super::history_source::{agents, workspaces};
use super::{Reader, StoreError};

/// Values of one kind at most.
const MOST: usize = 500;

/// The values that occur, in their order, at most 500 of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterValues {
    /// Workspaces; the empty one of messages without a valid subject is left out.
    pub workspaces: Vec<String>,
    /// Workspace and agent.
    pub agents: Vec<(String, String)>,
    /// Tool names as agents wrote them.
    pub tools: Vec<String>,
    /// Public keys that signed a decision.
    pub signers: Vec<String>,
    /// Ids of rules that decided.
    pub rules: Vec<String>,
}

/// Reads them.
pub async fn read(reader: &Reader) -> Result<FilterValues, StoreError> {
    let mut filter_values = FilterValues {
        workspaces: workspaces(reader, MOST).await?,
        signers: steps(reader, SIGNERS, "").await?,
        rules: steps(reader, RULES, "").await?,
        ..FilterValues::default()
    };
    filter_values
        .workspaces
        .retain(|workspace| !workspace.is_empty());
    for workspace in &filter_values.workspaces {
        let room = MOST.saturating_sub(filter_values.agents.len());
        let named = agents(reader, workspace, room).await?;
        filter_values
            .agents
            .extend(named.into_iter().map(|agent| (workspace.clone(), agent)));
        if filter_values.tools.len() < MOST {
            filter_values
                .tools
                .extend(steps(reader, TOOLS, workspace).await?);
        }
    }
    filter_values.tools.sort_unstable();
    filter_values.tools.dedup();
    filter_values.tools.retain(|tool| tool != PROBE);
    filter_values.tools.truncate(MOST);
    Ok(filter_values)
}

const TOOLS: &str = "WITH RECURSIVE name(word) AS (
      SELECT min(tool) FROM requests WHERE ws = ?1
      UNION ALL
      SELECT (SELECT min(tool) FROM requests WHERE ws = ?1 AND tool > name.word) FROM name WHERE name.word IS NOT NULL)
    SELECT word FROM name WHERE word IS NOT NULL LIMIT ?2";
const SIGNERS: &str = "WITH RECURSIVE name(word) AS (
      SELECT min(key) FROM decisions WHERE request IS NOT NULL AND ?1 = ''
      UNION ALL
      SELECT (SELECT min(key) FROM decisions WHERE request IS NOT NULL AND key > name.word)
      FROM name WHERE name.word IS NOT NULL)
    SELECT word FROM name WHERE word IS NOT NULL LIMIT ?2";
const RULES: &str = "WITH RECURSIVE name(word) AS (
      SELECT min(rule_id) FROM decisions WHERE rule_id IS NOT NULL AND ?1 = ''
      UNION ALL
      SELECT (SELECT min(rule_id) FROM decisions WHERE rule_id IS NOT NULL AND rule_id > name.word)
      FROM name WHERE name.word IS NOT NULL)
    SELECT word FROM name WHERE word IS NOT NULL LIMIT ?2";

async fn steps(
    reader: &Reader,
    sql: &'static str,
    within: &str,
) -> Result<Vec<String>, StoreError> {
    Ok(sqlx::query_scalar(sql)
        .bind(within)
        .bind(i64::try_from(MOST).unwrap_or(i64::MAX))
        .fetch_all(&reader.0)
        .await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary;
    use crate::tests::plan;

    #[tokio::test]
    async fn no_facet_reads_a_whole_table() {
        let (_folder, writer, reader) = temporary().await;
        for sql in [TOOLS, SIGNERS, RULES] {
            for step in plan(&writer, sql) {
                let whole = step.starts_with("SCAN requests") || step.starts_with("SCAN decisions");
                // The smallest of an index is its first entry.
                assert!(
                    !whole || step.contains("USING COVERING INDEX"),
                    "{sql}\n{step}"
                );
            }
        }
        assert_eq!(read(&reader).await.unwrap(), FilterValues::default());
    }
}
