//! Removes what one agent sent to the stream of requests.
//!
//! It touches messages on its owner's subject only.

use countersign_wire::{AgentKey, Stream};
use serde::{Deserialize, Serialize};

use super::connection::Bus;
use super::error::BusError;
use super::leader::{self, ask};

/// What an agent sends there.
const WORDS: [&str; 3] = ["request", "withdraw", "tighten"];
/// Sequences in one go: the server answers when it is done, and a question has its limit.
const STEP: u64 = 100_000;

#[derive(Serialize)]
struct Purge<'a> {
    filter: &'a str,
    /// The first one that stays.
    seq: u64,
}

#[derive(Deserialize)]
struct Purged {
    purged: u64,
}

impl Bus {
    /// Removes every message of this agent from the stream of requests, and returns how many the bus said that it had
    /// removed, and whether those were all. One that is interrupted is done in part; again, it does the rest. Errors as
    /// [`Bus::read_last`].
    pub async fn purge_requests_of(&self, agent: &AgentKey) -> (u64, Result<(), BusError>) {
        let mut removed = 0;
        let done = self.purge_all(agent, &mut removed).await;
        (removed, done)
    }

    async fn purge_all(&self, agent: &AgentKey, removed: &mut u64) -> Result<(), BusError> {
        let name = Stream::Requests.name();
        let Some(info) = leader::stream_info(self, name).await? else {
            return Ok(());
        };
        let (first, last) = (info.state.first_sequence, info.state.last_sequence);
        let api = format!("$JS.API.STREAM.PURGE.{name}");
        for word in WORDS {
            let (workspace, agent) = (&agent.workspace, &agent.agent);
            let filter = format!("countersign.v1.{word}.{workspace}.{agent}.>");
            let mut seq = first;
            while seq <= last {
                seq = seq.saturating_add(STEP).min(last.saturating_add(1));
                let question = Purge {
                    filter: &filter,
                    seq,
                };
                let answer: Purged = ask(self, &api, &question).await?;
                *removed += answer.purged;
            }
        }
        Ok(())
    }
}
