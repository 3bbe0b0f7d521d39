//! What happens now to each tool of a workspace at each risk.
//!
//! Refuses to judge in another way than the console that decides.

use std::collections::BTreeMap;

use countersign_wire::{AgentKey, Risk, WorkspaceName};

use super::bypass::in_bypass;
use crate::domain::Timestamp;
use crate::error::OpError;
use crate::policy::PolicySet;
use crate::policy::matrix::{Cell, Known, Matrix};
use crate::runtime::App;
use crate::store::redefined;

/// Tools that are judged; more are only counted.
const ROWS_MAX: usize = 200;

/// A tool and what happens to it.
#[derive(Debug, Clone)]
pub struct ToolCells {
    /// Its agent.
    pub agent: String,
    /// Its name: the agent's word.
    pub tool: String,
    /// The risk that its agent gives it.
    pub risk: Option<Risk>,
    /// In the order of the risks.
    pub cells: Vec<Cell>,
}

/// Tools by risks.
#[derive(Debug, Clone)]
pub struct ToolMatrix {
    /// By agent, then in the order of its hello.
    pub rows: Vec<ToolCells>,
    /// Tools that are left out.
    pub more: usize,
    /// Digest of the set in force.
    pub policy_digest: String,
}

impl App {
    /// What the rules in force say of each tool that a person can be asked about.
    ///
    /// # Errors
    /// [`OpError::Store`], [`OpError::InvalidArgs`] for a set that cannot be read.
    pub async fn matrix(&self, workspace: &WorkspaceName) -> Result<ToolMatrix, OpError> {
        let failed = |why: String| OpError::Failed(format!("the rules: {why}"));
        let rules = self.rules(workspace).await?.rules;
        let setup = self.setup_in_force(workspace).await?;
        let digest = PolicySet::new(rules.clone(), setup).map_err(failed)?;
        let policy_digest = digest.digest().to_string();
        let ws = workspace.as_ref();
        let redefined: BTreeMap<(String, String), i64> = redefined::of_workspace(self.reader(), ws)
            .await?
            .into_iter()
            .map(|(agent, tool, at)| ((agent, tool), at))
            .collect();
        let brakes = self.brakes().await?;
        let mut agents = self.agents().await?;
        agents.retain(|agent| agent.workspace == ws && agent.revoked_at.is_none());
        let now = self.now();
        let judging = tokio::task::spawn_blocking(move || {
            let matrix = Matrix::new(rules, now)?;
            let (mut rows, mut more) = (Vec::new(), 0);
            for agent in &agents {
                let key = format!("{}/{}", agent.workspace, agent.agent).parse::<AgentKey>();
                let key = key.ok();
                let off = key
                    .as_ref()
                    .and_then(|key| brakes.may_approve(key, true).err());
                let bypass = key.as_ref().and_then(|key| in_bypass(&brakes, key, now));
                for tool in agent.tools.iter().filter(|tool| tool.gated && tool.listed) {
                    if rows.len() == ROWS_MAX {
                        more += 1;
                        continue;
                    }
                    let place = (agent.agent.clone(), tool.name.clone());
                    let cells = matrix.cells(&Known {
                        agent: &agent.agent,
                        framework: agent.info.as_ref().and_then(|of| of.framework.as_deref()),
                        tool: &tool.name,
                        origin: tool.origin.as_deref(),
                        redefined_at: redefined.get(&place).copied().map(Timestamp),
                        approves_off: off,
                        bypass,
                    });
                    rows.push(ToolCells {
                        agent: agent.agent.clone(),
                        tool: tool.name.clone(),
                        risk: tool.risk.as_deref().map(Risk::effective),
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
