//! An agent's last good setup before a deletion or an unreadable value. It spares nobody a question.

use countersign_wire::{AgentKey, PolicyKey};

use super::super::rules::last_read;
use super::SetupValue;
use crate::runtime::App;
use crate::store::policy::PolicyRow;
use crate::store::{Reader, StoreError};

/// The last setup of an agent that this folder accepted and could read; its revision is none of the bus any more.
pub(in crate::ops) async fn last_readable_setup(
    reader: &Reader,
    agent: &AgentKey,
) -> Result<Option<(PolicyRow, SetupValue)>, StoreError> {
    last_read(reader, &PolicyKey::Setup(agent.clone()), SetupValue::read).await
}

impl App {
    /// What was read of an agent's setup; where that is nothing, the last values that could be read: rules deny by them,
    /// and go on to.
    pub(super) async fn setup_or_last(
        &self,
        agent: &AgentKey,
        read: Option<SetupValue>,
    ) -> Result<SetupValue, StoreError> {
        if let Some(setup) = read {
            return Ok(setup);
        }
        let last = last_readable_setup(self.reader(), agent).await?;
        Ok(last.map(|(_, last)| last.unbound()).unwrap_or_default())
    }
}
