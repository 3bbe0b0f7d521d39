//! Prometheus metrics and health of one console over HTTP, on a listener of its own.
//!
//! Nothing that it sends names an agent, a tool or a person.

mod connections;
mod page;
mod routes;
#[cfg(test)]
mod tests;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use countersign_domain::metrics::{Stored, Waiting};
use countersign_wire::Sha256Digest;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use connections::Connections;
use routes::Pages;
use tls::Tls;

/// How often the log is read, so that a page has little left to count.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// The console whose metrics these are.
pub trait Desk: Send + Sync + 'static {
    /// Whether its writer runs.
    fn is_alive(&self) -> bool;
    /// Why it is not ready, in stable words; none where it is.
    fn not_ready(&self) -> Vec<&'static str>;
    /// What it is like now; none where that cannot be read.
    fn figures(&self) -> impl Future<Output = Option<Figures>> + Send;
    /// A page of what was stored after a place of its log (none: its last start), and the place where the page ends:
    /// the same place when nothing follows.
    fn stored_after(
        &self,
        place: Option<i64>,
    ) -> impl Future<Output = Option<(Vec<Stored>, i64)>> + Send;
}

/// What a console is like at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Requests that wait, by risk.
    pub waiting: Vec<Waiting>,
    /// Alarms that nobody acknowledged, by code.
    pub alarms: Vec<(String, i64)>,
    /// Messages that are not projected, by stream; none where the bus does not say.
    pub lag: Vec<(String, Option<u64>)>,
    /// The feeds of the settings.
    pub feeds: Vec<FeedFigures>,
    /// Gauges without a label, by the names of the page; 0 where one is missing.
    pub plain: Vec<(&'static str, i64)>,
}

/// What a feed is like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedFigures {
    /// Its name in the settings.
    pub name: String,
    /// Events that are not settled.
    pub pending: i64,
    /// Age of the oldest of them, s.
    pub oldest_s: i64,
    /// Tries since the process began, by result.
    pub tries: [(&'static str, u64); 4],
}

/// Where it listens, and who may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Address and port.
    pub listen: SocketAddr,
    /// Digest of the token that `/metrics` needs.
    pub token: Option<Sha256Digest>,
    /// Files of certificate and key; without them nothing is encrypted.
    pub tls: Option<(PathBuf, PathBuf)>,
}

/// Why it cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The address cannot be had.
    #[error("cannot listen on {0} for metrics: {1}; choose another address with --metrics")]
    Listen(SocketAddr, io::Error),
    /// Certificate or key cannot be used.
    #[error("{0}; see tls_cert and tls_key under [metrics] in config.toml")]
    Tls(String),
}

/// Metrics that are served.
#[derive(Debug)]
pub struct Metrics {
    /// Where.
    pub address: SocketAddr,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Metrics {
    /// Listens, and counts from the console's last start on. `version` is the program's.
    pub async fn start(
        options: Options,
        desk: impl Desk,
        version: &str,
    ) -> Result<Self, MetricsError> {
        let tls = options.tls.map(Tls::read).transpose();
        let tls = tls.map_err(MetricsError::Tls)?;
        let failed = |error| MetricsError::Listen(options.listen, error);
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let pages = Arc::new(Pages::new(desk, version));
        let token = options.token;
        let router = routes::router(Arc::clone(&pages), token, address.ip().is_loopback());
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(Connections::new(tls, router, stop.clone()).serve(listener));
        let stopped = stop.clone();
        tasks.spawn(async move {
            let counting = async {
                loop {
                    tokio::time::sleep(COUNT_EVERY).await;
                    pages.count().await;
                }
            };
            tokio::select! {
                () = stopped.cancelled() => {}
                () = counting => {}
            }
        });
        Ok(Self {
            address,
            stop,
            tasks,
        })
    }

    /// Ends what is under way, and stops.
    pub async fn stop(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}
