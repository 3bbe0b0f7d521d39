//! Suggests rules for what people approve again and again. A suggestion changes nothing.

use countersign_wire::{RequestKey, Verdict, WorkspaceName, parse_request, request_subject};

use super::what_if::{Pages, decided};
use crate::Fault;
use crate::domain::Timestamp;
use crate::policy::suggest::{Decided, Suggesting, WINDOW_DAYS};
use crate::policy::{Asked, PolicySet};
use crate::runtime::App;
use crate::store::approvals::ApprovalRow;

pub use crate::policy::suggest::Suggestion;

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
        progress: impl FnMut(u64) -> bool,
    ) -> Result<Vec<Suggestion>, Fault> {
        let failed = |why: String| Fault::failed(format!("the suggestions: {why}"));
        let rules = self.rules(workspace).await?.rules;
        let setup = self.setup_in_force(workspace).await?;
        let set = PolicySet::new(rules, setup).map_err(failed)?;
        let now = self.now();
        let since = now.plus_ms(-WINDOW_DAYS * Timestamp::DAY_MS);
        let judge = move |pages: Pages<ApprovalRow>| {
            let mut suggesting = Suggesting::new(&set);
            pages.rows().for_each(|row| take(&mut suggesting, &row));
            suggesting.finish(now)
        };
        decided(self.reader(), workspace, since, progress, judge).await
    }
}
