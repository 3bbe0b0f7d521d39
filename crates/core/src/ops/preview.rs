//! Preview of one rule on a workspace's past, and the draft of a rule from a card.
//!
//! Both use the same evaluation as automatic decisions.

use std::collections::BTreeMap;

use countersign_wire::{WorkspaceName, parse_request, request_subject};

use super::what_if::{Pages, Progress, past, with_past};
use crate::Fault;
use crate::domain::Timestamp;
use crate::policy::draft::{Grant, draft};
use crate::policy::preview::{Preview, Tally};
use crate::policy::what_if::{Trial, what_if};
use crate::policy::{Asked, Conditions, Enabled, PolicySet, Rule};
use crate::runtime::App;
use crate::store::redefined;
use crate::store::request_list::RequestSummary;
use crate::store::simulated::PastRow;

impl App {
    /// What a rule would have done, were it on, with every request of a workspace since a moment. It ends when
    /// `progress` says false.
    ///
    /// # Errors
    /// `ErrorCode::Store`; `ErrorCode::Failed` when it was cancelled.
    pub async fn preview_rule(
        &self,
        workspace: &WorkspaceName,
        rule: Rule,
        since: Option<Timestamp>,
        progress: impl Fn(Progress) -> bool,
    ) -> Result<Preview, Fault> {
        let failed = |why: String| Fault::failed(format!("the simulation: {why}"));
        // Bindings would let calls pass that the rule does not; values stay, conditions name them.
        let mut setup = self.setup_in_force(workspace).await?;
        for of in setup.values_mut() {
            of.bindings = BTreeMap::new();
        }
        let rule = Rule {
            enabled: Enabled::On,
            ..rule
        };
        let set = PolicySet::new(vec![rule], setup).map_err(failed)?;
        let judge = move |pages: Pages<PastRow>| {
            let conditions = Conditions::default();
            let (mut trial, mut tally) = (Trial::new(&set, &conditions), Tally::default());
            for row in pages.rows() {
                with_past(&row, |past| {
                    tally.add(past, &what_if(None, &mut trial, past).after);
                });
            }
            tally.finish()
        };
        past(self.reader(), workspace, since, progress, judge).await
    }

    /// The narrowest rule that would let this request run; it is not saved.
    ///
    /// # Errors
    /// `ErrorCode::NotApprovable` with the reason when no rule may; `ErrorCode::Store`.
    pub async fn draft_rule(&self, line: &RequestSummary, grant: Grant) -> Result<Rule, Fault> {
        let unread = || Fault::not_approvable("this was rejected; no rule covers it");
        let key = line.key().ok_or_else(unread)?;
        let parsed = parse_request(&request_subject(&key), &line.raw).map_err(|_| unread())?;
        let asked = Asked {
            tool_changed_at: redefined::of_request(self.reader(), line.id).await?,
            ..Asked::of(&parsed)
        };
        let known = self.rules(&key.workspace).await?;
        draft(&asked, grant, self.now(), |id| known.is_taken(id))
            .map_err(|fault| Fault::not_approvable(fault.to_string()))
    }
}
