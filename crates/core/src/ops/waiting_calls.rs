//! Waiting calls that a change of the rules, or the end of a panic or a pause, would approve at once.
//!
//! It uses the same evaluation as automatic decisions, and leaves out calls that are approved without the change.

use std::sync::Arc;

use countersign_realm::InForce;
use countersign_wire::{AgentKey, RequestKey, WorkspaceName, parse_request, request_subject};

use super::bypass;
use super::realm::TrustedKeys;
use super::rules::RulesFault;
use super::scrutiny::{read_findings, stops_of};
use super::what_if::{Pages, waiting};
use super::why::used_so_far;
use crate::Fault;
use crate::domain::Timestamp;
use crate::domain::controls::Controls;
use crate::policy::what_if::{self, Judged, Situation};
use crate::policy::{Asked, Conditions, Evaluation, Rule, Used};
use crate::runtime::App;
use crate::store::StoreError;
use crate::store::pending_evaluation::WaitingRow;

/// A call that waits and would be approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingCall {
    /// Its row.
    pub request: i64,
    /// Which request.
    pub key: RequestKey,
}

/// Which waiting calls a person has accepted to be approved by a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AcceptWaiting {
    /// None of them.
    #[default]
    None,
    /// Those that the person was shown: `WS/AGENT/ID`.
    These(Vec<String>),
    /// All of them.
    All,
}

impl AcceptWaiting {
    /// Whether nothing is left to ask about.
    #[must_use]
    pub fn covers(&self, calls: &[WaitingCall]) -> bool {
        match self {
            Self::None => calls.is_empty(),
            Self::These(seen) => calls.iter().all(|of| seen.contains(&of.key.to_string())),
            Self::All => true,
        }
    }

    /// Hands the calls on, or refuses them all.
    pub(super) fn check(&self, calls: Vec<WaitingCall>) -> Result<Vec<WaitingCall>, RulesFault> {
        match self.covers(&calls) {
            true => Ok(calls),
            false => Err(RulesFault::DecidesWaiting(calls)),
        }
    }
}

/// What waiting calls are judged by.
pub(super) struct Trial {
    in_force: Arc<InForce>,
    controls: Controls,
}

impl Trial {
    pub(super) fn new(in_force: Arc<InForce>, controls: Controls) -> Self {
        Self { in_force, controls }
    }

    /// Judges the next call; none where the value in the place of the rules does not count. `used` says what a limited
    /// rule has approved before.
    fn judge(
        &self,
        trial: &mut what_if::Trial<'_>,
        (trusted, now): (&TrustedKeys, Timestamp),
        (agent, asked): (&AgentKey, &Asked<'_>),
        used: &impl Fn(&Rule) -> Result<Option<Used>, StoreError>,
    ) -> Result<Option<Evaluation>, StoreError> {
        if self.in_force.replaced.is_some() {
            return Ok(None);
        }
        let situation = Situation {
            now,
            approves_off: self.controls.may_approve(agent, true).err(),
            author_may: self
                .in_force
                .may_allow(trusted, &agent.workspace, asked.risk),
            bypass: bypass::standing(trusted, &self.controls, (agent, asked.risk), now),
        };
        loop {
            let found = trial.judge(asked, &situation);
            if found.unknown_uses.is_empty() {
                return Ok(Some(found));
            }
            for place in &found.unknown_uses {
                // What is too much to be read for it may be below the limit.
                let used = used(&self.in_force.set.rules()[*place].rule)?;
                trial.count(*place, used.unwrap_or_default());
            }
        }
    }
}

impl App {
    /// The waiting calls of a workspace that `after` approves and `before` does not; before there was nothing that
    /// counts where it is none.
    pub(super) async fn newly_approved(
        &self,
        workspace: &WorkspaceName,
        before: Option<Trial>,
        after: Trial,
    ) -> Result<Vec<WaitingCall>, Fault> {
        let (reader, now) = (self.reader().clone(), self.now());
        let trusted = self.inner.shared.trusted.clone();
        let runtime = tokio::runtime::Handle::current();
        let ws = workspace.clone();
        let judge = move |pages: Pages<WaitingRow>| {
            let used = |rule: &Rule| runtime.block_on(used_so_far(&reader, &ws, rule, now));
            let (at, conditions) = ((&trusted, now), Conditions::default());
            let trial = |of| what_if::Trial::uncounted(of, &conditions);
            let mut was = before.as_ref().map(|of| trial(&of.in_force.set));
            let mut is = trial(&after.in_force.set);
            let mut found = Vec::new();
            for row in pages.rows() {
                let Ok(key) = row.key.parse::<RequestKey>() else {
                    continue;
                };
                let Ok(parsed) = parse_request(&request_subject(&key), &row.raw) else {
                    continue;
                };
                let findings = read_findings(row.findings.as_deref());
                let stops = stops_of(&findings, &parsed.request);
                let asked = Asked {
                    tool_changed_at: row.redefined_at.map(Timestamp),
                    stops: &stops,
                    ..Asked::of(&parsed)
                };
                let agent = key.agent_key();
                let call = (&agent, &asked);
                let earlier = match before.as_ref().zip(was.as_mut()) {
                    Some((of, was)) => of.judge(was, at, call, &used)?,
                    None => None,
                };
                let Some(later) = after.judge(&mut is, at, call, &used)? else {
                    continue;
                };
                let judged = Judged {
                    before: earlier,
                    after: later,
                };
                if judged.begins().is_some() {
                    let request = row.id;
                    found.push(WaitingCall { request, key });
                }
            }
            Ok::<_, StoreError>(found)
        };
        Ok(waiting(self.reader(), workspace, now, judge).await??)
    }
}
