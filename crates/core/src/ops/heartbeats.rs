//! Heartbeats on their way to the writer: many of them cost one write.
//!
//! The batch is bounded: what exceeds it is dropped, and the next heartbeats come within 10 s.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_wire::{AgentKey, Subject, parse_heartbeat};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::job::Job;
use super::writer_state::Tx;
use crate::bus::Heartbeat;
use crate::clock::Clock;
use crate::domain::Timestamp;
use crate::store::agent_instances::{self, Heard};
use crate::store::{StoreError, agents};

/// How long heartbeats are gathered before they are written together.
const GATHER: Duration = Duration::from_millis(250);
/// Agents that are noted in one write.
const AGENTS: usize = 4_096;
/// Instances of one agent kept apart in one write: what one agent invents must not silence another.
const COPIES: usize = 64;
/// Bytes of an instance's id; of longer ones only the agent is noted.
const INSTANCE: usize = 200;

/// Heartbeats that were heard and are not written.
#[derive(Debug, Default)]
pub(crate) struct Heartbeats {
    heard: BTreeMap<AgentKey, Presence>,
}

#[derive(Debug)]
struct Presence {
    last: Timestamp,
    copies: BTreeMap<String, Timestamp>,
}

/// Who was heard last when, and which of its copies.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HeardHeartbeats {
    /// Each agent once, with the time of its last heartbeat.
    pub(crate) agents: Vec<(AgentKey, Timestamp)>,
    /// Each copy once.
    pub(crate) copies: Vec<Heard>,
}

impl Heartbeats {
    /// Notes a heartbeat that came at `at`, server time; one whose subject names nobody is ignored.
    pub(crate) fn add(&mut self, heartbeat: &Heartbeat, at: Timestamp) {
        let Some(Subject::Heartbeat(agent)) = Subject::parse(&heartbeat.subject) else {
            return;
        };
        // Who may publish on the subject is alive, whatever the message says.
        let instance = parse_heartbeat(&heartbeat.payload)
            .ok()
            .filter(|alive| alive.one_shot != Some(true))
            .map(|alive| alive.instance_id.unwrap_or_default())
            .filter(|id| id.len() <= INSTANCE);
        if self.heard.len() >= AGENTS && !self.heard.contains_key(&agent) {
            return;
        }
        let presence = self.heard.entry(agent).or_insert_with(|| Presence {
            last: at,
            copies: BTreeMap::new(),
        });
        presence.last = presence.last.max(at);
        let Some(instance) = instance else { return };
        if presence.copies.len() < COPIES || presence.copies.contains_key(&instance) {
            let last = presence.copies.entry(instance).or_insert(at);
            *last = (*last).max(at);
        }
    }

    /// Everything that was heard, and nothing twice.
    pub(crate) fn take(&mut self) -> HeardHeartbeats {
        let mut heard = HeardHeartbeats::default();
        for (agent, presence) in std::mem::take(&mut self.heard) {
            let copies = presence.copies.into_iter();
            heard.copies.extend(copies.map(|(instance_id, at)| Heard {
                agent: agent.clone(),
                instance_id,
                at,
            }));
            heard.agents.push((agent, presence.last));
        }
        heard
    }
}

/// Notes who was heard.
pub(super) fn note(batch: &mut Tx<'_>, heard: &HeardHeartbeats) -> Result<(), StoreError> {
    agents::note_alive(batch.tx, &heard.agents)?;
    batch.effects.status |= agent_instances::note(batch.tx, &heard.copies)?;
    Ok(())
}

/// Hands heartbeats to the writer until it is cancelled.
pub(crate) async fn hear(
    mut heartbeats: mpsc::Receiver<Heartbeat>,
    jobs: mpsc::Sender<Job>,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    loop {
        let first = tokio::select! {
            () = stop.cancelled() => return,
            heartbeat = heartbeats.recv() => heartbeat,
        };
        let Some(first) = first else { return };
        let mut gathered = Heartbeats::default();
        gathered.add(&first, clock.now());
        let until = tokio::time::sleep(GATHER);
        tokio::pin!(until);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = &mut until => break,
                heartbeat = heartbeats.recv() => match heartbeat {
                    Some(heartbeat) => gathered.add(&heartbeat, clock.now()),
                    None => break,
                },
            }
        }
        let heard = gathered.take();
        let noted = Job::passing(move |_, batch| note(batch, &heard));
        if jobs.send(noted).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use bytes::Bytes;
    use time::OffsetDateTime;

    fn heartbeat(agent: &str, instance: &str) -> Heartbeat {
        Heartbeat {
            subject: format!("countersign.v1.alive.acme.{agent}"),
            payload: Bytes::from(format!("{{\"v\":1,\"instance_id\":\"{instance}\"}}")),
            at: OffsetDateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn ten_thousand_signs_of_three_copies_are_three_rows_with_their_last_times() {
        let mut heartbeats = Heartbeats::default();
        for second in 0..10_000_i64 {
            let (agent, copy) =
                [("bot", "a"), ("bot", "b"), ("cat", "a")][usize::try_from(second % 3).unwrap()];
            heartbeats.add(&heartbeat(agent, copy), Timestamp(second));
        }
        let heard = heartbeats.take();
        let copies: Vec<_> = heard
            .copies
            .iter()
            .map(|copy| {
                let agent = copy.agent.agent.to_string();
                (agent, copy.instance_id.as_str(), copy.at.0)
            })
            .collect();
        let expected = [
            ("bot", "a", 9_999),
            ("bot", "b", 9_997),
            ("cat", "a", 9_998),
        ];
        assert_eq!(copies, expected.map(|(a, c, s)| (a.to_owned(), c, s)));
        let agents: Vec<_> = heard.agents.iter().map(|(_, at)| at.0).collect();
        assert_eq!(agents, [9_999, 9_998]);
        assert_eq!(heartbeats.take(), HeardHeartbeats::default());
    }

    #[test]
    fn processes_that_ask_once_are_heard_and_are_no_copies() {
        let mut heartbeats = Heartbeats::default();
        for number in 0..40 {
            let mut once = heartbeat("bot", "");
            once.payload = Bytes::from(format!(
                "{{\"v\":1,\"instance_id\":\"{number}\",\"one_shot\":true}}"
            ));
            heartbeats.add(&once, Timestamp(number));
        }
        let mut runs = heartbeat("bot", "");
        runs.payload = Bytes::from_static(b"{\"v\":1,\"instance_id\":\"a\",\"one_shot\":false}");
        heartbeats.add(&runs, Timestamp(3));
        let heard = heartbeats.take();
        assert_eq!(heard.agents[0].1, Timestamp(39));
        let copies: Vec<&str> = heard.copies.iter().map(|copy| &*copy.instance_id).collect();
        assert_eq!(copies, ["a"]);
    }

    #[test]
    fn an_agent_is_heard_whatever_its_sign_says_and_a_flood_of_copies_has_an_end() {
        let mut heartbeats = Heartbeats::default();
        let mut odd = heartbeat("bot", "a");
        odd.payload = Bytes::from_static(b"\xff");
        heartbeats.add(&odd, Timestamp(1));
        heartbeats.add(&heartbeat("long", &"x".repeat(INSTANCE + 1)), Timestamp(1));
        let nobody = Heartbeat {
            subject: "countersign.v1.alive.acme".to_owned(),
            ..heartbeat("nobody", "a")
        };
        heartbeats.add(&nobody, Timestamp(1));
        let heard = heartbeats.take();
        assert_eq!((heard.agents.len(), heard.copies.len()), (2, 0));
        for copy in 0..2 * COPIES {
            heartbeats.add(&heartbeat("flood", &copy.to_string()), Timestamp(1));
        }
        heartbeats.add(&heartbeat("quiet", "a"), Timestamp(1));
        assert_eq!(heartbeats.take().copies.len(), COPIES + 1);
    }
}
