//! The numbers of a time.

use super::automatic::is_probe;
use crate::Fault;
use crate::domain::Timestamp;
use crate::domain::history::HistoryFilter;
use crate::domain::overview::{Counting, Fact, Overview};
use crate::runtime::App;
use crate::store::overview;

/// Pieces of a time at most.
const PIECES: usize = 400;

impl App {
    /// Counts what was stored from `since` to `until`, in so many pieces, 1 to 400; all workspaces, or one.
    /// Looks at each request of that time.
    ///
    /// # Errors
    /// `ErrorCode::Usage` for a time that does not end after it begins, and for another number of pieces;
    /// `ErrorCode::Store`.
    pub async fn overview(
        &self,
        (since, until): (Timestamp, Timestamp),
        pieces: usize,
        workspace: Option<String>,
    ) -> Result<Overview, Fault> {
        let each = i64::try_from(pieces).unwrap_or(i64::MAX);
        let whole = until.0.checked_sub(since.0).filter(|whole| *whole > 0);
        let (Some(whole), 1..=PIECES) = (whole, pieces) else {
            return Err(Fault::usage(format!(
                "a time ends after it begins, and has 1 to {PIECES} pieces"
            )));
        };
        // Rounded up: the last piece ends no earlier than the time does.
        let step = whole / each + i64::from(whole % each > 0);
        let mut counting = Counting::new(since, step, pieces);
        let filter = HistoryFilter {
            workspace,
            since: Some(since),
            until: Some(until),
            ..HistoryFilter::default()
        };
        let count = |fact: Fact| {
            if !is_probe(fact.tool.as_deref()) {
                counting.add(fact);
            }
        };
        overview::facts(self.reader(), &filter, count).await?;
        Ok(counting.finish())
    }

    /// How many answers are overdue on their way at this moment.
    pub async fn stalled(&self) -> Result<u64, Fault> {
        let count = overview::overdue(self.reader()).await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }
}
