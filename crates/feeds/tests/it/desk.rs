//! A console without a bus: a store, a clock that the test moves, and what is written in between.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use countersign_domain::Timestamp;
use countersign_feeds::config::{self, Feed};
use countersign_feeds::event::Sender;
use countersign_feeds::{Desk, begin, run};
use countersign_store::audit::{Entry, append};
use countersign_store::feed_events::{KeptEvent, of_feed};
use countersign_store::feeds::{FeedNote, FeedRow, all, keep};
use countersign_store::{Reader, Writer, open};
use serde_json::{Value, json};
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// 2026-11-28T12:00:00.000Z.
pub(crate) const BEGIN: i64 = 1_795_867_200_000;

#[derive(Clone)]
pub(crate) struct TestDesk(Arc<Inner>);

struct Inner {
    folder: tempfile::TempDir,
    writer: Mutex<Writer>,
    reader: Reader,
    sender: Sender,
    now: AtomicI64,
    changed: Notify,
    is_read_only: AtomicBool,
    is_held: AtomicBool,
    waits: AtomicBool,
    pub(crate) caught_up: AtomicBool,
    notes: Mutex<Vec<FeedNote>>,
}

impl TestDesk {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (writer, reader) = open(&folder.path().join("countersign.db")).await.unwrap();
        let desk = Self(Arc::new(Inner {
            folder,
            writer: Mutex::new(writer),
            reader,
            sender: Sender {
                realm: "0193c6d1-0000-7000-8000-000000000001".to_owned(),
                console: "0123456789abcdef".to_owned(),
                shown: |text| text.replace('\u{202e}', "\\u{202e}"),
            },
            now: AtomicI64::new(BEGIN),
            changed: Notify::new(),
            is_read_only: AtomicBool::new(false),
            is_held: AtomicBool::new(false),
            waits: AtomicBool::new(false),
            caught_up: AtomicBool::new(true),
            notes: Mutex::default(),
        }));
        desk.log("console_start", "console", json!({})).await;
        desk
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.folder.path()
    }

    pub(crate) fn feeds(&self, text: &str) -> Vec<Feed> {
        config::read(text, self.path()).unwrap()
    }

    /// Appends a row to the audit log.
    pub(crate) async fn log(&self, action: &'static str, subject: &str, detail: Value) {
        self.log_all(vec![(action, subject.to_owned(), detail)])
            .await;
    }

    pub(crate) async fn log_all(&self, rows: Vec<(&'static str, String, Value)>) {
        let entries: Vec<Entry> = rows
            .into_iter()
            .map(|(action, subject, detail)| Entry {
                at: Timestamp(self.now()),
                actor: "UAUTO".to_owned(),
                action,
                subject,
                detail,
            })
            .collect();
        let mut writer = self.0.writer.lock().await;
        let tx = writer.begin().unwrap();
        append(&tx, &entries).unwrap();
        tx.commit().unwrap();
        self.0.changed.notify_one();
    }

    pub(crate) fn pass(&self, ms: i64) {
        self.0.now.fetch_add(ms, Ordering::SeqCst);
        self.0.changed.notify_one();
    }

    /// Whoever asks for the time waits, as on a machine that is busy; returns once a feed does.
    pub(crate) async fn hold(&self) {
        self.0.is_held.store(true, Ordering::SeqCst);
        until(async || self.0.waits.load(Ordering::SeqCst)).await;
    }

    pub(crate) fn go_on(&self) {
        self.0.waits.store(false, Ordering::SeqCst);
        self.0.is_held.store(false, Ordering::SeqCst);
    }

    pub(crate) fn takes_no_writes(&self, on: bool) {
        self.0.is_read_only.store(on, Ordering::SeqCst);
    }

    pub(crate) fn has_caught_up(&self, known: bool) {
        self.0.caught_up.store(known, Ordering::SeqCst);
    }

    pub(crate) async fn row(&self, name: &str) -> FeedRow {
        let rows = all(&self.0.reader).await.unwrap();
        rows.into_iter().find(|row| row.name == name).unwrap()
    }

    pub(crate) async fn kept(&self, name: &str) -> Vec<KeptEvent> {
        of_feed(&self.0.reader, name).await.unwrap()
    }

    pub(crate) async fn failing(&self) -> Option<bool> {
        self.0
            .notes
            .lock()
            .await
            .iter()
            .filter_map(|note| note.failing)
            .next_back()
    }

    pub(crate) async fn audited(&self) -> Vec<String> {
        let notes = self.0.notes.lock().await;
        let states = notes.iter().filter_map(|note| note.audit.as_ref());
        states
            .map(|(detail, _)| detail["state"].as_str().unwrap().to_owned())
            .collect()
    }

    /// As a command does it.
    pub(crate) async fn change(&self, name: &str, change: impl FnOnce(&mut FeedRow)) {
        let row = self.row(name).await;
        let (mut changed, read) = (row.clone(), row.revision);
        change(&mut changed);
        changed.revision += 1;
        let note = FeedNote {
            feed: name.to_owned(),
            row: Some((changed, read)),
            ..FeedNote::default()
        };
        assert!(self.note(note).await);
    }

    /// Returns whether it was written: nobody had changed the feed meanwhile.
    pub(crate) async fn kept_note(&self, note: &FeedNote) -> bool {
        let mut writer = self.0.writer.lock().await;
        let tx = writer.begin().unwrap();
        let written = keep(&tx, note, self.now()).unwrap();
        tx.commit().unwrap();
        written
    }

    pub(crate) async fn start(&self, settings: &str) -> Running {
        let feeds = self.feeds(settings);
        assert!(begin(self, &feeds).await.unwrap());
        let stop = CancellationToken::new();
        let tasks = feeds
            .into_iter()
            .map(|feed| tokio::spawn(run(self.clone(), feed, stop.clone())));
        Running {
            tasks: tasks.collect(),
            stop,
        }
    }
}

/// Feeds at work.
pub(crate) struct Running {
    tasks: Vec<JoinHandle<()>>,
    stop: CancellationToken,
}

impl Running {
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        for task in self.tasks {
            task.await.unwrap();
        }
    }

    /// As a kill: nothing is written any more.
    pub(crate) async fn kill(self) {
        for task in self.tasks {
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        }
    }
}

impl Desk for TestDesk {
    fn now(&self) -> i64 {
        if self.0.is_held.load(Ordering::SeqCst) {
            self.0.waits.store(true, Ordering::SeqCst);
            tokio::task::block_in_place(|| {
                while self.0.is_held.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
            });
        }
        self.0.now.load(Ordering::SeqCst)
    }

    fn store(&self) -> &Reader {
        &self.0.reader
    }

    fn sender(&self) -> &Sender {
        &self.0.sender
    }

    fn folder(&self) -> &Path {
        self.path()
    }

    fn is_caught_up(&self) -> bool {
        self.0.caught_up.load(Ordering::SeqCst)
    }

    async fn changed(&self) {
        self.0.changed.notified().await;
    }

    async fn note(&self, note: FeedNote) -> bool {
        if self.0.is_read_only.load(Ordering::SeqCst) {
            return false;
        }
        if self.kept_note(&note).await {
            self.0.notes.lock().await.push(note);
        }
        true
    }
}

/// Waits for what must come.
pub(crate) async fn until(mut holds: impl AsyncFnMut() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(120), async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "it did not come");
}
