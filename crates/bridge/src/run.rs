//! `bridge commonground run`: both buses, the consumers, and a task for each command.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::{self, Context, Message};
use countersign_sdk::Gate;
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

use crate::api::{self, Card};
use crate::command::{GateSubject, Inbound, is_traceparent, read};
use crate::config::{Config, Project};
use crate::digest::{request_id, span_id, trace_of_turn};
use crate::error::BridgeError;
use crate::events::Event;
use crate::flow::drive;
use crate::nats::{COMMANDS, EVENTS, connect, durable, inbound};
use crate::spans::{self, Piece};
use crate::store::{NewCommand, Store};

/// Commands stored in one transaction at most.
const AT_ONCE: usize = 200;
/// Calls that nobody waits for any more are looked for at every such count.
const PRUNED_EVERY: usize = 256;
/// Result cards read at the same time.
const READINGS: usize = 4;

/// What the tasks of a running bridge share.
pub(crate) struct Bridge {
    pub(crate) config: Config,
    pub(crate) store: Store,
    pub(crate) nats: Client,
    pub(crate) jetstream: Context,
    pub(crate) http: reqwest::Client,
    /// By project.
    pub(crate) gates: HashMap<String, Gate>,
    pub(crate) waits: Waits,
    readings: Semaphore,
}

/// Who waits for the time that CommonGround names for a call.
#[derive(Default)]
pub(crate) struct Waits(Mutex<HashMap<(String, String), Weak<Notify>>>);

/// One that waits for it.
pub(crate) struct WaitOf(Arc<Notify>);

impl WaitOf {
    pub(crate) async fn changed(&self) {
        self.0.notified().await;
    }
}

impl Waits {
    pub(crate) fn of(&self, project: &str, call: &str) -> WaitOf {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (project.to_owned(), call.to_owned());
        if let Some(held) = table.get(&key).and_then(Weak::upgrade) {
            return WaitOf(held);
        }
        if table.len().is_multiple_of(PRUNED_EVERY) {
            table.retain(|_, held| held.strong_count() > 0);
        }
        let new = Arc::new(Notify::new());
        table.insert(key, Arc::downgrade(&new));
        WaitOf(new)
    }

    fn wake(&self, project: &str, call: &str) {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (project.to_owned(), call.to_owned());
        if let Some(held) = table.get(&key).and_then(Weak::upgrade) {
            held.notify_one();
        }
    }
}

/// Runs until the process ends; `ready` is called with the line to print once it consumes.
///
/// Nothing is withdrawn at the end: whoever runs this ends the process.
pub async fn run(config: Config, ready: impl FnOnce(Value)) -> Result<(), BridgeError> {
    let store = Store::open(&config.data_dir)?;
    let nats = connect(&config.nats).await?;
    let mut gates = HashMap::new();
    for project in &config.projects {
        gates.insert(project.id.clone(), gate(project).await?);
    }
    let bridge = Arc::new(Bridge {
        jetstream: jetstream::new(nats.clone()),
        nats,
        store,
        http: api::client(),
        gates,
        waits: Waits::default(),
        readings: Semaphore::new(READINGS),
        config,
    });
    let unfinished = bridge
        .store
        .unfinished()
        .map_err(|error| BridgeError::Store {
            folder: bridge.config.data_dir.clone(),
            why: error.to_string(),
        })?;
    for id in unfinished {
        tokio::spawn(drive(Arc::clone(&bridge), id));
    }
    let commands = durable(&bridge.jetstream, &bridge.config, COMMANDS).await;
    let events = durable(&bridge.jetstream, &bridge.config, EVENTS).await;
    let projects: Vec<&str> = bridge
        .config
        .projects
        .iter()
        .map(|of| of.id.as_str())
        .collect();
    ready(
        json!({"event": "ready", "bridge": "commonground", "name": bridge.config.name, "projects": projects}),
    );
    tokio::join!(
        consume(&bridge, commands, Bridge::take_commands),
        consume(&bridge, events, Bridge::take_events),
    );
    Ok(())
}

/// Connects as the project's agent.
pub(crate) async fn gate(project: &Project) -> Result<Gate, BridgeError> {
    let builder = Gate::builder(project.agent_json.as_path())
        .framework("commonground", "v1r4")
        .max_waiting(100_000);
    builder.connect().await.map_err(|source| BridgeError::Gate {
        project: project.id.clone(),
        source,
    })
}

/// Takes batches; what was taken is acknowledged, what could not be stored comes again.
async fn consume(
    bridge: &Arc<Bridge>,
    consumer: jetstream::consumer::PullConsumer,
    take: fn(&Arc<Bridge>, &[Inbound]) -> rusqlite::Result<()>,
) {
    loop {
        let batch = consumer
            .batch()
            .max_messages(AT_ONCE)
            .expires(Duration::from_secs(5));
        let mut messages = match batch.messages().await {
            Ok(messages) => messages.ready_chunks(AT_ONCE),
            Err(error) => {
                tracing::info!("CommonGround's bus is waited for: {error}");
                tokio::time::sleep(Duration::from_millis(500)).await;
                continue;
            }
        };
        while let Some(chunk) = messages.next().await {
            let messages: Vec<Message> = chunk.into_iter().filter_map(Result::ok).collect();
            let read: Vec<Inbound> = messages.iter().filter_map(inbound).collect();
            if let Err(error) = take(bridge, &read) {
                tracing::warn!("not acknowledged, the bridge's store failed: {error}");
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
            for message in &messages {
                if let Err(error) = message.ack().await {
                    tracing::info!("an acknowledgement was lost: {error}");
                }
            }
        }
    }
}

impl Bridge {
    fn take_commands(self: &Arc<Self>, messages: &[Inbound]) -> rusqlite::Result<()> {
        let new: Vec<NewCommand<'_>> = messages
            .iter()
            .map(|message| self.new_command(message))
            .collect();
        for id in self.store.take(&new)? {
            self.show_rejected(id);
            tokio::spawn(drive(Arc::clone(self), id));
        }
        Ok(())
    }

    fn new_command<'a>(&'a self, message: &'a Inbound) -> NewCommand<'a> {
        let tokens: Vec<&str> = message.subject.split('.').collect();
        let named = tokens.get(2).copied().unwrap_or_default();
        let project = self.config.project(named);
        let (tool, reason) = match read(message, project) {
            Ok((_, tool)) => (Some(tool), None),
            Err(refusal) => (None, Some(refusal.reason.as_str())),
        };
        let at_gate =
            || GateSubject::parse(&message.subject).and_then(|of| project?.at_gate(&of.gate));
        let call = message.tool_call_id().filter(|_| reason.is_none());
        let lifetime = self.config.lifetime(tool);
        NewCommand {
            message,
            project: named,
            channel: tokens.get(3).copied(),
            tool: tool.or_else(at_gate).map(|tool| tool.name.as_str()),
            request_id: call.map(|call| request_id(named, call)),
            deadline_ms: message.at_ms
                + i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX / 2),
            reason,
        }
    }

    /// A refused command is seen in the trace.
    fn show_rejected(&self, id: i64) {
        let Ok(command) = self.store.load(id) else {
            return;
        };
        let Some(reason) = &command.reason else {
            return;
        };
        let message = &command.message;
        // One that names no call is named by its place in the stream.
        let place = message.stream_seq.to_string();
        let call = message.tool_call_id().unwrap_or(&place);
        let project = &command.project;
        let turn = message.header("CG-Turn-Id");
        let step = message.header("CG-Step-Id");
        let trace_id = self.trace(project, turn, message.header("traceparent"), call);
        let name = command
            .tool_name
            .clone()
            .unwrap_or_else(|| "tool".to_owned());
        let mut more = serde_json::Map::new();
        more.insert("tool_name".to_owned(), json!(name));
        if let Some(call) = message.tool_call_id() {
            more.insert("call_id".to_owned(), json!(call));
        }
        more.insert(
            "error".to_owned(),
            json!({"type": "rejected", "code": reason}),
        );
        self.span(
            project,
            &Piece {
                trace_id,
                span_id: span_id("call", project, call),
                parent: step
                    .map(|step| span_id("step", project, step))
                    .or_else(|| turn.map(|turn| span_id("turn", project, turn))),
                name: Some(name),
                kind: "tool",
                status: Some("error"),
                at_ms: message.at_ms,
                more,
            },
        );
    }

    fn take_events(self: &Arc<Self>, messages: &[Inbound]) -> rusqlite::Result<()> {
        for message in messages {
            let Some(event) = Event::read(message) else {
                continue;
            };
            if let Some((calls, until)) = event.waits() {
                for call in calls {
                    self.store.note_wait(&event.project, call, until)?;
                    self.waits.wake(&event.project, call);
                }
            }
            let inherited = message.header("traceparent");
            let turn = event.turn.as_deref();
            let trace_id = self.trace(&event.project, turn, inherited, "");
            for piece in event.pieces(message, &trace_id) {
                self.span(&event.project, &piece);
            }
            for card in event.new_cards() {
                let (bridge, project) = (Arc::clone(self), event.project.clone());
                let (card, at_ms) = (card.to_owned(), message.at_ms);
                tokio::spawn(async move { bridge.result(&project, &card, at_ms).await });
            }
        }
        Ok(())
    }

    /// The trace of a command; noted for the events of its turn too, which may name none.
    pub(crate) fn trace_of(&self, project: &str, message: &Inbound) -> String {
        let (turn, own) = (message.header("CG-Turn-Id"), message.header("traceparent"));
        self.trace(
            project,
            turn,
            own,
            message.tool_call_id().unwrap_or_default(),
        )
    }

    /// The trace of an event: its own, else the turn's known one, else one made of the turn.
    fn trace(
        &self,
        project: &str,
        turn: Option<&str>,
        inherited: Option<&str>,
        call: &str,
    ) -> String {
        let own = inherited
            .filter(|text| is_traceparent(text))
            .and_then(|text| text.split('-').nth(1));
        let made = trace_of_turn(project, turn.unwrap_or(call));
        match (own, turn) {
            (Some(own), Some(turn)) => {
                let _ = self.store.trace_of(project, turn, own);
                own.to_owned()
            }
            (Some(own), None) => own.to_owned(),
            (None, Some(turn)) => self.store.trace_of(project, turn, &made).unwrap_or(made),
            (None, None) => made,
        }
    }

    /// A result card ends the span of its call.
    async fn result(&self, project: &str, card: &str, at_ms: i64) {
        let Some(of) = self.config.project(project) else {
            return;
        };
        let Ok(_reading) = self.readings.acquire().await else {
            return;
        };
        let Ok(Card::Found(card)) = api::card(&self.http, of, card).await else {
            return;
        };
        let text = |pointer: &str| card.pointer(pointer).and_then(Value::as_str);
        let (Some("tool.result"), Some(call), Some(status)) = (
            text("/type"),
            text("/tool_call_id"),
            text("/content/status"),
        ) else {
            return;
        };
        let code = text("/content/error/code");
        let status = spans::of_result(status, code);
        let id = span_id("call", project, call);
        let known = self
            .store
            .span(project, &id, |known| known.unwrap_or(Value::Null));
        let Ok(Some(trace)) = known.map(|span| span["trace_id"].as_str().map(str::to_owned)) else {
            return;
        };
        let mut more = serde_json::Map::new();
        if let Some(result) = card
            .pointer("/content/result")
            .filter(|result| !result.is_null())
        {
            let mut shown = result.to_string();
            shown.truncate(shown.floor_char_boundary(64 * 1024));
            more.insert(
                "output".to_owned(),
                json!([{"m_type": "text", "m_content": shown}]),
            );
        }
        if let Some(code) = code {
            more.insert(
                "error".to_owned(),
                json!({"code": code, "message": text("/content/error/message")}),
            );
        }
        self.span(
            project,
            &Piece {
                trace_id: trace,
                span_id: id,
                parent: None,
                name: None,
                kind: "tool",
                status: Some(status),
                at_ms,
                more,
            },
        );
    }

    /// Joins and sends a span. A span decides nothing: what fails here is logged.
    pub(crate) fn span(&self, project: &str, piece: &Piece) {
        let whole = self.store.span(project, &piece.span_id, |known| {
            spans::join(known.filter(|span| !span.is_null()), piece)
        });
        match (whole, self.gates.get(project)) {
            (Ok(span), Some(gate)) => gate.span(&spans::wire(span)),
            (Err(error), _) => tracing::info!("a span was not kept: {error}"),
            (Ok(_), None) => {}
        }
    }
}
