//! The numbers of a time.

use crate::domain::Timestamp;
use crate::domain::history::HistoryFilter;
use crate::domain::overview::{Counting, Overview};
use crate::error::OpError;
use crate::runtime::App;
use crate::store::overview;

/// Pieces of a time at most.
const PIECES: usize = 400;

impl App {
    /// Counts what was stored from `since` to `until`, in so many pieces; all workspaces, or one. Looks at
    /// each request of that time.
    ///
    /// # Errors
    /// [`OpError::Store`].
    pub async fn overview(
        &self,
        (since, until): (Timestamp, Timestamp),
        pieces: usize,
        workspace: Option<String>,
    ) -> Result<Overview, OpError> {
        let pieces = pieces.clamp(1, PIECES);
        let whole = until.since_ms(since).max(1);
        let each = i64::try_from(pieces).unwrap_or(1);
        // Rounded up: the last piece ends no earlier than the time does.
        let mut counting = Counting::new(since, (whole + each - 1) / each, pieces);
        let filter = HistoryFilter {
            workspace,
            since: Some(since),
            until: Some(until),
            ..HistoryFilter::default()
        };
        overview::facts(self.reader(), &filter, |fact| counting.add(fact)).await?;
        Ok(counting.finish())
    }

    /// How many answers are overdue on their way at this moment.
    ///
    /// # Errors
    /// [`OpError::Store`].
    pub async fn stalled(&self) -> Result<u64, OpError> {
        let count = overview::overdue(self.reader()).await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }
}
