//! Removes from the bus what one agent sent, so that what others asked is read.
//!
//! The agent is stopped first: what takes a question back, or brings its deadline forward, goes too, and nothing of a
//! stopped agent is approved.

use countersign_wire::{AgentControl, AgentKey, ErrorCode};
use serde_json::json;

use crate::Fault;
use crate::runtime::App;

/// What came of a purge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purged {
    /// Messages that were removed from the stream of requests.
    pub removed: u64,
    /// Waiting calls that the stop ended at once.
    pub terminated: u64,
    /// Whether the agent had a login that was given to it here; it is gone.
    pub revoked: bool,
}

impl App {
    /// Stops an agent, revokes its login, and removes everything that it sent to the stream of requests. What no
    /// console had read is never answered: its agent waits until the deadline, and lets nothing run.
    ///
    /// # Errors
    /// `ErrorCode::VerdictNotAllowed` to an operator under limits, before anything is done. As [`App::set_control`] and
    /// [`App::revoke`]; `ErrorCode::BusUnreachable`. What was done before stays.
    pub async fn purge(&self, agent: &AgentKey) -> Result<Purged, Fault> {
        self.may_purge(agent)?;
        let stopped = self.set_control(agent, AgentControl::Stopped).await?;
        let revoked = match self.revoke(agent).await {
            Ok(()) => true,
            // Another console of the realm gave it, or nobody did.
            Err(fault) if fault.code == ErrorCode::NotFound => false,
            Err(error) => return Err(error),
        };
        let bus = self.bus().ok_or_else(|| {
            Fault::bus_unreachable("the connection was lost; run the command again")
        })?;
        let (removed, done) = bus.purge_requests_of(agent).await;
        // What is gone is gone, whether or not there is more.
        let detail = match &done {
            Ok(()) => json!({ "messages": removed }),
            Err(error) => json!({ "messages": removed, "interrupted": error.code() }),
        };
        self.record("purge", agent.to_string(), detail).await?;
        done?;
        Ok(Purged {
            removed,
            terminated: stopped.terminated,
            revoked,
        })
    }
}
