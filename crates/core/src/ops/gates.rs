//! The gate in front of an agent's program: when a probe last held, and why it is open.

use countersign_wire::AgentKey;

use super::writer_state::{Tx, WriterState};
use crate::Fault;
use crate::domain::AlarmCode;
pub use crate::domain::facts::Gate;
use crate::runtime::App;
use crate::store::{StoreError, agents};

/// Keeps it. An open gate is an alarm until it holds again.
fn keep(
    writer: &WriterState,
    batch: &mut Tx<'_>,
    agent: &AgentKey,
    open: Option<&str>,
) -> Result<(), StoreError> {
    let (auto, subject) = (writer.identity.auto_key().to_string(), agent.to_string());
    agents::note_gate(batch.tx, agent, open, batch.now)?;
    let code = AlarmCode::GateOpen;
    match open {
        Some(_) => batch.alarm_unseen(&auto, code, &subject),
        None => batch.clear_alarm(&auto, code, &subject),
    }
}

impl App {
    /// Keeps that the gate in front of an agent's program holds now, or why it is open: then with an alarm, until it
    /// holds again.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` when the store takes no writes.
    pub async fn note_gate(&self, agent: &AgentKey, open: Option<&str>) -> Result<(), Fault> {
        let (agent, open) = (agent.clone(), open.map(str::to_owned));
        self.ask(move |writer, batch| keep(writer, batch, &agent, open.as_deref()))
            .await
    }
}
