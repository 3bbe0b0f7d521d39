//! What the writer remembers of the pasts of tools, so that it reads them once a day and after each decision.

use std::collections::HashMap;
use std::sync::Arc;

use countersign_scrutiny::Past;

use crate::domain::Timestamp;
use crate::ops::scrutiny;
use crate::store::{StoreError, WriteConnection};

/// The most pasts that are kept in memory.
const MOST: usize = 64;

/// A tool of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ToolName {
    pub(crate) ws: String,
    pub(crate) agent: String,
    pub(crate) tool: String,
}

impl ToolName {
    pub(crate) fn new(ws: &str, agent: &str, tool: &str) -> Self {
        Self {
            ws: ws.to_owned(),
            agent: agent.to_owned(),
            tool: tool.to_owned(),
        }
    }
}

/// Pasts by tool, with the day on which each was read: what is older than its window counts no longer.
#[derive(Default)]
pub(crate) struct Pasts(HashMap<ToolName, (i64, Arc<Past>)>);

impl Pasts {
    /// The past of a tool.
    pub(crate) async fn of(
        &mut self,
        tx: &mut WriteConnection,
        now: Timestamp,
        tool: &ToolName,
    ) -> Result<Arc<Past>, StoreError> {
        let day = now.0.div_euclid(Timestamp::DAY_MS);
        if let Some((read, past)) = self.0.get(tool)
            && *read == day
        {
            return Ok(Arc::clone(past));
        }
        let past = Arc::new(scrutiny::read(tx, now, tool).await?);
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(tool.clone(), (day, Arc::clone(&past)));
        Ok(past)
    }

    /// A person decided on a call of it.
    pub(crate) fn forget(&mut self, tool: &ToolName) {
        self.0.remove(tool);
    }
}
