//! Answers in order for exporters, and how far they were exported.
//!
//! An answer is held back while its request may still come: the two are read from two streams.

use crate::Fault;
use crate::runtime::App;
use crate::store::answered::{self, AnsweredRow};
use crate::store::meta;

/// An answer without its request is waited for this long; afterwards the request has aged out of its stream.
const REQUEST_COMES_MS: i64 = 60_000;

impl App {
    /// Answers after this row that are known whole, at most `limit`, and the row up to which nothing is left.
    pub async fn answered_after(
        &self,
        row: i64,
        limit: i64,
    ) -> Result<(Vec<AnsweredRow>, i64), Fault> {
        let mut found = answered::after(self.reader(), row, limit).await?;
        let now = self.now().0;
        let young = |row: &AnsweredRow| !row.known && now - row.stored_at < REQUEST_COMES_MS;
        if let Some(gap) = found.iter().position(young) {
            found.truncate(gap);
        }
        let up_to = found.last().map_or(row, |last| last.id);
        found.retain(|row| row.known);
        Ok((found, up_to))
    }

    /// The row up to which answers were exported; at first the last there is, so that the past is left out.
    pub async fn answers_exported(&self) -> Result<i64, Fault> {
        let reported = meta::get(self.reader(), meta::ANSWERS_EXPORTED).await?;
        if let Some(row) = reported.and_then(|row| row.parse().ok()) {
            return Ok(row);
        }
        let last = answered::last(self.reader()).await?;
        self.note_answers_exported(last).await?;
        Ok(last)
    }

    /// Records that the answers up to this row were exported.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` when it cannot be written.
    pub async fn note_answers_exported(&self, row: i64) -> Result<(), Fault> {
        self.ask(move |_, batch| {
            meta::put(batch.tx, meta::ANSWERS_EXPORTED, &row.to_string()).map(drop)
        })
        .await
    }
}
