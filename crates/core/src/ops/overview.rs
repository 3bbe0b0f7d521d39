//! The numbers of a time.

use super::automatic::is_probe;
use crate::Fault;
use crate::domain::Timestamp;
use crate::domain::history::HistoryFilter;
use crate::domain::overview::people::{People, PersonWeek};
use crate::domain::overview::{Counting, Fact, Overview, PIECES};
use crate::runtime::App;
use crate::store::overview;

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
        let Some(mut counting) = Counting::over((since, until), pieces) else {
            return Err(Fault::usage(format!(
                "the period must end after it begins and have 1 to {PIECES} parts"
            )));
        };
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

    /// What each person decided in these weeks, and how many changes on practice cards each saw in them.
    pub async fn people(&self, mut people: People) -> Result<Vec<PersonWeek>, Fault> {
        overview::people(self.reader(), &mut people).await?;
        Ok(people.finish())
    }

    /// How many answers are overdue on their way at this moment.
    pub async fn stalled(&self) -> Result<u64, Fault> {
        let count = overview::overdue(self.reader()).await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }
}
