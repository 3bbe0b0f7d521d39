//! OTLP beside a console: what other programs' tracing sends becomes events on the bus, and this console's answers are
//! exported to a collector.
//!
//! It listens and sends only where settings say so, and takes part in none of the decisions.

mod export;

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use countersign_core::{App, Fault};
use countersign_otlp::export::{Collector, Destination};
use countersign_otlp::receiver::{NotStored, Options, Receiver, ReceiverError, Sink, Storing};
use countersign_otlp::translate::Event;
use countersign_wire::{AgentKey, Sha256Digest, WorkspaceName};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long a page that is being exported may hold up the end of the console.
const STOP_LIMIT: Duration = Duration::from_secs(2);
/// A token of fewer characters could be guessed.
const TOKEN_MIN: usize = 16;

/// What is switched on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Settings {
    /// None: nothing listens.
    pub(crate) receiver: Option<Listening>,
    /// None: nothing is sent.
    pub(crate) export: Option<Destination>,
}

/// How the receiver is to listen; tokens are read when it starts, since most commands start none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Listening {
    pub(crate) http: Option<SocketAddr>,
    pub(crate) grpc: Option<SocketAddr>,
    pub(crate) allow_remote: bool,
    pub(crate) require_token: bool,
    /// The workspace of senders without a token.
    pub(crate) workspace: WorkspaceName,
    /// Files with one token each.
    pub(crate) token_files: Vec<(AgentKey, PathBuf)>,
}

impl Listening {
    /// # Errors
    /// `ErrorCode::Environment` when a token cannot be used.
    fn options(&self) -> Result<Options, Fault> {
        let mut tokens = HashMap::new();
        for (agent, path) in &self.token_files {
            if tokens.insert(token(path)?, agent.clone()).is_some() {
                return Err(Fault::environment(
                    "two agents under [otlp.token_files] in config.toml have the same token; give each its own",
                ));
            }
        }
        Ok(Options {
            http: self.http,
            grpc: self.grpc,
            allow_remote: self.allow_remote,
            require_token: self.require_token,
            workspace: self.workspace.clone(),
            tokens,
        })
    }
}

/// The digest of the token in a file: the token itself is not kept.
pub(crate) fn token(path: &Path) -> Result<Sha256Digest, Fault> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| {
        Fault::environment(format!("the token file {shown} cannot be read: {error}"))
    })?;
    let token = text.trim();
    if token.len() < TOKEN_MIN {
        return Err(Fault::environment(format!(
            "the token in {shown} has fewer than {TOKEN_MIN} characters; `openssl rand -hex 32` makes one"
        )));
    }
    Ok(Sha256Digest::of_bytes(token.as_bytes()))
}

/// What runs.
pub(crate) struct Otlp {
    receiver: Option<Receiver>,
    exporter: JoinSet<()>,
    stop: watch::Sender<bool>,
}

impl Otlp {
    /// Starts what the settings switch on.
    ///
    /// # Errors
    /// `ErrorCode::Environment` when an address cannot be had, `ErrorCode::Usage` when it may not be used.
    pub(crate) async fn start(app: &App, settings: &Settings) -> Result<Self, Fault> {
        let stop = watch::Sender::new(false);
        let collector = settings.export.as_ref().map(Collector::new).transpose();
        let collector = collector.map_err(|error| Fault::usage(error.to_string()))?;
        let receiver = match &settings.receiver {
            Some(listening) => {
                let sink = Arc::new(Bus(app.clone()));
                let receiver = Receiver::start(listening.options()?, sink).await;
                Some(receiver.map_err(|error| match error {
                    ReceiverError::NotLoopback(_) => Fault::usage(error.to_string()),
                    ReceiverError::Listen { .. } => Fault::environment(error.to_string()),
                })?)
            }
            None => None,
        };
        let mut exporter = JoinSet::new();
        if let Some(collector) = collector {
            exporter.spawn(export::run(app.clone(), collector, stop.subscribe()));
        }
        Ok(Self {
            receiver,
            exporter,
            stop,
        })
    }

    /// Where it listens; none when it does not.
    pub(crate) fn listening(&self) -> Option<Value> {
        let receiver = self.receiver.as_ref()?;
        let shown = |address: Option<SocketAddr>| address.map(|at| at.to_string());
        Some(json!({ "http": shown(receiver.http), "grpc": shown(receiver.grpc) }))
    }

    /// Takes nothing new and lets what was taken end. What was not sent yet is sent after the next start.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        let ended = async { while self.exporter.join_next().await.is_some() {} };
        // A page that is exported and not noted is exported once more.
        if tokio::time::timeout(STOP_LIMIT, ended).await.is_err() {
            self.exporter.shutdown().await;
        }
        if let Some(receiver) = self.receiver {
            receiver.stop().await;
        }
    }
}

/// The stream of events: from there every console of the realm reads them.
struct Bus(App);

impl Sink for Bus {
    fn store(&self, events: Vec<Event>) -> Storing<'_> {
        let events = events
            .into_iter()
            .map(|event| (event.agent, event.payload.into()))
            .collect();
        Box::pin(async move {
            let stored = self.0.relay_events(events).await;
            stored.map_err(|error| {
                tracing::warn!(%error, "spans that came over OTLP are not stored");
                NotStored {
                    why: error.to_string(),
                }
            })
        })
    }
}
