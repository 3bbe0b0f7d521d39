//! What is on the bus, in the consoles and in the journals after a round.
//!
//! Read from the streams themselves and from the consoles' files: nothing is asked of the code under test
//! but `audit verify`, which is itself under test.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use async_nats::ConnectOptions;
use async_nats::jetstream::{self, consumer};
use countersign_wire::{
    AgentControl, Enrolment, PolicyKey, SignedEnvelope, Subject, parse_panic, parse_pause,
    realm::Realm,
};
use futures::StreamExt;
use serde_json::Value;
use time::OffsetDateTime;

use crate::grants::Grants;
use crate::journal::{self, Line};
use crate::settle::Settled;
use crate::store::{self, ConsoleRows};
use crate::world::World;

/// Subjects of the shared policy.
const POLICY: &str = "$KV.CS_POLICY.";
const READ_LIMIT: Duration = Duration::from_secs(120);

/// A message on a stream.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) payload: Vec<u8>,
    pub(crate) key: Option<String>,
    pub(crate) sig: Option<String>,
    /// Cut to milliseconds, as consoles do.
    pub(crate) stamp: OffsetDateTime,
    pub(crate) seq: u64,
}

/// A panic, pause or stop that was turned on or off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Braking {
    /// The server's stamp.
    pub(crate) at: OffsetDateTime,
    /// `WS/AGENT` of a pause or a stop, none of panic.
    pub(crate) agent: Option<String>,
    pub(crate) on: bool,
}

/// Streams, by `WS/AGENT/ID`.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub(crate) requests: BTreeMap<String, Stored>,
    pub(crate) withdraws: BTreeMap<String, Stored>,
    pub(crate) tightens: BTreeMap<String, Stored>,
    pub(crate) decisions: BTreeMap<String, Stored>,
    /// When panic, pauses and stops were turned on and off, as far as the bucket remembers, in order.
    pub(crate) brakings: Vec<Braking>,
    /// Bypasses and setup keys.
    pub(crate) grants: Grants,
    /// By request and voter.
    pub(crate) votes: BTreeMap<(String, String), Stored>,
    /// The slots of the realm log, with sequence and bytes, in the stream's order.
    pub(crate) log: Vec<(u64, u64, Vec<u8>)>,
    /// Messages on subjects that nobody here uses.
    pub(crate) strange: Vec<String>,
}

/// One console.
#[derive(Debug)]
pub(crate) struct ConsoleFacts {
    pub(crate) name: String,
    pub(crate) rows: ConsoleRows,
    /// What `audit verify --json` printed, or why it did not.
    pub(crate) audit: Result<Value, String>,
}

/// An agent's journal.
#[derive(Debug)]
pub(crate) struct AgentJournal {
    pub(crate) name: String,
    pub(crate) killed: bool,
    pub(crate) lines: Vec<Line>,
}

/// Everything.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) settled: Settled,
    pub(crate) streams: Streams,
    pub(crate) consoles: Vec<ConsoleFacts>,
    pub(crate) agents: Vec<AgentJournal>,
    pub(crate) operators: Vec<Line>,
    /// Who may decide, by the log on the bus.
    pub(crate) log: Realm,
    pub(crate) odd_ends: Vec<String>,
    /// Starts of consoles, beyond the first one of each.
    pub(crate) console_restarts: u64,
}

/// Reads everything while the bus and the consoles still run.
pub(crate) async fn gather(world: &mut World, settled: Settled) -> anyhow::Result<Facts> {
    let first = world.consoles.first().context("no console")?;
    let url = match &world.bus {
        Some(bus) => format!("nats://{}", bus.address),
        None => {
            let ready = first.process.ready().context("no console is ready")?;
            ready["nats_url"].as_str().context("no URL")?.to_owned()
        }
    };
    let reading = streams(&url, first.login_seed()?);
    let streams = tokio::time::timeout(READ_LIMIT, reading)
        .await
        .context("the streams could not be read in time")??;
    let mut consoles = Vec::new();
    for console in &world.consoles {
        let audit = console.ask(&["audit", "verify"]).await;
        consoles.push(ConsoleFacts {
            name: console.name.clone(),
            rows: store::read(&console.database()).await?,
            audit: audit.map_err(|error| format!("{error:#}")),
        });
    }
    let mut agents = Vec::new();
    for (path, killed) in world.agent_journals() {
        agents.push(AgentJournal {
            name: name(&path),
            killed,
            lines: journal::read(&path)?,
        });
    }
    let mut operators = Vec::new();
    for path in world.operator_journals() {
        operators.extend(journal::read(&path)?);
    }
    let enrolment = std::fs::read(world.folder.join("agent-0.json"))?;
    let log = log_of(&serde_json::from_slice(&enrolment)?, &streams)?;
    let starts = world.consoles.iter().map(|console| console.process.starts);
    Ok(Facts {
        settled,
        streams,
        consoles,
        agents,
        operators,
        log,
        odd_ends: world.odd_ends(),
        console_restarts: starts.map(|starts| starts.saturating_sub(1)).sum(),
    })
}

/// The log that the agents were enrolled with, as far as it goes on the bus.
fn log_of(enrolment: &Enrolment, streams: &Streams) -> anyhow::Result<Realm> {
    let known = enrolment.log.as_ref().context("agents without a log")?;
    let mut log = Realm::new(enrolment.realm, known.root);
    for (slot, sequence, message) in &streams.log {
        log.apply(*slot, *sequence, message);
    }
    Ok(log)
}

fn name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

async fn streams(url: &str, seed: String) -> anyhow::Result<Streams> {
    let client = ConnectOptions::with_nkey(seed).connect(url).await?;
    let context = jetstream::new(client);
    let mut streams = Streams::default();
    for name in ["CS_REQUESTS", "CS_DECISIONS", "KV_CS_POLICY"] {
        let mut stream = context.get_stream(name).await?;
        let state = stream.info().await?.state.clone();
        if state.messages == 0 {
            continue;
        }
        let config = consumer::pull::OrderedConfig::default();
        let mut messages = stream.create_consumer(config).await?.messages().await?;
        while let Some(message) = messages.next().await {
            let message = message?;
            let seq = take(&mut streams, &message)?;
            if seq >= state.last_sequence {
                break;
            }
        }
    }
    Ok(streams)
}

fn take(streams: &mut Streams, message: &jetstream::Message) -> anyhow::Result<u64> {
    let info = message.info().map_err(|error| anyhow::anyhow!("{error}"))?;
    let seq = info.stream_sequence;
    let header = |name: &str| {
        let headers = message.headers.as_ref()?;
        headers.get(name).map(|value| value.as_str().to_owned())
    };
    let stored = Stored {
        payload: message.payload.to_vec(),
        key: header("CS-Key"),
        sig: header("CS-Sig"),
        stamp: info.published,
        seq,
    };
    let subject = message.subject.as_str();
    if let Some(key) = subject.strip_prefix(POLICY) {
        streams.brakings.extend(braking(key, &stored)?);
        streams.grants.take(key, &stored)?;
        return Ok(seq);
    }
    let (place, key) = match Subject::parse(subject) {
        Some(Subject::Vote(key, voter)) => {
            let name = (key.to_string(), voter.to_string());
            if streams.votes.insert(name, stored).is_some() {
                streams
                    .strange
                    .push(format!("{subject} holds two messages"));
            }
            return Ok(seq);
        }
        Some(Subject::Realm(slot)) => {
            streams.log.push((slot, seq, stored.payload));
            return Ok(seq);
        }
        Some(Subject::Request(key)) => (&mut streams.requests, key),
        Some(Subject::Withdraw(key)) => (&mut streams.withdraws, key),
        Some(Subject::Tighten(key)) => (&mut streams.tightens, key),
        Some(Subject::Decision(key)) => (&mut streams.decisions, key),
        _ => {
            streams.strange.push(subject.to_owned());
            return Ok(seq);
        }
    };
    if place.insert(key.to_string(), stored).is_some() {
        streams
            .strange
            .push(format!("{subject} holds two messages"));
    }
    Ok(seq)
}

/// Panic, a pause or a stop; none where the key is another one.
fn braking(key: &str, stored: &Stored) -> anyhow::Result<Option<Braking>> {
    let value = || SignedEnvelope::from_bytes(&stored.payload)?.payload_bytes();
    let (agent, on) = match PolicyKey::parse(key) {
        Some(PolicyKey::Panic) => (None, parse_panic(&value()?)?.on),
        Some(PolicyKey::Pause(agent)) => {
            let state = parse_pause(&value()?)?.state;
            (Some(agent.to_string()), state != AgentControl::Running)
        }
        _ => return Ok(None),
    };
    let at = stored.stamp;
    Ok(Some(Braking { at, agent, on }))
}
