//! The record of a tool, for who decides on its next call.

use crate::Fault;
use crate::domain::Timestamp;
use crate::domain::tool_record::ToolRecord;
use crate::runtime::App;
use crate::store::request_list::RequestSummary;
use crate::store::tool_record::{self, ToolCall};

/// The look of the desk says 90 days.
const DAYS_90_MS: i64 = 90 * Timestamp::DAY_MS;
/// Calls of the tool, and calls of the agent, that are looked at: as many as can be read while a card opens.
pub const NEWEST: u32 = 1_000;

/// The tool call of a row, if it is one.
pub(crate) fn call_of(line: &RequestSummary) -> Option<ToolCall<'_>> {
    Some(ToolCall {
        workspace: &line.ws,
        agent: &line.agent,
        tool: line.tool.as_deref()?,
        before: line.id,
    })
}

impl App {
    /// How the agent's calls of a request's tool ended that came before it and no longer than 90 days before, and
    /// whether there may be more of them behind the newest 1,000 calls; none without a tool call.
    pub async fn tool_record(
        &self,
        line: &RequestSummary,
    ) -> Result<Option<(ToolRecord, bool)>, Fault> {
        let Some(call) = call_of(line) else {
            return Ok(None);
        };
        let since = crate::domain::Timestamp(line.stored_at).plus_ms(-DAYS_90_MS);
        let earlier = tool_record::of_tool(self.reader(), call, since, i64::from(NEWEST)).await?;
        Ok(Some((ToolRecord::of(earlier.outcomes), earlier.cut)))
    }
}
