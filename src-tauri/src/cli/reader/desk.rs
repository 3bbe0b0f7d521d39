//! The second reader beside a console: gives it waiting calls, and keeps what it makes of them.

use countersign_core::domain::reader::ReaderNote;
use countersign_core::ops::reader;
use countersign_core::store::reader as table;
use countersign_core::{App, AppEvent};
use countersign_reader::config::Config;
use countersign_reader::{Before, Call, Desk, run};
use countersign_wire::{ApprovalRequest, escape};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::super::show::scrutiny::compared;
use super::names::without_names;
use super::switch::source;
use countersign_view::secrets::{Secrets, hide_under, hiding};

/// Of a denial's message.
const WHY: usize = 200;
/// What rules and keys answer is answered by then, also by another console.
const AUTOMATIC_MS: i64 = 2_000;
/// `2026-11-28`.
const DAY: usize = 10;

/// The reader of a running console; it follows the settings in `config.toml`.
#[derive(Debug)]
pub struct SecondReader {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl SecondReader {
    /// Starts to follow them. Readings are guarded by this program's own `reader guard`.
    #[must_use]
    pub fn start(app: &App) -> Self {
        hide_under(app.identity().hiding());
        let stop = CancellationToken::new();
        let desk = ConsoleDesk {
            events: Mutex::new(app.subscribe()),
            app: app.clone(),
        };
        let task = tokio::spawn(run(desk, source(app.data().path()), stop.clone()));
        Self { stop, task }
    }

    /// Ends what is under way.
    pub async fn stop(self) {
        self.stop.cancel();
        // Its end is written, or the next start does that.
        let _ = self.task.await;
    }
}

struct ConsoleDesk {
    app: App,
    events: Mutex<Receiver<AppEvent>>,
}

impl ConsoleDesk {
    async fn earlier(&self, line: &Line, most: usize) -> Option<Vec<Value>> {
        let mut names: Vec<String> = self
            .app
            .trusted_keys()
            .into_iter()
            .map(|of| of.name)
            .collect();
        names.push(self.app.identity().operator.clone());
        let found = reader::earlier(&self.app, line, most).await.ok()?;
        names.extend(found.iter().filter_map(|earlier| earlier.by.clone()));
        // The newest come first.
        let calls = found.into_iter().rev().map(|earlier| {
            let args = hiding().json(&earlier.args);
            let Some(why) = earlier.why else {
                return json!({ "args": args, "approved": true });
            };
            // Hidden first: a name in a secret would leave the rest of it.
            let why = escape(&without_names(&hiding().text(&why), &names)).plain();
            let why: String = why.chars().take(WHY).collect();
            json!({ "args": args, "approved": false, "why": why })
        });
        Some(calls.collect())
    }
}

type Line = countersign_core::domain::facts::RequestSummary;

impl Desk for ConsoleDesk {
    fn now(&self) -> i64 {
        self.app.now().0
    }

    async fn changed(&self) {
        let mut events = self.events.lock().await;
        loop {
            match events.recv().await {
                Ok(AppEvent::Changed { .. }) | Err(RecvError::Lagged(_)) => return,
                Ok(AppEvent::Status) => {}
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }

    async fn waiting(&self, config: &Config) -> Option<Vec<(i64, i64, bool)>> {
        // Until then what waits may have been decided.
        let _ = self.app.caught_up().wait_for(|known| *known).await;
        let workspaces = json!(config.workspaces).to_string();
        let before = self.app.now().0 - AUTOMATIC_MS;
        let store = reader::store(&self.app);
        table::waiting(store, &workspaces, before).await.ok()
    }

    async fn call(&self, row: i64, earlier: usize) -> Option<(String, Call)> {
        let line = self.app.lines(&[row]).await.ok()?.pop()?;
        let request: ApprovalRequest = serde_json::from_slice(&line.raw).ok()?;
        let (tool, args) = (request.tool?, request.args?);
        if !matches!(line.state.as_str(), "pending" | "holding") {
            return None;
        }
        let found = self.app.scrutiny(&line).await.ok()??;
        let compared = found.compared.map(|of| compared(&of, Secrets::Hidden));
        let hidden = hiding().json(&args);
        // A value is cut there, and what is left of a secret does not look like one.
        let is_whole = |effect: &String| !effect.contains('…') || hidden == args;
        let call = Call {
            tool: hiding().text(&tool.name),
            effect: (found.effect.filter(is_whole)).map(|of| Secrets::Hidden.sentence(&of)),
            args: hidden,
            differs: compared.map(|mut of| of["differs"].take()),
            earlier: self.earlier(&line, earlier).await?,
            today: self.app.now().rfc3339().chars().take(DAY).collect(),
        };
        Some((line.key()?.to_string(), call))
    }

    async fn asked_since(&self, after: i64) -> Option<i64> {
        let store = reader::store(&self.app);
        table::asked_since(store, after).await.ok()
    }

    async fn before(&self) -> Before {
        let store = reader::store(&self.app);
        Before {
            state: table::state(store).await.unwrap_or_default(),
            unanswered: table::under_way(store).await.unwrap_or_default(),
        }
    }

    async fn note(&self, note: ReaderNote) -> bool {
        let kept = reader::note(&self.app, note).await;
        if let Err(error) = &kept {
            tracing::warn!(%error, "what the second reader did is not written");
        }
        kept.is_ok()
    }
}
