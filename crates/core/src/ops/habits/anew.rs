//! Makes the table of habits anew from history, tool by tool, also beside a running console.

use uuid::Uuid;

use super::learn;
use super::past::ToolName;
use super::{Habits, Tx, WriterState};
use crate::Fault;
use crate::ops::scrutiny::APPROVED_MS;
use crate::runtime::App;
use crate::store::{Connection, StoreError, meta, people_decided};

/// What was learned anew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Learned {
    /// Tools of agents.
    pub tools: u64,
    /// Calls that people approved or denied.
    pub calls: u64,
}

impl App {
    /// Learns what people decided on every tool anew from history.
    ///
    /// # Errors
    /// When the store cannot be read or written; tools that were learned before stay learned.
    pub async fn learn_habits(&self) -> Result<Learned, Fault> {
        let since = self.now().0 - APPROVED_MS;
        let mut learned = Learned::default();
        for tool in people_decided::tools(self.reader(), since).await? {
            learned.tools += 1;
            learned.calls += self
                .ask(move |writer, batch| learn_anew(writer, batch, tool))
                .await?;
        }
        Ok(learned)
    }
}

/// Learns one tool.
fn learn_anew(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    (ws, agent, tool): (String, String, String),
) -> Result<u64, StoreError> {
    let tool = ToolName { ws, agent, tool };
    let pasts = &mut writer.habits.pasts;
    let learned = learn::anew(pasts, batch.tx, batch.now, &tool)?;
    let word = Uuid::new_v4().to_string();
    meta::put(batch.tx, meta::HABITS, &word)?;
    Ok(learned)
}

/// Notices that another process made it anew: what is remembered of it is read again.
pub(super) fn notice(habits: &mut Habits, tx: &Connection) -> Result<(), StoreError> {
    let anew = crate::store::habits::made_anew(tx)?;
    if anew != habits.anew {
        habits.anew = anew;
        habits.pasts.forget_all();
    }
    Ok(())
}
