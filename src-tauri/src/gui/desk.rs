//! State that the commands of the window share.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use countersign_core::App;
use countersign_core::domain::facts::RequestDetails;
use countersign_view::{IpcError, NotifyLevel, OtlpView};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::exports::Exports;
use super::kept::Kept;
use super::practice::{self, Deck, Named};
use super::previews::Previews;
use super::suggested::Suggested;
use crate::cli::reader::marks_of;
use countersign_view::Production;
use countersign_view::secrets::hide_under;
use countersign_view::window::CardDetails;
use countersign_view::window::fault;

/// Who reports that the desktop session is locked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Locked {
    /// Its screen saver.
    pub(crate) by_saver: bool,
    /// What keeps account of sessions.
    pub(crate) by_logind: bool,
}

impl Locked {
    /// Either is enough.
    pub(crate) fn is_on(self) -> bool {
        self.by_saver || self.by_logind
    }
}

/// The window's hold on the console.
pub(crate) struct Desk {
    pub(crate) app: App,
    /// Enrolment file of the local agent; none on an outside server.
    pub(crate) agent_json: Option<PathBuf>,
    /// What was switched on of OTLP when the console was started.
    pub(crate) otlp: OtlpView,
    /// Where its metrics are read.
    pub(crate) metrics: Option<String>,
    /// Which workspaces are marked as production.
    pub(crate) production: Production,
    /// Key of the digests shown for hidden values; only this console can compute them.
    pub(crate) hiding_key: [u8; 32],
    /// Which desktop notifications are wanted.
    pub(crate) notify_level: watch::Sender<NotifyLevel>,
    /// Simulations of rules.
    pub(crate) previews: Previews,
    /// Practice cards.
    pub(crate) practice: Deck,
    /// Cards that the page read last.
    pub(crate) kept: Kept,
    /// Exports of the history.
    pub(crate) exports: Exports,
    /// Rules that are suggested.
    pub(crate) suggested: Suggested,
    /// Somebody asked in the tray to turn panic off.
    pub(crate) panic_asked: Notify,
    /// Held while the saved searches are read and written.
    pub(crate) searches: tokio::sync::Mutex<()>,
    /// What the desktop reports of its session, if anything.
    pub(crate) locked: watch::Sender<Locked>,
    batches: AtomicU64,
    listener: Mutex<Option<JoinHandle<()>>>,
}

impl Desk {
    pub(crate) fn new(
        app: App,
        agent_json: Option<PathBuf>,
        (otlp, metrics): (OtlpView, Option<String>),
        production: Production,
    ) -> Self {
        hide_under(app.identity().hiding());
        Self {
            hiding_key: app.identity().hiding().key(),
            app,
            agent_json,
            otlp,
            metrics,
            production,
            notify_level: watch::Sender::default(),
            previews: Previews::default(),
            practice: Deck::new(),
            kept: Kept::default(),
            exports: Exports::default(),
            suggested: Suggested::default(),
            panic_asked: Notify::new(),
            searches: tokio::sync::Mutex::new(()),
            locked: watch::Sender::default(),
            batches: AtomicU64::new(0),
            listener: Mutex::new(None),
        }
    }

    /// Number of the last batch that was sent.
    pub(crate) fn last_batch(&self) -> u64 {
        self.batches.load(Ordering::SeqCst)
    }

    /// Number of the batch that is sent now.
    pub(crate) fn next_batch(&self) -> u64 {
        self.batches.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Puts a listener in the place of the one before: there is one page.
    pub(crate) fn listen(&self, listener: Option<JoinHandle<()>>) {
        let mut place = self.listener.lock();
        if let Some(before) = std::mem::replace(&mut *place, listener) {
            before.abort();
        }
    }

    /// The window is gone.
    pub(crate) fn close(&self) {
        self.listen(None);
    }

    /// One request with everything that is known of it, or a practice card.
    pub(crate) async fn story(&self, key: &str) -> Result<CardDetails, IpcError> {
        let story = self.shown(key).await?;
        let scrutiny = self.app.scrutiny(&story.line).await.map_err(fault)?;
        let marks = marks_of(&self.app, &story).await.map(|of| of.1);
        CardDetails::read(
            story,
            scrutiny.unwrap_or_default(),
            marks.unwrap_or_default(),
        )
    }

    /// The same as the core has it.
    pub(crate) async fn shown(&self, key: &str) -> Result<RequestDetails, IpcError> {
        match self.practice.named(key) {
            Named::Real(key) => self.app.show(&key).await.map_err(fault),
            Named::Practice { line, source } => {
                let source = self.app.show(&source).await.map_err(fault)?;
                Ok(practice::story(source, *line))
            }
        }
    }

    /// Names in the audit log what was opened of a request; of a practice card under the key of its call.
    pub(crate) async fn log_reveal(&self, key: &str, detail: Value) -> Result<(), IpcError> {
        let key = self.practice.named(key).request();
        let logged = self.app.record("reveal", key, detail).await;
        logged.map_err(fault)
    }
}
