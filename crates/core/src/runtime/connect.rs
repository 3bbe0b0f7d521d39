//! Meets the bus, and keeps to it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use countersign_wire::without_login;

use super::{App, Options, Role};
use crate::Fault;
use crate::bus::{Bus, BusOptions, Credentials};
use crate::clock::BusClock;
use crate::data_dir::{DataDir, RuntimeInfo};
use crate::identity::Identity;
use crate::ops::{Link, anchor_task};

const FIRST_RETRY: Duration = Duration::from_millis(250);
/// Servers come and go.
const CLUSTER_LOOK: Duration = Duration::from_secs(5);
const LONGEST_RETRY: Duration = Duration::from_secs(10);

fn bus_options(
    role: Role,
    options: &Options,
    data: &DataDir,
    identity: &Identity,
) -> Result<BusOptions, Fault> {
    let beside = || data.read_runtime().filter(|_| role != Role::Console);
    let (url, credentials) = match &options.nats_url {
        Some(url) => {
            let url = beside().map_or(url.clone(), |info| info.with_cluster(url));
            (url, options.credentials.clone())
        }
        None => {
            let info = data.read_runtime().ok_or_else(|| {
                Fault::bus_unreachable(
                    "no console runs in this data folder; start it with `countersign serve`",
                )
            })?;
            let seed = identity
                .login
                .seed()
                .map_err(|_| Fault::environment("the login key has no seed; put it back from a backup, or begin with a new data folder"))?;
            (info.nats_url, Credentials::NkeySeed(seed))
        }
    };
    Ok(BusOptions {
        url,
        credentials,
        tls: options.tls.clone(),
        console_id: identity.console_id.to_string(),
        allow_single_account: options.allow_single_account,
    })
}

/// Informs other processes of the folder which servers the cluster has: the one that was named may be away. Cancelled
/// with the console.
async fn follow_cluster(outside: RuntimeInfo, data: DataDir, bus: Bus) {
    let mut reconnected = bus.reconnected();
    let mut reported = Vec::new();
    loop {
        let servers = bus.cluster();
        if servers != reported {
            reported.clone_from(&servers);
            let info = RuntimeInfo {
                servers,
                ..outside.clone()
            };
            if let Err(error) = data.write_runtime(&info) {
                tracing::warn!(%error, "commands do not learn which servers the cluster has");
            }
        }
        tokio::select! {
            changed = reconnected.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(CLUSTER_LOOK) => {}
        }
    }
}

impl App {
    /// Best effort: a reader says "not connected", and why, instead of failing.
    pub(super) async fn meet_bus(&self, clock: &BusClock) {
        let inner = &self.inner;
        let met = async {
            let (data, identity) = (&inner.data, &inner.shared.identity);
            let mut options = bus_options(inner.role, &inner.options, data, identity)?;
            // A process that only looks decides nothing that could be forged, and must report the risk.
            options.allow_single_account = true;
            Ok::<_, Fault>(Bus::connect_in_order(options).await?)
        };
        match met.await {
            Ok(bus) => {
                clock.follow(bus.clock().clone());
                inner.shared.bus.send_replace(Some(bus));
            }
            Err(error) => *inner.not_met.lock() = Some(error.to_string()),
        }
    }

    pub(super) async fn connect(&self, clock: &BusClock) -> Result<(), Fault> {
        let inner = &self.inner;
        if let Some(server) = &inner.server {
            let info = RuntimeInfo::own(server.url(), server.pid(), inner.options.passing);
            inner.data.write_runtime(&info)?;
        } else if inner.role == Role::Console
            && let Some(url) = &inner.options.nats_url
        {
            let info = RuntimeInfo::own(without_login(url), None, inner.options.passing);
            inner.data.write_runtime(&info)?;
        }
        let (data, identity) = (&inner.data, &inner.shared.identity);
        let options = bus_options(inner.role, &inner.options, data, identity)?;
        let bus = match inner.role {
            Role::Console => Bus::connect(options).await?,
            // Those that the cluster names may not be reached from here.
            Role::Beside | Role::Reader => Bus::connect_in_order(options).await?,
        };
        clock.follow(bus.clock().clone());
        inner.shared.bus.send_replace(Some(bus.clone()));
        if inner.role != Role::Console {
            // The console of this folder compares; what it found is in the store.
            inner.shared.compared.send_replace(true);
            return Ok(());
        }
        let link = Link {
            shared: Arc::clone(&inner.shared),
            bus: bus.clone(),
            stop: inner.stop.clone(),
            cut_off: Arc::clone(&inner.cut_off),
        };
        let first = link.join().await?;
        inner.tasks.spawn(link.run(first));
        // Whatever holds this connection after a join that failed would keep it open beside that of the next try.
        self.spawn_follow_cluster(bus.clone());
        inner.tasks.spawn(anchor_task(
            Arc::clone(&inner.shared),
            bus,
            inner.stop.clone(),
        ));
        Ok(())
    }

    fn spawn_follow_cluster(&self, bus: Bus) {
        let inner = &self.inner;
        let Some(url) = &inner.options.nats_url else {
            return;
        };
        let outside = RuntimeInfo::own(without_login(url), None, inner.options.passing);
        let (data, stop) = (inner.data.clone(), inner.stop.clone());
        inner.tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = follow_cluster(outside, data, bus) => {}
            }
        });
    }

    /// Publishes again what the own server has lost, where this start follows a power cut. Until that was tried, a stop
    /// keeps the mark of it for the next start.
    pub(super) async fn recover_after_power_cut(&self) {
        if self.inner.cut_off.load(Relaxed) {
            self.recover_the_last_moments().await;
            self.inner.cut_off.store(false, Relaxed);
        }
    }

    /// Informs other processes of the folder when the server was started again.
    pub(super) async fn follow_server(self) {
        let Some(server) = &self.inner.server else {
            return;
        };
        let mut state = server.state();
        loop {
            tokio::select! {
                () = self.inner.stop.cancelled() => return,
                changed = state.changed() => if changed.is_err() { return },
            }
            let passing = self.inner.options.passing;
            let info = RuntimeInfo::own(server.url(), server.pid(), passing);
            if let Err(error) = self.inner.data.write_runtime(&info) {
                tracing::warn!(%error, "other processes do not learn of the server's restart");
            }
        }
    }

    /// Tries until the bus answers or the console stops.
    pub(super) fn keep_connecting(self, clock: Arc<BusClock>) {
        let stop = self.inner.stop.clone();
        let tasks = self.inner.tasks.clone();
        // A strong handle here would keep the console alive for ever.
        let weak = Arc::downgrade(&self.inner);
        drop(self);
        tasks.spawn(async move {
            let mut wait = FIRST_RETRY;
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(wait) => {}
                }
                let Some(inner) = weak.upgrade() else { return };
                let app = App { inner };
                match app.connect(&clock).await {
                    Ok(()) => {
                        tokio::select! {
                            () = stop.cancelled() => {}
                            () = app.recover_after_power_cut() => {}
                        }
                        return;
                    }
                    Err(error) => tracing::warn!(%error, "the bus is still out of reach"),
                }
                wait = (wait * 2).min(LONGEST_RETRY);
            }
        });
    }
}
