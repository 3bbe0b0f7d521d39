//! The record of a tool, for who decides on its next call.

use crate::domain::Timestamp;
use crate::domain::tool_record::ToolRecord;
use crate::error::OpError;
use crate::runtime::App;
use crate::store::lines::LineRow;
use crate::store::tool_record;

/// The look of the desk says 90 days.
const DAYS_90_MS: i64 = 90 * Timestamp::DAY_MS;
/// Calls that are read at most: as many as can be read while a card opens.
pub const NEWEST: u32 = 1_000;

impl App {
    /// How the calls of a request's tool in its workspace ended that came before it and no longer than 90 days
    /// before, the newest 1,000 at most; none for what is no tool call.
    ///
    /// # Errors
    /// [`OpError::Store`].
    pub async fn tool_record(&self, line: &LineRow) -> Result<Option<ToolRecord>, OpError> {
        let Some(tool) = &line.tool else {
            return Ok(None);
        };
        let since = crate::domain::Timestamp(line.stored_at).plus_ms(-DAYS_90_MS);
        let of = (line.ws.as_str(), tool.as_str());
        let calls =
            tool_record::of_tool(self.reader(), of, line.id, since, i64::from(NEWEST)).await?;
        Ok(Some(ToolRecord::of(calls)))
    }
}
