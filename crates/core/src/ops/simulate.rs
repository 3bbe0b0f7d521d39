//! Tries rules on the requests of the past: those that were valid and are still kept whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_wire::{
    Effects, PolicyKey, RequestKey, Risk, Verdict, WorkspaceName, parse_request, request_subject,
};
use tokio::sync::mpsc::{self, Receiver};

use super::setup::{SetupValue, schema_of};
use crate::Fault;
use crate::domain::{State, Timestamp};
use crate::policy::simulate::{Past, Report, Simulation};
use crate::policy::{Asked, Conditions, PolicySet, Rule, SetupInForce};
use crate::runtime::App;
use crate::store::simulated::{self, PastRow};
use crate::store::{agents, policy};

/// Requests that are read at once.
const PAGE: i64 = 500;
/// Pages that are read before they are judged.
const PAGES_AHEAD: usize = 2;

/// How far a simulation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Requests that were looked at.
    pub done: u64,
    /// Requests that there are.
    pub of: u64,
}

/// Reads a stored request as a simulation takes it; what was never valid is left out.
pub(super) fn with_past(row: &PastRow, judge: impl FnOnce(&Past<'_>)) {
    let key = format!("{}/{}/{}", row.ws, row.agent, row.request_id).parse::<RequestKey>();
    let Ok(key) = key else { return };
    let Ok(parsed) = parse_request(&request_subject(&key), &row.raw) else {
        return;
    };
    let decided = row.verdict.as_deref().and_then(Verdict::from_word);
    let ran = matches!(decided, Some(Verdict::Approve | Verdict::Modify));
    let by_person = row.origin.as_deref() == Some("operator");
    let asked = Asked::of(&parsed);
    judge(&Past {
        asked: &asked,
        request: row.id,
        request_id: &row.request_id,
        at: Timestamp(row.stored_at),
        person: decided.filter(|_| by_person),
        ran,
        waits: row.state == State::Pending.as_str(),
        strict: asked.risk == Risk::Critical || parsed.request.effects() == Effects::Irreversible,
    });
}

impl App {
    /// What these rules would have done with every request of a workspace since a moment, in the order in
    /// which they came, panic and pauses aside. It ends when `progress` says false.
    ///
    /// # Errors
    /// `ErrorCode::Store`; `ErrorCode::Failed` when it was cancelled.
    pub async fn simulate_rules(
        &self,
        workspace: &WorkspaceName,
        rules: Vec<Rule>,
        since: Option<Timestamp>,
        progress: impl Fn(Progress) -> bool,
    ) -> Result<Report, Fault> {
        let failed = |why: String| Fault::failed(format!("the simulation: {why}"));
        let setup = self.setup_in_force(workspace).await?;
        let set = Arc::new(PolicySet::new(rules, setup).map_err(failed)?);
        let judge = move |mut pages: Receiver<Vec<PastRow>>| {
            let conditions = Conditions::default();
            let mut simulation = Simulation::new(&set, &conditions);
            while let Some(page) = pages.blocking_recv() {
                for row in &page {
                    with_past(row, |past| drop(simulation.judge(past)));
                }
            }
            simulation.finish()
        };
        self.replay(workspace, since, progress, judge).await
    }

    /// Hands every request of a workspace since a moment to a thread of its own, in the order in which they
    /// came. It ends when `progress` says false.
    ///
    /// # Errors
    /// `ErrorCode::Store`; `ErrorCode::Failed` when it was cancelled.
    pub(super) async fn replay<T: Send + 'static>(
        &self,
        workspace: &WorkspaceName,
        since: Option<Timestamp>,
        progress: impl Fn(Progress) -> bool,
        judge: impl FnOnce(Receiver<Vec<PastRow>>) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let failed = |why: String| Fault::failed(format!("the simulation: {why}"));
        let since = since.map_or(i64::MIN, |since| since.0);
        let of = simulated::count(self.reader(), workspace.as_ref(), since).await?;
        // The judge is a thread of its own.
        let (pages, waiting) = mpsc::channel(PAGES_AHEAD);
        let judging = tokio::task::spawn_blocking(move || judge(waiting));
        let (mut after, mut done) = (0, 0);
        loop {
            let page =
                simulated::page(self.reader(), workspace.as_ref(), since, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.id;
            done += u64::try_from(page.len()).unwrap_or(0);
            pages
                .send(page)
                .await
                .map_err(|_| failed("it broke off; try again".to_owned()))?;
            if !progress(Progress { done, of }) {
                return Err(failed("it was cancelled".to_owned()));
            }
        }
        drop(pages);
        judging.await.map_err(|error| failed(error.to_string()))
    }

    /// The setup that is in force in a workspace.
    pub(super) async fn setup_in_force(
        &self,
        workspace: &WorkspaceName,
    ) -> Result<BTreeMap<String, SetupInForce>, Fault> {
        let mut setups = BTreeMap::new();
        for (agent, declared) in agents::setup_schemas(self.reader()).await? {
            if agent.workspace != *workspace {
                continue;
            }
            let key = PolicyKey::Setup(agent.clone()).to_string();
            let Some(row) = policy::get(self.reader(), &key).await? else {
                continue;
            };
            if let (Some(value), Some(schema)) =
                (SetupValue::read(&row.payload), schema_of(&declared))
            {
                let revision = u64::try_from(row.revision).unwrap_or(0);
                setups.insert(agent.agent.to_string(), value.in_force(&schema, revision));
            }
        }
        Ok(setups)
    }
}
