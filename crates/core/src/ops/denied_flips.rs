//! Calls that people denied, and that a change of the rules would have let run.
//!
//! Refuses to take a look that was not finished for one that found nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use countersign_wire::{PolicyKey, Verdict, WorkspaceName};

use super::rules::RulesChange;
use crate::error::OpError;
use crate::policy::simulate::Flip;
use crate::policy::{Effect, Enabled, Rule};
use crate::runtime::App;

impl App {
    /// What people denied of all that is known here, and rules that begin to approve with this change would
    /// have let run. None where telling takes longer than `limit`.
    ///
    /// # Errors
    /// As [`App::change_rules`]; nothing is changed.
    pub async fn denied_flips(
        &self,
        workspace: &WorkspaceName,
        change: &RulesChange,
        limit: Duration,
    ) -> Result<Option<Vec<Flip>>, OpError> {
        let stands = self
            .policy_stands(&PolicyKey::Rules(workspace.clone()))
            .await?;
        let (before, _) = self.before(workspace, stands, change).await?;
        let (after, _) = before.set.after(change, self.now())?;
        let begins = beginning(&before.set.rules, &after.rules);
        if begins.is_empty() {
            return Ok(Some(Vec::new()));
        }
        // The whole set is tried: what another rule denies or asks for, none of these lets run.
        let tried = self.simulate_rules(workspace, after.rules, None, |_| true);
        let Ok(found) = tokio::time::timeout(limit, tried).await else {
            return Ok(None);
        };
        let mut flips = found?.flips;
        flips.retain(|flip| flip.rule == Verdict::Approve && begins.contains(&flip.rule_id));
        Ok(Some(flips))
    }
}

/// Rules that approve after a change and did not say the same before it.
fn beginning(before: &[Rule], after: &[Rule]) -> BTreeSet<String> {
    let approves = |rule: &&Rule| rule.effect == Effect::Approve && rule.enabled == Enabled::On;
    let stood = |rule: &Rule| {
        let mut known = before.iter();
        known.any(|other| other.id == rule.id && other.says_the_same(rule))
    };
    let begins = after.iter().filter(approves).filter(|rule| !stood(rule));
    begins.map(|rule| rule.id.clone()).collect()
}
