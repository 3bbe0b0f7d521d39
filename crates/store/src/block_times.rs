//! Tables `request_times` and `span_times`: from when to when the rows of a block were stored.
//!
//! It is not exact: it gives the rows around a time, and costs no index of the rows.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::domain::Timestamp;

/// Row numbers of one block.
pub(super) const BLOCK: i64 = 1_024;

/// Whose rows they are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Of {
    Requests,
    Spans,
}

/// The times of rows that were written together.
#[derive(Debug, Default)]
pub(super) struct Times(BTreeMap<i64, (i64, i64)>);

impl Times {
    /// Takes one row in.
    pub(super) fn add(&mut self, id: i64, stored_at: Timestamp) {
        let at = stored_at.0;
        let (first, last) = self.0.entry(id / BLOCK).or_insert((at, at));
        (*first, *last) = ((*first).min(at), (*last).max(at));
    }

    /// Writes them down.
    pub(super) fn note(&self, sqlite: &Connection, of: Of) -> rusqlite::Result<()> {
        let mut note = sqlite.prepare_cached(match of {
            Of::Requests => {
                "INSERT INTO request_times(block, first_at, last_at) VALUES (?, ?, ?)
                 ON CONFLICT(block) DO UPDATE SET
                   first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)"
            }
            Of::Spans => {
                "INSERT INTO span_times(block, first_at, last_at) VALUES (?, ?, ?)
                 ON CONFLICT(block) DO UPDATE SET
                   first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)"
            }
        })?;
        for (block, (first, last)) in &self.0 {
            note.execute([block, first, last])?;
        }
        Ok(())
    }
}
