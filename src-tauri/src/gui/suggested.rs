//! The search for suggestions, beside the window: it may read many decisions.
//!
//! It ends when nobody asks for its result any more, and a result counts as new for a short time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use countersign_core::App;
use countersign_core::ops::suggest::Suggestion;
use countersign_wire::WorkspaceName;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// A result counts as new for this long, while the rules stay as they are.
const FRESH: Duration = Duration::from_secs(5);
/// Who looks waits so long for the result.
const WAIT: Duration = Duration::from_millis(400);
/// A search that nobody looked at for so long ends.
const LEFT: Duration = Duration::from_secs(10);

type Found = Result<Arc<Vec<Suggestion>>, String>;

struct Walk {
    workspace: WorkspaceName,
    /// Of the rules that it held the calls against.
    revision: u64,
    looked: AtomicU64,
    asked_at: Mutex<Instant>,
    ended: Mutex<Option<(Instant, Found)>>,
    done: Notify,
}

impl Walk {
    fn is_of_use(&self, workspace: &WorkspaceName, revision: u64) -> bool {
        let same = self.workspace == *workspace && self.revision == revision;
        let fresh = match &*self.ended.lock() {
            None => true,
            Some((at, Ok(_))) => at.elapsed() < FRESH,
            Some((_, Err(_))) => false,
        };
        same && fresh
    }

    fn found(&self) -> Option<Found> {
        self.ended.lock().as_ref().map(|(_, found)| found.clone())
    }
}

/// How far a search is.
pub(crate) struct Seen {
    pub(crate) looked: u64,
    /// None while it goes on.
    pub(crate) found: Option<Found>,
}

/// The last search.
#[derive(Default)]
pub(crate) struct Suggested(Mutex<Option<Arc<Walk>>>);

impl Suggested {
    /// What is suggested under these rules, or how far the search is; begins it where there is none.
    pub(crate) async fn look(&self, app: &App, workspace: &WorkspaceName, revision: u64) -> Seen {
        let walk = self.of(app, workspace, revision);
        *walk.asked_at.lock() = Instant::now();
        let done = walk.done.notified();
        if walk.found().is_none() {
            // Not in time: whoever looks asks again.
            let _ = tokio::time::timeout(WAIT, done).await;
        }
        Seen {
            looked: walk.looked.load(Ordering::SeqCst),
            found: walk.found(),
        }
    }

    fn of(&self, app: &App, workspace: &WorkspaceName, revision: u64) -> Arc<Walk> {
        let mut last = self.0.lock();
        if let Some(walk) = last.as_ref().filter(|of| of.is_of_use(workspace, revision)) {
            return Arc::clone(walk);
        }
        let walk = Arc::new(Walk {
            workspace: workspace.clone(),
            revision,
            looked: AtomicU64::new(0),
            asked_at: Mutex::new(Instant::now()),
            ended: Mutex::new(None),
            done: Notify::new(),
        });
        *last = Some(Arc::clone(&walk));
        tokio::spawn(search(app.clone(), Arc::clone(&walk)));
        walk
    }
}

async fn search(app: App, walk: Arc<Walk>) {
    let reported = |looked| {
        walk.looked.store(looked, Ordering::SeqCst);
        walk.asked_at.lock().elapsed() < LEFT
    };
    let found = app.suggest_rules(&walk.workspace, reported).await;
    let found = found.map(Arc::new).map_err(|error| error.to_string());
    *walk.ended.lock() = Some((Instant::now(), found));
    walk.done.notify_waiters();
}
