//! The running application: one cheap handle for the window, the command line and the tests.
//!
//! One console runs in a data folder.

mod connect;
mod ended;
mod offline;
mod options;
mod shared;
mod start;
mod writing;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use countersign_wire::TrustedKey;
use parking_lot::Mutex;
use tokio::sync::{broadcast, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::Fault;
use crate::bus::{Bus, EmbeddedServer};
use crate::data_dir::{ConsoleLock, DataDir};
use crate::identity::Identity;
use crate::ops::job::Job;
use crate::ops::presence;
use crate::ops::realm::join::settled;
use crate::ops::{Tx, WriterState};
use crate::store::Reader;
use crate::store::StoreError;

pub(crate) use ended::{joined, stopped};
pub use options::{Options, WAITING_LIMIT};
pub(crate) use shared::Shared;
pub use shared::{AppEvent, Health, Positions, StreamPlace};
pub(crate) use start::access;

/// What this process is to its data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Holds the lock: projects, releases, lets expire.
    Console,
    /// Works beside a process that does.
    Beside,
    /// Only reads.
    Reader,
}

/// A handle; clones share one application.
#[derive(Clone)]
pub struct App {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) role: Role,
    pub(crate) data: DataDir,
    pub(crate) options: Options,
    pub(crate) shared: Arc<Shared>,
    pub(crate) server: Option<EmbeddedServer>,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
    /// Taken out when the console stops: the folder is free then, whoever still has a handle.
    pub(crate) lock: Mutex<Option<ConsoleLock>>,
    /// Why one that only reads did not meet the bus.
    pub(crate) not_met: Mutex<Option<String>>,
    /// Whether what the own server lost in a power cut has yet to be published again.
    pub(crate) cut_off: Arc<AtomicBool>,
    /// Held while the logins of the embedded server are reloaded.
    pub(crate) reloading: tokio::sync::Mutex<()>,
}

impl App {
    /// What this process is to its data folder.
    #[must_use]
    pub fn role(&self) -> Role {
        self.inner.role
    }

    /// The data folder.
    #[must_use]
    pub fn data(&self) -> &DataDir {
        &self.inner.data
    }

    /// Whether this process holds the lock of the folder.
    pub(crate) fn holds_folder(&self) -> bool {
        self.inner.lock.lock().is_some()
    }

    /// How it was started.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Who this console is.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.inner.shared.identity
    }

    /// The realm, once this folder has met a bus.
    #[must_use]
    pub fn realm(&self) -> Option<Uuid> {
        self.inner.shared.realm()
    }

    /// The keys in force, as the realm log names them.
    #[must_use]
    pub fn trusted_keys(&self) -> Vec<TrustedKey> {
        self.inner.shared.trusted.in_force()
    }

    /// Waits until everything that was stored before is known, the console is read-only, the connection is gone, or
    /// `limit` has passed; returns whether it is known. A newcomer is given a moment to be let in.
    pub async fn ready(&self, limit: std::time::Duration) -> bool {
        let (mut caught_up, mut health) = (self.caught_up(), self.health());
        let known = async {
            tokio::select! {
                biased;
                done = caught_up.wait_for(|done| *done) => done.is_ok(),
                _ = health.wait_for(|health| health.read_only.is_some()) => false,
                () = self.is_cut_off() => false,
            }
        };
        let known = tokio::time::timeout(limit, known).await.unwrap_or(false);
        if known {
            settled(&self.inner.shared).await;
        }
        known
    }

    /// Whether this console is connected and still reads what happened on its bus: what it knows as waiting may have
    /// been decided. Without a connection the last that was known counts.
    #[must_use]
    pub fn reads_the_past(&self) -> bool {
        let connected = self.bus().is_some_and(|bus| bus.state().borrow().connected);
        self.inner.role == Role::Console
            && connected
            && !*self.inner.shared.caught_up.borrow()
            && self.inner.shared.health.borrow().read_only.is_none()
    }

    /// Waits until the connection is gone.
    pub(crate) async fn is_cut_off(&self) {
        if let Some(bus) = self.bus() {
            // A state that nobody reports any more is the end of the connection.
            let _ = bus.state().wait_for(|state| !state.connected).await;
        }
    }

    /// The server's time now.
    #[must_use]
    pub fn now(&self) -> crate::domain::Timestamp {
        self.inner.shared.clock.now()
    }

    /// What happens from now on. A subscriber that falls behind gets an error and reads everything anew.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<AppEvent> {
        self.inner.shared.events.subscribe()
    }

    /// Whether everything that was stored before the console connected is projected; not so from the loss of a
    /// connection on, until it is there again and what happened meanwhile is read.
    #[must_use]
    pub fn caught_up(&self) -> watch::Receiver<bool> {
        self.inner.shared.caught_up.subscribe()
    }

    /// Whether changes can be written.
    #[must_use]
    pub fn health(&self) -> watch::Receiver<Health> {
        self.inner.shared.health.subscribe()
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.inner.shared.reader
    }

    /// The connection, once there is one.
    #[must_use]
    pub fn bus(&self) -> Option<Bus> {
        self.inner.shared.bus.borrow().clone()
    }

    /// Why the bus was not met by a process that only reads; without one it goes on.
    #[must_use]
    pub fn why_not_met(&self) -> Option<String> {
        self.inner.not_met.lock().clone()
    }

    /// The embedded server, where this process runs one.
    #[must_use]
    pub fn embedded_server(&self) -> Option<&EmbeddedServer> {
        self.inner.server.as_ref()
    }

    pub(crate) async fn submit(&self, job: Job) -> Result<(), Fault> {
        self.inner
            .shared
            .jobs
            .send(job)
            .await
            .map_err(|_| stopped())
    }

    /// Does `work` in a transaction, and answers once it is durable.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` when nothing could be written.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriterState, &mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> impl Future<Output = Result<T, Fault>> {
        let (job, answer) = Job::asked(work);
        async move {
            self.submit(job).await?;
            self.answer(answer).await
        }
    }

    /// Waits for the writer's answer; without one nothing was written.
    pub(crate) async fn answer<T>(&self, reply: oneshot::Receiver<T>) -> Result<T, Fault> {
        if let Ok(answer) = reply.await {
            return Ok(answer);
        }
        // The caller is released a moment before the reason is known.
        let mut health = self.health();
        let reported = health.wait_for(|health| health.store_failed.is_some());
        match tokio::time::timeout(std::time::Duration::from_secs(1), reported).await {
            Ok(Ok(health)) => Err(Fault::read_only(
                health.store_failed.clone().unwrap_or_default(),
            )),
            _ => Err(stopped()),
        }
    }

    /// Writes an entry into the audit log (a reveal, an export).
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` when it cannot be written.
    pub async fn record(
        &self,
        action: &'static str,
        subject: String,
        detail: serde_json::Value,
    ) -> Result<(), Fault> {
        self.ask(move |writer, batch| {
            let me = writer.identity.human_key().to_string();
            batch.record(me, action, subject, detail);
            Ok(())
        })
        .await
    }

    /// An entry for the end of this run. A console that cannot write one has a start without an end, as
    /// one that was killed.
    async fn record_stop(&self) {
        let console = self.identity().console_id.to_string();
        let written = self.record("console_stop", console, serde_json::json!({}));
        match tokio::time::timeout(start::STOP_LIMIT, written).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the stop of the console is not audited"),
            Err(_) => tracing::warn!("the stop of the console is not audited"),
        }
    }

    /// Gives decisions and votes that other processes left in the outbox a moment to reach the stream.
    async fn send_what_is_queued(&self) {
        let connected = self.bus().is_some_and(|bus| bus.state().borrow().connected);
        if !connected || self.health().borrow().read_only.is_some() {
            return;
        }
        let empty = async {
            while !matches!(crate::store::outbox::under_way(self.reader()).await, Ok(0)) {
                tokio::time::sleep(start::QUEUE_LOOK).await;
            }
        };
        // What is not sent in time stays in the outbox for the next start.
        let _ = tokio::time::timeout(start::QUEUE_LIMIT, empty).await;
    }

    /// Stops: drops what is only held, writes what is written, ends the embedded server and gives the folder back. For
    /// all its handles.
    pub async fn shutdown(self) {
        if self.inner.role == Role::Console {
            self.send_what_is_queued().await;
            self.record_stop().await;
            // Nobody anchors while nobody runs.
            self.anchor().await;
        }
        let (done, written) = oneshot::channel();
        if self.inner.role != Role::Reader {
            let stopping = async {
                if self.submit(Job::Stop(done)).await.is_ok() {
                    // A writer that does not answer has ended.
                    let _ = written.await;
                }
            };
            if tokio::time::timeout(start::STOP_LIMIT, stopping)
                .await
                .is_err()
            {
                tracing::warn!("the last changes may not be written");
            }
        }
        self.inner.stop.cancel();
        self.inner.tasks.close();
        let ended = tokio::time::timeout(start::STOP_LIMIT, self.inner.tasks.wait()).await;
        if ended.is_err() {
            tracing::warn!("some tasks did not end in time");
        }
        if let Some(bus) = self.bus() {
            if self.inner.role == Role::Console {
                presence::end(&self.inner.shared, &bus).await;
            }
            bus.close().await;
        }
        // A long read that still runs ends with the process.
        let closed = tokio::time::timeout(start::STOP_LIMIT, self.inner.shared.reader.close());
        if closed.await.is_err() {
            tracing::warn!("a read did not end in time");
        }
        // What stays shows the next start the power cut, as it showed it to this one.
        if self.inner.role == Role::Console && !self.inner.cut_off.load(Relaxed) {
            self.inner.data.remove_runtime();
        }
        if let Some(server) = &self.inner.server {
            server.stop().await;
        }
        // What still runs may write: then the folder is free when this process ends.
        if ended.is_ok() {
            drop(self.inner.lock.lock().take());
        }
    }
}
