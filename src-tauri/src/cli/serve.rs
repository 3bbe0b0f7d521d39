//! `serve`: the console without a window.
//!
//! Refuses to print anything on standard output but the one line that says it is ready.

use std::io::{self, Write};

use countersign_core::store::{self, Reader, StoreError, meta, policy};
use countersign_core::{App, OpError};
use countersign_wire::{OperatorList, TrustedKey, json_ascii_safe};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::config::Settings;
use super::console;
use super::failure::Failure;
use super::output::Output;

/// Runs until SIGTERM or SIGINT.
pub(crate) async fn run(settings: &Settings, _out: Output) -> Result<(), Failure> {
    let mut stop = Stop::listen()?;
    let started = App::start(console::options(settings)?);
    let app = tokio::select! {
        app = started => app?,
        () = stop.asked() => return Ok(()),
    };
    let ready = match ready_line(&app).await {
        Ok(ready) => ready,
        Err(failure) => {
            app.shutdown().await;
            return Err(failure);
        }
    };
    let mut stdout = io::stdout().lock();
    // A console whose ready line nobody reads still does its work.
    let _ = writeln!(stdout, "{}", json_ascii_safe(&ready)).and_then(|()| stdout.flush());
    drop(stdout);
    tracing::info!("ready");
    stop.asked().await;
    tracing::info!("stopping");
    app.shutdown().await;
    Ok(())
}

async fn ready_line(app: &App) -> Result<Value, Failure> {
    let agent_json = app.enroll_local().await?;
    let runtime = app.data().read_runtime();
    let reader = store::open_read_only(&app.data().database()).await.map_err(OpError::from)?;
    let known = known(app, &reader).await.map_err(OpError::from);
    reader.close().await;
    let (realm, trusted_keys) = known?;
    Ok(json!({
        "event": "ready",
        "nats_url": runtime.map(|runtime| runtime.nats_url),
        "data_dir": app.data().path().display().to_string(),
        "realm": realm,
        "operator_key": app.identity().human_key().as_str(),
        "trusted_keys": trusted_keys,
        "agent_json": agent_json.map(|path| path.display().to_string()),
    }))
}

/// The realm, and the keys that agents are to trust: this console's and those of the realm's list.
async fn known(app: &App, reader: &Reader) -> Result<(Option<String>, Vec<TrustedKey>), StoreError> {
    let realm = meta::get(reader, meta::REALM).await?;
    let mut keys = app.identity().trusted_keys();
    let list = policy::get(reader, "operators").await?;
    let list = list.and_then(|row| serde_json::from_slice::<OperatorList>(&row.payload).ok());
    for entry in list.into_iter().flat_map(|list| list.operators) {
        if entry.until.is_none() && keys.iter().all(|known| known.key != entry.key) {
            keys.push(TrustedKey { key: entry.key, name: entry.name, role: entry.role });
        }
    }
    Ok((realm, keys))
}

/// The signals that end a program in an orderly way.
pub(crate) struct Stop {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
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
        })
    }

    /// Waits for one of them.
    pub(crate) async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
