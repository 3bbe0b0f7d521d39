//! An alarm that the console's own server listens on another port than agents know, with the agents that it matters to.
//!
//! It stays until each of these agents was enrolled again or revoked, or the server is back.

use super::alarms::keep_to;
use super::enroll::LOCAL_AGENT;
use crate::Fault;
use crate::domain::{AlarmCode, Timestamp};
use crate::runtime::App;
use crate::store::agents::AgentRow;
use crate::store::{agents, alarms};

/// An address that agents dial and the console's own server has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAddress {
    /// `127.0.0.1:PORT`.
    pub address: String,
    /// Since when, ms.
    pub since: Timestamp,
    /// Agents that were enrolled for it and not since.
    pub agents: Vec<String>,
}

/// Whether it has a login whose file names the address of its time; the local agent's is written at each start.
fn keeps_its_address(row: &AgentRow) -> bool {
    row.key.is_some() && row.name != LOCAL_AGENT
}

impl App {
    /// The addresses that agents may still dial, the oldest first.
    pub async fn left_addresses(&self) -> Result<Vec<LeftAddress>, Fault> {
        let code = AlarmCode::BusMoved.as_str();
        let mut left: Vec<LeftAddress> = alarms::all(self.reader())
            .await?
            .into_iter()
            .filter(|alarm| alarm.code == code)
            .map(|alarm| LeftAddress {
                address: alarm.subject,
                since: Timestamp(alarm.at),
                agents: Vec::new(),
            })
            .collect();
        left.sort_by_key(|at| at.since);
        for row in agents::all(self.reader()).await? {
            let enrolled = Timestamp(row.enrolled_at.unwrap_or(0));
            let of = left.iter_mut().find(|at| enrolled <= at.since);
            if let Some(of) = of.filter(|_| keeps_its_address(&row)) {
                of.agents.push(format!("{}/{}", row.ws, row.name));
            }
        }
        Ok(left)
    }

    /// Keeps the alarm true: at the start, and whenever the list of agents is another one. Where nobody was sent to the
    /// former address, or nobody is left of them, it is given up: whoever is enrolled now is sent here.
    pub(crate) async fn note_moved_port(&self, at_start: bool) -> Result<(), Fault> {
        let Some(server) = self.embedded_server() else {
            return Ok(());
        };
        let left = self.left_addresses().await?;
        let here = server.address();
        let dialled = left
            .iter()
            .filter(|at| at.address != here && !at.agents.is_empty());
        let mut reported: Vec<String> = dialled.map(|at| at.address.clone()).collect();
        if let Some(former) = server.moved_from() {
            let rows = agents::all(self.reader()).await?;
            let mut rows = rows.iter().filter(|row| keeps_its_address(row));
            let sent_here = |row: &AgentRow, since: Timestamp| row.enrolled_at > Some(since.0);
            match left.iter().find(|at| at.address == former) {
                Some(at) if at.agents.is_empty() || rows.any(|row| sent_here(row, at.since)) => {
                    server.stay_here()?;
                }
                None if at_start => match rows.next() {
                    Some(_) => reported.push(former),
                    None => server.stay_here()?,
                },
                Some(_) | None => {}
            }
        }
        keep_to(&self.inner.shared, AlarmCode::BusMoved, &reported).await
    }
}
