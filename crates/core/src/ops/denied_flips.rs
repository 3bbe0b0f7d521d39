//! Calls that people denied, and that a change of the rules would have let run.
//!
//! An unfinished search is kept apart from one without a result.

use std::collections::BTreeSet;
use std::time::Duration;

use countersign_wire::{PolicyKey, Verdict, WorkspaceName};

use super::rules::RulesChange;
use super::what_if::{Pages, past, with_past};
use crate::Fault;
use crate::policy::simulate::{FLIPS_MAX, Flip};
use crate::policy::what_if::{Trial, what_if};
use crate::policy::{Conditions, Effect, Enabled, Outcome, PolicySet, Rule};
use crate::runtime::App;
use crate::store::simulated::PastRow;

impl App {
    /// What people denied of all that is known here, and the workspace's rules would let run with this change: because
    /// a rule begins to approve, or because nothing overrides an approval any more. None where the search takes longer
    /// than `limit`.
    ///
    /// # Errors
    /// As [`App::change_rules`]; nothing is changed.
    pub async fn denied_flips(
        &self,
        workspace: &WorkspaceName,
        change: &RulesChange,
        limit: Duration,
    ) -> Result<Option<Vec<Flip>>, Fault> {
        let key = PolicyKey::Rules(workspace.clone());
        let current = self.bucket().await?.current(&key).await?;
        let (before, _) = self.before(workspace, &current, change).await?;
        let (after, _) = before.set.after(change, self.now())?;
        let (before, after) = (before.set.rules, after.rules);
        let begins = says_anew(&after, &before, |effect| effect == Effect::Approve);
        // What denied or asked before and says so no longer.
        let ends = says_anew(&before, &after, |effect| effect != Effect::Approve);
        if begins.is_empty() && ends.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let setup = self.setup_in_force(workspace).await?;
        let failed = |why: String| Fault::failed(format!("the rules before and after: {why}"));
        let is = PolicySet::new(after, setup.clone()).map_err(failed)?;
        let was = match ends.is_empty() {
            true => None,
            false => Some(PolicySet::new(before, setup).map_err(failed)?),
        };
        let judge = move |pages| new_flips(pages, &is, was.as_ref(), &begins);
        let reported = past(self.reader(), workspace, None, |_| true, judge);
        match tokio::time::timeout(limit, reported).await {
            Ok(flips) => flips.map(Some),
            Err(_) => Ok(None),
        }
    }
}

/// What a person denied and `is` approves: by a rule that begins, or where `was` did not. The whole set is tried: what
/// another rule denies or asks for, none lets run.
fn new_flips(
    pages: Pages<PastRow>,
    is: &PolicySet,
    was: Option<&PolicySet>,
    begins: &BTreeSet<String>,
) -> Vec<Flip> {
    let conditions = Conditions::default();
    let mut after = Trial::new(is, &conditions);
    let mut before = was.map(|was| Trial::new(was, &conditions));
    let mut flips = Vec::new();
    for row in pages.rows() {
        with_past(&row, |past| {
            let judged = what_if(before.as_mut(), &mut after, past);
            let Outcome::Approve(by) = judged.after.outcome else {
                return;
            };
            let rule_id = after.approver(past.asked, by);
            let earlier = judged.before.is_none() || judged.begins().is_none();
            if begins.contains(&rule_id) || !earlier {
                flips.extend(Flip::of(past, Verdict::Approve, rule_id));
            }
        });
        flips.truncate(FLIPS_MAX);
    }
    flips
}

/// Rules of an effect that are on in `of` and do not say the same in `other`.
fn says_anew(of: &[Rule], other: &[Rule], wanted: impl Fn(Effect) -> bool) -> BTreeSet<String> {
    let is_on = |rule: &&Rule| rule.enabled == Enabled::On;
    let current = |rule: &Rule| {
        let mut known = other.iter().filter(is_on);
        known.any(|other| other.id == rule.id && other.says_the_same(rule))
    };
    let on = of.iter().filter(is_on);
    on.filter(|rule| wanted(rule.effect) && !current(rule))
        .map(|rule| rule.id.clone())
        .collect()
}
