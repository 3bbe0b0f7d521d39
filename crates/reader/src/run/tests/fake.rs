//! A console and a model for the tests of a reader. Time is the test's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::super::*;
use crate::{Known, Said};

pub(super) const ON: &str = "[reader]\nworkspaces = [\"acme\"]\nendpoint = \"http://127.0.0.1:1/\"\nmodel = \"m\"\ntimeout_s = 60\n";
pub(super) const NOTHING: &str = r#"{"findings": []}"#;

#[derive(Default)]
pub(super) struct Table {
    /// Row, deadline, and whether it is for people.
    pub(super) waiting: BTreeMap<i64, (i64, bool)>,
    pub(super) rows: BTreeMap<i64, Reading>,
    pub(super) asked_at: Vec<i64>,
    pub(super) log: Vec<String>,
    pub(super) state: ReaderState,
    pub(super) largest_note: usize,
    /// Happens as a call is written as asked.
    pub(super) as_asked: Option<fn(&mut Table, i64, &PathBuf)>,
}

/// A data folder with a table.
#[derive(Clone)]
pub(super) struct Console {
    pub(super) folder: Arc<TempDir>,
    table: Arc<Mutex<Table>>,
    begun: Instant,
}

impl Console {
    pub(super) fn new() -> Self {
        Self {
            folder: Arc::new(tempfile::tempdir().unwrap()),
            table: Arc::default(),
            begun: Instant::now(),
        }
    }

    pub(super) fn set(&self, settings: &str) {
        fs::write(self.folder.path().join("config.toml"), settings).unwrap();
    }

    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Table) -> T) -> T {
        work(&mut self.table.lock())
    }

    pub(super) fn waits(&self, rows: impl IntoIterator<Item = i64>) {
        let rows = rows.into_iter().map(|row| (row, (row, true)));
        self.with(|table| table.waiting.extend(rows));
    }

    pub(super) fn of(&self, reading: Reading) -> BTreeSet<i64> {
        let is = |(row, of): (&i64, &Reading)| (*of == reading).then_some(*row);
        self.with(|table| table.rows.iter().filter_map(is).collect())
    }

    /// Waits until it holds; minutes pass in no time.
    pub(super) async fn until(&self, holds: impl Fn(&Self) -> bool) {
        for _ in 0..3_000 {
            if holds(self) {
                return;
            }
            sleep(Duration::from_millis(100)).await;
        }
        let seen = self.with(|table| (table.rows.clone(), table.log.clone()));
        panic!("it stays {seen:?}");
    }

    /// Starts to read with this model.
    pub(super) fn start(&self, http: &Model) -> Run {
        let stop = CancellationToken::new();
        let source = Source {
            folder: self.folder.path().to_owned(),
            guard: Vec::new(),
            knows_code: |_| true,
            http: http.clone(),
        };
        let task = tokio::spawn(run(self.clone(), source, stop.clone()));
        Run { stop, task }
    }
}

pub(super) struct Run {
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Run {
    pub(super) async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

impl Desk for Console {
    fn now(&self) -> i64 {
        i64::try_from(self.begun.elapsed().as_millis()).unwrap()
    }

    async fn changed(&self) {
        pending().await
    }

    async fn waiting(&self, config: &Config) -> Option<Vec<(i64, i64, bool)>> {
        assert_eq!(config.workspaces.len(), 1);
        Some(self.with(|table| {
            let of = |(row, (deadline, is_for_people)): (&i64, &(i64, bool))| {
                (!table.rows.contains_key(row)).then_some((*row, *deadline, *is_for_people))
            };
            table.waiting.iter().filter_map(of).collect()
        }))
    }

    async fn call(&self, row: i64, _: usize) -> Option<(String, Call)> {
        let waits = self.with(|table| table.waiting.contains_key(&row));
        let args = json!({ "row": row });
        waits.then(|| {
            (
                format!("acme/bot/{row}"),
                Call {
                    args,
                    ..Call::default()
                },
            )
        })
    }

    async fn asked_since(&self, after: i64) -> Option<i64> {
        let asked = self.with(|table| table.asked_at.iter().filter(|at| **at > after).count());
        i64::try_from(asked).ok()
    }

    async fn before(&self) -> Before {
        let subject = |row| (row, format!("acme/bot/{row}"));
        let unanswered = self.of(Reading::Asked).into_iter().map(subject).collect();
        let state = self.with(|table| table.state.clone());
        Before { state, unanswered }
    }

    async fn note(&self, note: ReaderNote) -> bool {
        let (now, folder) = (self.now(), self.folder.path().to_owned());
        // As the store's writer: what waits no longer is not asked about, and an answer to it is late.
        self.with(|table| {
            table.largest_note = table.largest_note.max(note.calls.len());
            table.state = note.state.unwrap_or(table.state.clone());
            table
                .log
                .extend(note.audit.map(|row| row.action.to_owned()));
            for call in note.calls {
                let waits = table.waiting.contains_key(&call.request);
                let reading = match call.reading {
                    Reading::Asked if !waits => Reading::Skipped,
                    Reading::Answered if !waits => Reading::Late,
                    reading => reading,
                };
                let before = table.rows.get(&call.request).copied();
                if before.is_some_and(|before| before != Reading::Asked) {
                    continue;
                }
                table.rows.insert(call.request, reading);
                if reading == Reading::Asked {
                    assert_eq!(before, None, "it is asked twice");
                    table.asked_at.push(now);
                    if let Some(happens) = table.as_asked {
                        happens(table, call.request, &folder);
                    }
                }
                let row = call.audit.filter(|_| reading != Reading::Skipped);
                table
                    .log
                    .extend(row.map(|row| format!("{} {}", row.action, call.request)));
            }
        });
        // A write takes its time: others run meanwhile.
        sleep(Duration::from_millis(10)).await;
        true
    }
}

/// A model that answers once it may.
#[derive(Clone)]
pub(super) struct Model(Arc<Asked>);

struct Asked {
    cards: Mutex<Vec<String>>,
    says: Mutex<Said>,
    may_answer: Semaphore,
    reading: AtomicUsize,
}

struct Reads<'a>(&'a AtomicUsize);

impl Drop for Reads<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Model {
    /// One that answers so many times.
    pub(super) fn new(answers: usize) -> Self {
        Self(Arc::new(Asked {
            cards: Mutex::default(),
            says: Mutex::new(Ok((NOTHING.to_owned(), None))),
            may_answer: Semaphore::new(answers),
            reading: AtomicUsize::new(0),
        }))
    }

    pub(super) fn may_answer(&self, answers: usize) {
        self.0.may_answer.add_permits(answers);
    }

    pub(super) fn says(&self, said: Said) {
        *self.0.says.lock() = said;
    }

    /// How many it reads now.
    pub(super) fn reading(&self) -> usize {
        self.0.reading.load(Ordering::SeqCst)
    }

    /// The rows that it was asked about.
    pub(super) fn rows(&self) -> Vec<i64> {
        let row = |card: &String| {
            let card: serde_json::Value = serde_json::from_str(card).unwrap();
            card["args"]["row"].as_i64().unwrap()
        };
        self.0.cards.lock().iter().map(row).collect()
    }
}

impl Http for Model {
    async fn ask(&self, _: &Config, card: &str) -> Said {
        self.0.cards.lock().push(card.to_owned());
        self.0.reading.fetch_add(1, Ordering::SeqCst);
        let _reads = Reads(&self.0.reading);
        self.0.may_answer.acquire().await.unwrap().forget();
        self.0.says.lock().clone()
    }

    async fn models(&self, _: Known) -> Option<Vec<String>> {
        None
    }
}
