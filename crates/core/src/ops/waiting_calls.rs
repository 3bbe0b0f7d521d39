//! Waiting calls that a change of the rules, or the end of a panic or a pause, would approve at once.
//!
//! It uses the same evaluation as automatic decisions, and leaves out calls that are approved without the change.

use std::sync::Arc;

use countersign_wire::{AgentKey, RequestKey, WorkspaceName, parse_request, request_subject};

use super::bypass;
use super::policies::InForce;
use super::rules::RulesFault;
use super::scrutiny::{read_findings, stops_of};
use super::trusted::TrustedKeys;
use super::why::used_so_far;
use crate::Fault;
use crate::domain::Timestamp;
use crate::domain::controls::Controls;
use crate::policy::evaluate::amount;
use crate::policy::{Asked, By, Conditions, Outcome, Setting, Uses, evaluate};
use crate::runtime::{App, joined};
use crate::store::pending_evaluation::{self, WaitingRow};
use crate::store::{Reader, StoreError};

/// Requests that are read at once.
const PAGE: i64 = 100;

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

/// What waiting calls are judged by, and what its limited rules have counted.
pub(super) struct Trial {
    in_force: Arc<InForce>,
    controls: Controls,
    uses: Uses,
    conditions: Conditions,
}

impl Trial {
    pub(super) fn new(in_force: Arc<InForce>, controls: Controls) -> Self {
        Self {
            in_force,
            controls,
            uses: Uses::new(),
            conditions: Conditions::default(),
        }
    }

    /// Whether it approves the next call. What it approves counts towards the limits of its rules.
    async fn approves(
        &mut self,
        (reader, trusted, now): (&Reader, &TrustedKeys, Timestamp),
        agent: &AgentKey,
        asked: &Asked<'_>,
    ) -> Result<bool, StoreError> {
        let (set, workspace) = (&self.in_force.set, &agent.workspace);
        if self.in_force.replaced.is_some() {
            return Ok(false);
        }
        let found = loop {
            let setting = Setting {
                now,
                approves_off: self.controls.may_approve(agent, true).err(),
                author_may: self.in_force.may_allow(trusted, workspace, asked.risk),
                bypass: bypass::standing(trusted, &self.controls, (agent, asked.risk), now),
                uses: &self.uses,
                explain: false,
                conditions: &self.conditions,
            };
            let found = evaluate(set, asked, &setting);
            if found.unknown_uses.is_empty() {
                break found;
            }
            for place in &found.unknown_uses {
                let rule = &set.rules()[*place].rule;
                // What is too much to be read for it may be below the limit.
                let used = used_so_far(reader, workspace, rule, now).await?;
                self.uses.insert(rule.id.clone(), used.unwrap_or_default());
            }
        };
        let Outcome::Approve(by) = found.outcome else {
            return Ok(false);
        };
        if let By::Rule(place) = by
            && let rule = &set.rules()[place].rule
            && let Some(used) = self.uses.get_mut(&rule.id)
        {
            used.count += 1;
            let sum = rule.sum.as_ref();
            let more = sum.and_then(|sum| amount(asked.args, asked.effective, &sum.pointer));
            used.sum += more.unwrap_or(0.0);
        }
        Ok(true)
    }
}

impl App {
    /// The waiting calls of a workspace that `after` approves and `before` does not; before there was nothing that
    /// counts where it is none.
    pub(super) async fn newly_approved(
        &self,
        workspace: &WorkspaceName,
        mut before: Option<Trial>,
        mut after: Trial,
    ) -> Result<Vec<WaitingCall>, Fault> {
        let (reader, now) = (self.reader().clone(), self.now());
        let trusted = self.inner.shared.trusted.clone();
        let (ws, runtime) = (workspace.to_string(), tokio::runtime::Handle::current());
        // Conditions take their time: no other task waits for them.
        let judging = tokio::task::spawn_blocking(move || {
            runtime.block_on(async move {
                let at = (&reader, &trusted, now);
                let (mut found, mut last) = (Vec::new(), 0);
                loop {
                    let page =
                        pending_evaluation::waiting_in(&reader, (&ws, now), last, PAGE).await?;
                    let Some(end) = page.last() else {
                        return Ok::<_, StoreError>(found);
                    };
                    last = end.id;
                    for row in page {
                        let WaitingRow { id: request, .. } = row;
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
                        let already = match &mut before {
                            Some(before) => before.approves(at, &agent, &asked).await?,
                            None => false,
                        };
                        if after.approves(at, &agent, &asked).await? && !already {
                            found.push(WaitingCall { request, key });
                        }
                    }
                }
            })
        });
        Ok(judging.await.map_err(joined)??)
    }
}
