//! The feeds of a running console.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::App;
use countersign_core::ops::{feeds, reader};
use countersign_core::store::Reader;
use countersign_core::store::feeds::FeedNote;
use countersign_feeds::config::read_in;
use countersign_feeds::event::Sender;
use countersign_feeds::{Desk, begin, run, secret};
use tokio::sync::Mutex;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::super::output::plain;
use countersign_view::secrets::hide_under;

/// What is not known at the start is looked for again.
const AGAIN: Duration = Duration::from_millis(500);

/// The feeds of `config.toml`, as they were at the start.
pub struct Feeds {
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Feeds {
    /// Fixes where new feeds begin, if that is known already, and starts all.
    pub async fn start(app: &App) -> Self {
        hide_under(app.identity().hiding());
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let desk = ConsoleDesk::of(app);
        let wanted = read_in(app.data().path()).unwrap_or_else(|fault| {
            tracing::error!("config.toml, {fault}; no feed is sent");
            Vec::new()
        });
        if !wanted.is_empty()
            && let Err(error) = secret::make_folder(app.data().path())
        {
            tracing::error!(%error, "the folder of the feeds cannot be made");
        }
        let begun = begin(&desk, &wanted).await;
        let (stopped, all, app) = (stop.clone(), tasks.clone(), app.clone());
        tasks.spawn(async move {
            let mut begun = begun;
            while !matches!(begun, Ok(true)) {
                tokio::select! { () = sleep(AGAIN) => {}, () = stopped.cancelled() => return }
                begun = begin(&desk, &wanted).await;
            }
            for feed in wanted {
                all.spawn(run(ConsoleDesk::of(&app), feed, stopped.clone()));
            }
        });
        Self { stop, tasks }
    }

    /// Ends what is under way: what is not known as taken is sent again by the next start.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

#[derive(Clone)]
pub(super) struct ConsoleDesk {
    app: App,
    sender: Sender,
    events: Arc<Mutex<Receiver<countersign_core::AppEvent>>>,
}

impl ConsoleDesk {
    pub(super) fn of(app: &App) -> Self {
        let events = Arc::new(Mutex::new(app.subscribe()));
        Self {
            app: app.clone(),
            sender: sender(app),
            events,
        }
    }
}

/// Who sends the events of a console.
pub(super) fn sender(app: &App) -> Sender {
    Sender {
        realm: app
            .realm()
            .map(|realm| realm.to_string())
            .unwrap_or_default(),
        console: app.identity().console_id.to_string(),
        shown: plain,
    }
}

impl Desk for ConsoleDesk {
    fn now(&self) -> i64 {
        self.app.now().0
    }

    fn store(&self) -> &Reader {
        reader::store(&self.app)
    }

    fn sender(&self) -> &Sender {
        &self.sender
    }

    fn folder(&self) -> &Path {
        self.app.data().path()
    }

    fn is_caught_up(&self) -> bool {
        *self.app.caught_up().borrow()
    }

    async fn changed(&self) {
        if matches!(
            self.events.lock().await.recv().await,
            Err(RecvError::Closed)
        ) {
            std::future::pending::<()>().await;
        }
    }

    async fn note(&self, note: FeedNote) -> bool {
        let kept = feeds::note(&self.app, note).await;
        if let Err(error) = &kept {
            tracing::warn!(%error, "how far a feed is cannot be written; it rests");
        }
        // One that a command has changed begins anew.
        kept.is_ok()
    }
}
