//! Metrics of a console: where they are listened for, and what they are read from.

use std::net::SocketAddr;
use std::path::PathBuf;

use countersign_core::domain::Timestamp;
use countersign_core::domain::metrics::Stored;
use countersign_core::ops::{health, reader};
use countersign_core::store::metrics as table;
use countersign_core::{App, Fault};
use countersign_feeds::config::{Feed, read_in};
use countersign_feeds::{Backlog, RESULTS, tries};
use countersign_metrics::{Desk, FeedFigures, Figures, Metrics, Options};
use tokio::sync::Mutex;

use crate::otlp::token;

/// Rows of the log that are read for the backlogs of feeds, a page.
const BACKLOG_ROWS: usize = 5_000;

/// What is switched on; none: nothing listens.
pub(crate) type Settings = Option<Listening>;

/// As it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Listening {
    pub(crate) listen: SocketAddr,
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
    pub(crate) allow_plain_text: bool,
}

impl Listening {
    /// # Errors
    /// `ErrorCode::Environment` for what other machines would reach unprotected, and for a token that cannot be used.
    fn options(&self) -> Result<Options, Fault> {
        let refused =
            |why: &str| Fault::environment(format!("{why} under [metrics] in config.toml"));
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => Some((cert.clone(), key.clone())),
            (None, None) => None,
            (Some(_), None) => return Err(refused("tls_cert is set without tls_key")),
            (None, Some(_)) => return Err(refused("tls_key is set without tls_cert")),
        };
        if !self.listen.ip().is_loopback() {
            let reached = format!("{} can be reached from other machines", self.listen);
            if self.token_file.is_none() {
                return Err(refused(&format!("{reached}: name a token_file")));
            }
            if tls.is_none() && !self.allow_plain_text {
                let how = "name tls_cert and tls_key, or set allow_plain_text = true,";
                return Err(refused(&format!(
                    "{reached}, and nothing is encrypted: {how}"
                )));
            }
        }
        let token = self.token_file.as_deref().map(token).transpose()?;
        Ok(Options {
            listen: self.listen,
            token,
            tls,
        })
    }
}

/// Checks the settings, before a console is started for nothing.
pub(crate) fn check(settings: &Settings) -> Result<(), Fault> {
    settings
        .as_ref()
        .map(Listening::options)
        .transpose()
        .map(drop)
}

/// Serves them where the settings say so.
///
/// # Errors
/// `ErrorCode::Environment` when the address or a file cannot be used.
pub(crate) async fn start(app: &App, settings: &Settings) -> Result<Option<Metrics>, Fault> {
    let Some(listening) = settings else {
        return Ok(None);
    };
    // One that cannot be read stopped the start.
    let feeds = read_in(app.data().path()).unwrap_or_default();
    let feeds: Vec<_> = feeds
        .into_iter()
        .map(|feed| (feed, Backlog::default()))
        .collect();
    let desk = ConsoleDesk(app.clone(), Mutex::new(feeds));
    let metrics = Metrics::start(listening.options()?, desk, env!("CARGO_PKG_VERSION")).await;
    metrics
        .map(Some)
        .map_err(|error| Fault::environment(error.to_string()))
}

/// Ends them.
pub(crate) async fn stop(metrics: Option<Metrics>) {
    if let Some(metrics) = metrics {
        metrics.stop().await;
    }
}

struct ConsoleDesk(App, Mutex<Vec<(Feed, Backlog)>>);

impl ConsoleDesk {
    async fn feeds(&self, now: i64) -> Option<Vec<FeedFigures>> {
        let (mut figures, mut rows) = (Vec::new(), BACKLOG_ROWS);
        let store = reader::store(&self.0);
        for (feed, backlog) in self.1.lock().await.iter_mut() {
            let counted = backlog.count(store, feed, &mut rows).await;
            let (pending, oldest) = counted.ok()?;
            let oldest = oldest.and_then(|at| Timestamp::parse(&at));
            let tries = tries(&feed.name);
            figures.push(FeedFigures {
                name: feed.name.clone(),
                pending: i64::try_from(pending).unwrap_or(i64::MAX),
                oldest_s: oldest.map_or(0, |at| (now - at.0).max(0) / 1_000),
                tries: std::array::from_fn(|at| (RESULTS[at], tries[at])),
            });
        }
        Some(figures)
    }
}

impl Desk for ConsoleDesk {
    fn is_alive(&self) -> bool {
        health::is_alive(&self.0)
    }

    fn not_ready(&self) -> Vec<&'static str> {
        health::not_ready(&self.0)
    }

    async fn figures(&self) -> Option<Figures> {
        let store = reader::store(&self.0);
        let status = self.0.status().await.ok()?;
        let waiting = table::waiting(store).await.ok()?;
        let oldest = waiting.iter().map(|of| of.oldest_at).min();
        let mut alarms = table::alarms(store).await.ok()?;
        // The one that could not be written.
        let unwritten = status.alarms.first().filter(|alarm| alarm.id == 0);
        alarms.extend(unwritten.map(|alarm| (alarm.code.clone(), 1)));
        let lag = status.streams.into_iter().map(|(name, at)| {
            let left = at
                .last_seq
                .map(|last| last.saturating_sub(at.projected_seq));
            // Those in between were removed.
            (
                name,
                left.map(|left| if at.behind == Some(false) { 0 } else { left }),
            )
        });
        let bytes = i64::try_from(table::bytes(store)).unwrap_or(i64::MAX);
        let age = oldest.map_or(0, |at| (status.at.0 - at).max(0) / 1_000);
        let plain = vec![
            ("oldest_waiting_seconds", age),
            ("bus_connected", status.connected.into()),
            ("caught_up", status.caught_up.into()),
            ("read_only", status.read_only.is_some().into()),
            ("panic", status.controls.panic().is_some().into()),
            ("outbox_decisions", status.outbox),
            ("agents_live", status.agents),
            ("store_bytes", bytes),
        ];
        Some(Figures {
            waiting,
            alarms,
            lag: lag.collect(),
            feeds: self.feeds(status.at.0).await?,
            plain,
        })
    }

    async fn stored_after(&self, place: Option<i64>) -> Option<(Vec<Stored>, i64)> {
        let store = reader::store(&self.0);
        let place = match place {
            Some(place) => place,
            None => {
                let console = self.0.identity().console_id.to_string();
                table::last_start(store, &console).await.ok()?
            }
        };
        table::stored_after(store, place).await.ok()
    }
}
