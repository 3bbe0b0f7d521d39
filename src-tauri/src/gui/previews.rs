//! Simulations that the window began: one at a time, looked at and ended by its number.
//!
//! Only the last one is kept, and only a complete one is evidence.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use countersign_core::App;
use countersign_core::domain::Timestamp;
use countersign_core::ops::simulate::Progress;
use countersign_core::policy::Rule;
use countersign_core::policy::preview::Preview;
use countersign_wire::WorkspaceName;
use parking_lot::{Mutex, MutexGuard};

/// How a simulation ended.
pub(crate) type Ended = Result<Preview, String>;

struct Running {
    number: u64,
    workspace: WorkspaceName,
    rule: Rule,
    /// Nothing older was left out.
    whole: bool,
    done: AtomicU64,
    of: AtomicU64,
    cancelled: AtomicBool,
    ended: Mutex<Option<Ended>>,
}

impl Running {
    fn ended(&self) -> Option<Ended> {
        let place = self.ended.lock();
        place.clone()
    }
}

/// How far a simulation is.
pub(crate) struct Seen {
    pub(crate) done: u64,
    pub(crate) of: u64,
    pub(crate) ended: Option<Ended>,
}

/// The last simulation.
#[derive(Default)]
pub(crate) struct Previews {
    last: Mutex<Option<Arc<Running>>>,
    numbers: AtomicU64,
}

impl Previews {
    /// Begins one and ends the one before.
    pub(crate) fn start(
        &self,
        app: &App,
        workspace: WorkspaceName,
        rule: Rule,
        since: Option<Timestamp>,
    ) -> u64 {
        let number = self.numbers.fetch_add(1, Ordering::SeqCst) + 1;
        let running = Arc::new(Running {
            number,
            workspace: workspace.clone(),
            rule: rule.clone(),
            whole: since.is_none_or(|since| app.now().since_ms(since) >= EVIDENCE_MS),
            done: AtomicU64::new(0),
            of: AtomicU64::new(0),
            cancelled: AtomicBool::new(false),
            ended: Mutex::new(None),
        });
        let before = self.place().replace(Arc::clone(&running));
        if let Some(before) = before {
            before.cancelled.store(true, Ordering::SeqCst);
        }
        let app = app.clone();
        tokio::spawn(async move {
            let reported = Arc::clone(&running);
            let progress = move |Progress { done, of }: Progress| {
                reported.done.store(done, Ordering::SeqCst);
                reported.of.store(of, Ordering::SeqCst);
                !reported.cancelled.load(Ordering::SeqCst)
            };
            let found = app.preview_rule(&workspace, rule, since, progress).await;
            let ended = found.map_err(|error| error.to_string());
            let mut place = running.ended.lock();
            *place = Some(ended);
        });
        number
    }

    /// How far it is; none for one that is not the last.
    pub(crate) fn look(&self, number: u64) -> Option<Seen> {
        let running = self.of(number)?;
        Some(Seen {
            done: running.done.load(Ordering::SeqCst),
            of: running.of.load(Ordering::SeqCst),
            ended: running.ended(),
        })
    }

    /// Ends it, if it still runs.
    pub(crate) fn stop(&self, number: u64) {
        if let Some(running) = self.of(number) {
            running.cancelled.store(true, Ordering::SeqCst);
        }
    }

    /// What the last simulation found, if it was of this rule and over the time that a person is shown.
    pub(crate) fn evidence(&self, workspace: &WorkspaceName, rule: &Rule) -> Option<Preview> {
        let running = self.place().clone()?;
        // Whether it acts is what the operator decides now.
        let same = Rule {
            enabled: rule.enabled,
            ..running.rule.clone()
        };
        let is_of = running.whole && running.workspace == *workspace && same.says_the_same(rule);
        running.ended().filter(|_| is_of)?.ok()
    }

    fn place(&self) -> MutexGuard<'_, Option<Arc<Running>>> {
        self.last.lock()
    }

    fn of(&self, number: u64) -> Option<Arc<Running>> {
        self.place()
            .clone()
            .filter(|running| running.number == number)
    }
}

/// A simulation needs this much time to be evidence: 90 days.
const EVIDENCE_MS: i64 = 90 * Timestamp::DAY_MS;
