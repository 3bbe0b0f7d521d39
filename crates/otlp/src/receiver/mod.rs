//! The receiver: OTLP over HTTP and gRPC.
//!
//! It answers "done" only after the sink has stored a request whole, holds a bounded amount at a time, and does not
//! speak to web pages.

mod connections;
mod decode;
mod grpc;
mod http;
mod intake;
mod json;
mod status;
mod weight;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use countersign_wire::{AgentKey, Sha256Digest, WorkspaceName};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::translate::Event;
use connections::Connections;
use intake::Intake;

/// Bytes of an export request, after decompression.
pub const BODY_MAX: usize = 16 * 1024 * 1024;
/// How long requests that were taken may need to end when the receiver stops.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Where events go.
pub trait Sink: Send + Sync + 'static {
    /// Stores them all, or says why not; what was stored by then may be sent again without harm.
    fn store(&self, events: Vec<Event>) -> Storing<'_>;
}

/// A sink at work.
pub type Storing<'a> = Pin<Box<dyn Future<Output = Result<(), NotStored>> + Send + 'a>>;

/// The sink cannot store now; the sender keeps what it has and tries again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct NotStored {
    /// For the log and the sender; holds no secret.
    pub why: String,
}

/// Where to listen and whom to believe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// OTLP over HTTP, protobuf and JSON.
    pub http: Option<SocketAddr>,
    /// OTLP over gRPC.
    pub grpc: Option<SocketAddr>,
    /// Listen on other than loopback addresses too.
    pub allow_remote: bool,
    /// Take nothing without a token.
    pub require_token: bool,
    /// The workspace of senders without a token.
    pub workspace: WorkspaceName,
    /// The agent of each token, by the token's SHA-256.
    pub tokens: HashMap<Sha256Digest, AgentKey>,
}

/// The receiver cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ReceiverError {
    /// Not a loopback address.
    #[error(
        "{0} can be reached from other machines, and OTLP is not encrypted; use a loopback address such as 127.0.0.1, or set allow_remote under [otlp] in config.toml"
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}; is another collector running there?")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
}

/// A receiver at work.
#[derive(Debug)]
pub struct Receiver {
    /// Where it listens for HTTP.
    pub http: Option<SocketAddr>,
    /// Where it listens for gRPC.
    pub grpc: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    servers: JoinSet<()>,
}

impl Receiver {
    /// Listens.
    pub async fn start(options: Options, sink: Arc<dyn Sink>) -> Result<Self, ReceiverError> {
        let http = listen(options.http, options.allow_remote).await?;
        let grpc = listen(options.grpc, options.allow_remote).await?;
        let address = |bound: &Option<TcpListener>| {
            let bound = bound.as_ref()?;
            bound.local_addr().ok()
        };
        let stop = watch::Sender::new(false);
        let mut receiver = Self {
            http: address(&http),
            grpc: address(&grpc),
            stop: stop.clone(),
            servers: JoinSet::new(),
        };
        let intake = Arc::new(Intake::new(options, sink));
        let connections = Connections::new();
        if let Some(listener) = http {
            let taken = (listener, connections.clone());
            let served = http::serve(taken, Arc::clone(&intake), stopped(stop.subscribe()));
            receiver.servers.spawn(served);
        }
        if let Some(listener) = grpc {
            let taken = (listener, connections);
            let served = grpc::serve(taken, intake, stopped(stop.subscribe()));
            receiver.servers.spawn(served);
        }
        Ok(receiver)
    }

    /// Takes nothing new, lets what was taken end, and stops.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let ended = async { while self.servers.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_LIMIT, ended).await.is_err() {
            tracing::warn!(
                "some OTLP requests did not end in time; their senders will repeat them"
            );
            self.servers.shutdown().await;
        }
    }
}

/// Ends when the receiver is to stop.
async fn stopped(mut stop: watch::Receiver<bool>) {
    // Without a sender there is nobody to serve for either.
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn listen(
    address: Option<SocketAddr>,
    allow_remote: bool,
) -> Result<Option<TcpListener>, ReceiverError> {
    let Some(address) = address else {
        return Ok(None);
    };
    if !address.ip().is_loopback() && !allow_remote {
        return Err(ReceiverError::NotLoopback(address));
    }
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(Some(listener)),
        Err(source) => Err(ReceiverError::Listen { address, source }),
    }
}

#[cfg(test)]
mod tests;
