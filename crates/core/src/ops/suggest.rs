//! Suggests rules for what people approve again and again. A suggestion changes nothing.

use std::sync::Arc;

use countersign_wire::{RequestKey, Verdict, WorkspaceName, parse_request, request_subject};

use crate::Fault;
use crate::domain::Timestamp;
use crate::policy::suggest::{Decided, Suggesting, WINDOW_DAYS};
use crate::policy::{Asked, PolicySet};
use crate::runtime::App;
use crate::store::approvals::{self, ApprovalRow};

pub use crate::policy::suggest::Suggestion;

/// Requests that are read at once.
const PAGE: i64 = 500;

fn take(suggesting: &mut Suggesting<'_>, row: &ApprovalRow) {
    let key = format!("{}/{}/{}", row.ws, row.agent, row.request_id).parse::<RequestKey>();
    let (Ok(key), Some(verdict)) = (key, Verdict::from_word(&row.verdict)) else {
        return;
    };
    let Ok(parsed) = parse_request(&request_subject(&key), &row.raw) else {
        return;
    };
    suggesting.take(&Decided {
        asked: &Asked::of(&parsed),
        request_id: &row.request_id,
        verdict,
        operator: &row.key,
        at: Timestamp(row.stored_at),
    });
}

impl App {
    /// Rules that would have said what people said at least five times in the last 30 days, and nobody
    /// denied: the narrowest ones, off, the most frequent first, at most 50. `progress` hears how many
    /// decisions were read and ends it with false.
    ///
    /// # Errors
    /// `ErrorCode::Store`; `ErrorCode::InvalidArgs` for rules that cannot be read; `ErrorCode::Failed` when
    /// `progress` ended it.
    pub async fn suggest_rules(
        &self,
        workspace: &WorkspaceName,
        mut progress: impl FnMut(u64) -> bool,
    ) -> Result<Vec<Suggestion>, Fault> {
        let failed = |why: String| Fault::failed(format!("the suggestions: {why}"));
        let rules = self.rules(workspace).await?.rules;
        let setup = self.setup_in_force(workspace).await?;
        let set = Arc::new(PolicySet::new(rules, setup).map_err(failed)?);
        let now = self.now();
        let since = now.plus_ms(-WINDOW_DAYS * Timestamp::DAY_MS).0;
        // Two pages ahead at most; the judge is a thread of its own.
        let (pages, mut waiting) = tokio::sync::mpsc::channel::<Vec<ApprovalRow>>(2);
        let judging = tokio::task::spawn_blocking(move || {
            let mut suggesting = Suggesting::new(&set);
            while let Some(page) = waiting.blocking_recv() {
                page.iter().for_each(|row| take(&mut suggesting, row));
            }
            suggesting.finish(now)
        });
        let (mut after, mut looked) = (0, 0_u64);
        loop {
            let page =
                approvals::by_people(self.reader(), workspace.as_ref(), since, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.id;
            looked = looked.saturating_add(page.len() as u64);
            if !progress(looked) {
                return Err(failed("nobody waits for them any more".to_owned()));
            }
            if pages.send(page).await.is_err() {
                return Err(failed("it broke off; try again".to_owned()));
            }
        }
        drop(pages);
        judging.await.map_err(|error| failed(error.to_string()))
    }
}
