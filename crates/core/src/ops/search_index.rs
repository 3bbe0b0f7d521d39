//! Keeps the index of words and the references to the audit log behind the intake, and brings it up to date when
//! somebody searches.
//!
//! The streams come first: it works when nothing else does, or where a search waits for it.

use std::time::Duration;

use tokio::time::Instant;

use super::search_text;
use super::writer_state::{Tx, WriterState};
use crate::Fault;
use crate::runtime::{App, Role};
use crate::store::search_index::{self, Hay};
use crate::store::{Connection, StoreError, audit_refs};

/// Requests read in one step while nobody waits for the index.
pub(super) const QUIET_STEP: usize = 100;
/// Requests read in one step for a search.
const WANTED_STEP: usize = 500;
/// Rows of the audit log that a request leaves, about.
const AUDIT_ROWS: usize = 4;
/// How long the writer rests before it looks at what has just arrived.
pub(super) const AFTER_ARRIVALS: Duration = Duration::from_millis(50);
/// How long it rests between two full steps: whoever wants something comes in between.
pub(super) const BETWEEN_STEPS: Duration = Duration::from_millis(2);
/// A writer that is never at rest indexes one step in this time all the same.
pub(super) const UNDER_LOAD: Duration = Duration::from_secs(1);

/// Indexes what comes next and notes when to go on. Returns whether there is more that no search finds.
pub(super) fn apply(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    limit: usize,
) -> Result<bool, StoreError> {
    let (more, outdated) = step(batch.tx, limit)?;
    writer.searchable_in = (more || outdated).then_some(BETWEEN_STEPS);
    Ok(more)
}

/// Indexes what comes next. Returns whether there is more of that, and whether there are words of another version.
fn step(tx: &Connection, limit: usize) -> Result<(bool, bool), StoreError> {
    let step = search_index::next(tx, limit)?;
    let mut hays = Vec::with_capacity(step.unread.len() + step.later.len());
    for row in &step.unread {
        // What retention took away is not made findable again.
        if !row.raw.is_empty() {
            hays.push(Hay {
                id: row.id,
                now: search_text::of_request(&row.raw, row.message.as_deref()),
                before: row.before.clone(),
            });
        }
    }
    for row in &step.later {
        let mut now = row.hay.clone();
        if search_text::add_message(&mut now, &row.message) {
            hays.push(Hay {
                id: row.id,
                now,
                before: Some(row.hay.clone()),
            });
        }
    }
    search_index::put(tx, &step, &hays)?;
    let more = audit_refs::step(tx, limit * AUDIT_ROWS)?;
    Ok((step.more || more, step.outdated))
}

impl App {
    /// Indexes what has arrived, until everything can be found or `limit` is over. Returns how many
    /// requests a search may miss: 0 when everything is indexed; all that is left where this process only reads. Words of
    /// another version are found as they are, and read again when the writer rests.
    ///
    /// # Errors
    /// `ErrorCode::Store`; `ErrorCode::ReadOnly` when the store takes no writes.
    pub async fn catch_up_search(&self, limit: Duration) -> Result<u64, Fault> {
        let give_up = Instant::now() + limit;
        while self.role() != Role::Reader {
            let more = self.ask(|writer, batch| apply(writer, batch, WANTED_STEP));
            if !more.await? || Instant::now() >= give_up {
                break;
            }
        }
        let left = search_index::unread(self.reader()).await?;
        Ok(u64::try_from(left).unwrap_or(0))
    }
}

#[cfg(test)]
#[path = "search_index/tests.rs"]
mod tests;
