//! Exports of the history that the window began: looked at and ended by their number.
//!
//! The audit log records an export before data leaves, and an unfinished file is removed.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use countersign_core::domain::history::HistoryFilter;
use countersign_core::{App, Fault};
use parking_lot::Mutex;

use crate::export::{self, Format};
use crate::unfinished::Unfinished;

/// How long the index of words and references is brought up to date before somebody is asked whether to go on.
const INDEXING: Duration = Duration::from_secs(1);

/// One export.
pub(crate) struct Running {
    file: PathBuf,
    done: AtomicU64,
    cancelled: AtomicBool,
    ended: Mutex<Option<Result<(), String>>>,
}

impl Running {
    pub(crate) fn to(file: PathBuf) -> Self {
        Self {
            file,
            done: AtomicU64::new(0),
            cancelled: AtomicBool::new(false),
            ended: Mutex::new(None),
        }
    }

    /// Where it is written.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Requests that were written.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::SeqCst)
    }

    /// How it ended; none while it runs.
    pub(crate) fn ended(&self) -> Option<Result<(), String>> {
        self.ended.lock().clone()
    }

    /// Ends it before its next page.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
    }

    fn goes_on(&self) -> Result<(), Fault> {
        match self.cancelled.load(Ordering::SeqCst) {
            true => Err(Fault::failed(
                "the export was cancelled; no file was written".to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// Writes all that passes a filter, page by page.
    pub(crate) async fn write(
        &self,
        app: &App,
        filter: &HistoryFilter,
        format: Format,
    ) -> Result<(), Fault> {
        let failed = |error: std::io::Error| {
            Fault::environment(format!(
                "{}: {error}; no file was written",
                self.file.display()
            ))
        };
        while app.catch_up_search(INDEXING).await? > 0 {
            self.goes_on()?;
        }
        export::record(app, format).await?;
        let unfinished = Unfinished::create(&self.file)?;
        let mut to = BufWriter::new(unfinished.open().map_err(failed)?);
        let mut after = None;
        loop {
            self.goes_on()?;
            let piece = export::piece(app, filter, format, after).await?;
            to.write_all(&piece.bytes).map_err(failed)?;
            let count = u64::try_from(piece.ids.len()).unwrap_or(0);
            self.done.fetch_add(count, Ordering::SeqCst);
            match piece.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        to.flush().map_err(failed)?;
        unfinished.finish(&self.file).map_err(failed)
    }
}

/// Those that run, and those that ended since the last one began.
#[derive(Default)]
pub(crate) struct Exports {
    known: Mutex<BTreeMap<u64, Arc<Running>>>,
    numbers: AtomicU64,
}

impl Exports {
    /// Begins to write all that passes a filter.
    pub(crate) fn start(
        &self,
        app: &App,
        filter: HistoryFilter,
        format: Format,
        file: PathBuf,
    ) -> u64 {
        let number = self.numbers.fetch_add(1, Ordering::SeqCst) + 1;
        let running = Arc::new(Running::to(file));
        let mut known = self.known.lock();
        known.retain(|_, before| before.ended().is_none());
        known.insert(number, Arc::clone(&running));
        let app = app.clone();
        tokio::spawn(async move {
            let ended = running.write(&app, &filter, format).await;
            *running.ended.lock() = Some(ended.map_err(|error| error.to_string()));
        });
        number
    }

    /// The export of a number.
    pub(crate) fn look(&self, number: u64) -> Option<Arc<Running>> {
        self.known.lock().get(&number).cloned()
    }

    /// Ends it, if it still runs.
    pub(crate) fn stop(&self, number: u64) {
        if let Some(running) = self.look(number) {
            running.cancel();
        }
    }
}
