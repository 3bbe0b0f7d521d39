//! The matrix of a workspace's tools by risk, from the same evaluation as automatic decisions.

use std::collections::BTreeMap;

use countersign_wire::{AgentKey, Risk, WorkspaceName, request_fields};

use super::agents::AgentReport;
use super::bypass::standing;
use crate::Fault;
use crate::domain::Timestamp;
use crate::policy::matrix::{Cell, DescribedTool, Matrix, RISKS};
use crate::runtime::App;
use crate::store::agents_waiting::AskedTool;
use crate::store::{agents_waiting, redefined};

/// Tools that are judged; more are only counted.
const ROWS_MAX: usize = 200;
/// An agent's newest calls whose tools are judged, beside those that it lists.
const CALLS: i64 = 1_000;

/// A tool and what happens to it.
#[derive(Debug, Clone)]
pub struct ToolCells {
    /// Its agent.
    pub agent: String,
    /// Its name: the agent's word.
    pub tool: String,
    /// The risk that its agent gives it, or its newest call has.
    pub risk: Option<Risk>,
    /// In the order of the risks.
    pub cells: Vec<Cell>,
}

/// A tool that a person can be asked about.
struct Gated {
    name: String,
    risk: Option<Risk>,
    origin: Option<String>,
}

/// The tools that an agent lists, then those that it has asked for.
fn gated(agent: &AgentReport, asked: Vec<AskedTool>) -> Vec<Gated> {
    let listed = agent.tools.iter().filter(|tool| tool.listed);
    let mut found: Vec<Gated> = listed
        .clone()
        .filter(|tool| tool.gated)
        .map(|tool| Gated {
            name: tool.name.clone(),
            risk: tool.risk.as_deref().map(Risk::effective),
            origin: tool.origin.clone(),
        })
        .collect();
    let known: Vec<&str> = listed.map(|tool| tool.name.as_str()).collect();
    let asked = asked
        .into_iter()
        .filter(|of| !known.contains(&of.tool.as_str()));
    found.extend(asked.map(|of| Gated {
        risk: Some(Risk::effective(&of.risk)),
        origin: request_fields(&of.raw).and_then(|fields| {
            fields
                .get("tool")?
                .get("origin")?
                .as_str()
                .map(str::to_owned)
        }),
        name: of.tool,
    }));
    found
}

/// Tools by risks.
#[derive(Debug, Clone)]
pub struct ToolMatrix {
    /// By agent, then in the order of its hello, then by name.
    pub rows: Vec<ToolCells>,
    /// Tools that are left out.
    pub more: usize,
    /// Digest of the set in force; where that cannot be read, of the last one that could.
    pub policy_digest: String,
}

impl App {
    /// What the rules in force say of each tool that a person can be asked about.
    ///
    /// # Errors
    /// `ErrorCode::Store`, `ErrorCode::InvalidArgs` for a set that cannot be read.
    pub async fn matrix(&self, workspace: &WorkspaceName) -> Result<ToolMatrix, Fault> {
        let failed = |why: String| Fault::failed(format!("the rules: {why}"));
        let in_force = self.policy_in_force(workspace).await?;
        let policy_digest = in_force.set.digest().to_string();
        let author_may =
            RISKS.map(|risk| in_force.may_allow(&self.inner.shared.trusted, workspace, risk));
        let trusted = self.inner.shared.trusted.clone();
        let ws = workspace.as_ref();
        let redefined: BTreeMap<(String, String), i64> = redefined::of_workspace(self.reader(), ws)
            .await?
            .into_iter()
            .map(|(agent, tool, at)| ((agent, tool), at))
            .collect();
        let controls = self.controls().await?;
        let mut agents = self.agents().await?;
        agents.retain(|agent| agent.workspace == ws && agent.revoked_at.is_none());
        let mut known = Vec::with_capacity(agents.len());
        for agent in agents {
            let asked = agents_waiting::tools(self.reader(), (ws, &agent.agent), CALLS).await?;
            known.push((gated(&agent, asked), agent));
        }
        let now = self.now();
        let judging = tokio::task::spawn_blocking(move || {
            let rules = in_force.set.rules().iter().map(|of| of.rule.clone());
            let matrix = Matrix::new(rules.collect(), now, in_force.replaced)?;
            let (mut rows, mut more) = (Vec::new(), 0);
            for (tools, agent) in &known {
                let key = format!("{}/{}", agent.workspace, agent.agent).parse::<AgentKey>();
                let key = key.ok();
                let off = key
                    .as_ref()
                    .and_then(|key| controls.may_approve(key, true).err());
                let bypass = RISKS.map(|risk| {
                    let key = key.as_ref()?;
                    standing(&trusted, &controls, (key, risk), now)
                });
                for tool in tools {
                    if rows.len() == ROWS_MAX {
                        more += 1;
                        continue;
                    }
                    let place = (agent.agent.clone(), tool.name.clone());
                    let cells = matrix.cells(&DescribedTool {
                        agent: &agent.agent,
                        framework: agent.info.as_ref().and_then(|of| of.framework.as_deref()),
                        tool: &tool.name,
                        origin: tool.origin.as_deref(),
                        redefined_at: redefined.get(&place).copied().map(Timestamp),
                        approves_off: off,
                        author_may,
                        bypass,
                    });
                    rows.push(ToolCells {
                        agent: agent.agent.clone(),
                        tool: tool.name.clone(),
                        risk: tool.risk,
                        cells,
                    });
                }
            }
            Ok::<_, String>((rows, more))
        });
        let (rows, more) = judging
            .await
            .map_err(|error| failed(error.to_string()))?
            .map_err(failed)?;
        Ok(ToolMatrix {
            rows,
            more,
            policy_digest,
        })
    }
}
