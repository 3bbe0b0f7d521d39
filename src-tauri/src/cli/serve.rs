//! `serve`: the console without a window.
//!
//! Standard output gets one line, which says that the console is ready.

use std::io::{self, Write};
use std::time::Duration;

use countersign_core::App;
use countersign_core::ops::realm::log_head;
use countersign_wire::json_ascii_safe;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::config::Settings;
use super::console;
use super::failure::Failure;
use super::feeds::Feeds;
use super::output::Output;
use super::reader::SecondReader;
use crate::metrics;
use crate::otlp::Otlp;

/// How long the past may take to be read before the console says that it is ready.
const READY_LIMIT: Duration = Duration::from_secs(60);

/// Runs until SIGTERM or SIGINT.
pub(crate) async fn run(settings: &Settings, _out: Output) -> Result<(), Failure> {
    let mut stop = Stop::listen()?;
    settings.check_reader()?;
    metrics::check(&settings.metrics)?;
    settings.check_feeds()?;
    let started = App::start(console::options(settings)?);
    let app = tokio::select! {
        app = started => app?,
        () = stop.asked() => return Ok(()),
    };
    let otlp = match Otlp::start(&app, &settings.otlp).await {
        Ok(otlp) => otlp,
        Err(error) => {
            app.shutdown().await;
            return Err(error.into());
        }
    };
    let metrics = match metrics::start(&app, &settings.metrics).await {
        Ok(metrics) => metrics,
        Err(error) => {
            otlp.stop().await;
            app.shutdown().await;
            return Err(error.into());
        }
    };
    let listens = metrics.as_ref().map(|of| of.address.to_string());
    let ready = match ready_line(&app, &otlp, listens).await {
        Ok(ready) => ready,
        Err(failure) => {
            metrics::stop(metrics).await;
            otlp.stop().await;
            app.shutdown().await;
            return Err(failure);
        }
    };
    // Before anybody knows that it is ready: a new feed has what happens from then on.
    let feeds = Feeds::start(&app).await;
    let mut stdout = io::stdout().lock();
    // A console whose ready line nobody reads still does its work.
    let _ = writeln!(stdout, "{}", json_ascii_safe(&ready)).and_then(|()| stdout.flush());
    drop(stdout);
    if let Some(borrowed) = console::borrowed_name(&app) {
        tracing::warn!("{borrowed}");
    }
    let reader = SecondReader::start(&app);
    tracing::info!("ready");
    stop.asked().await;
    tracing::info!("stopping");
    metrics::stop(metrics).await;
    feeds.stop().await;
    reader.stop().await;
    otlp.stop().await;
    app.shutdown().await;
    Ok(())
}

async fn ready_line(app: &App, otlp: &Otlp, metrics: Option<String>) -> Result<Value, Failure> {
    if app.bus().is_some() && !app.ready(READY_LIMIT).await {
        tracing::warn!("still catching up with the bus; nothing is decided until then");
    }
    let agent_json = app.enroll_local().await?;
    let runtime = app.data().read_runtime();
    let mut ready = json!({
        "event": "ready",
        "nats_url": runtime.map(|runtime| runtime.nats_url),
        "data_dir": app.data().path().display().to_string(),
        "realm": app.realm().map(|realm| realm.to_string()),
        "operator_key": app.identity().human_key().as_str(),
        "trusted_keys": app.trusted_keys(),
        "log": log_line(app),
        "agent_json": agent_json.map(|path| path.display().to_string()),
        "metrics": metrics,
    });
    // Scripts that know nothing of OTLP see the line that they know.
    if let Some(listening) = otlp.listening() {
        ready["otlp"] = listening;
    }
    Ok(ready)
}

/// Root and head of the realm log; before entry 1 number 0.
fn log_line(app: &App) -> Value {
    let head = log_head(app);
    json!({ "root": head.root, "n": head.n, "digest": head.digest })
}

/// The signals that end a program in an orderly way. The end of its terminal is one of them, unless
/// whoever started it had that ignored, as `nohup` does.
pub(crate) struct Stop {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
}

impl Stop {
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::environment(format!("signals cannot be listened to: {error}"))
            })
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: match hangup_is_ignored() {
                true => None,
                false => Some(listen(SignalKind::hangup())?),
            },
        })
    }

    /// Waits for one of them.
    pub(crate) async fn asked(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Listening would take back that it is ignored. Where the system does not say, it counts as ignored: then the signal
/// does what it did before.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Bit n - 1 is signal n; SIGHUP is 1.
    mask.is_none_or(|mask| mask & 1 == 1)
}
