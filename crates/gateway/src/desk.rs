//! The asks of one agent: who may see and change them, one at a time each.
//!
//! A change is kept before anybody learns it, and goes on when the client that wanted it goes away.

mod calling;
mod follow;
mod table;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_sdk::AskHandle;
use countersign_wire::{AgentKey, RequestId};
use tokio::sync::watch;
use uuid::Uuid;

use crate::ask::{Ask, Keep, State};
use crate::body::HelloBody;
use crate::callback::Callbacks;
use crate::fault::{self, Fault};
use crate::journal::Journal;
use crate::link::{Link, MOST_WAITING};
use crate::moment::Moment;
use table::Table;

/// An agent's asks, and the way to its bus.
pub(crate) struct Desk {
    pub(crate) agent: AgentKey,
    pub(crate) realm: Uuid,
    journal: Arc<Journal>,
    pub(crate) link: watch::Receiver<Link>,
    callbacks: Arc<Callbacks>,
    table: Mutex<Table>,
    /// Counts changes.
    changes: watch::Sender<u64>,
}

/// One ask.
pub(crate) struct Cell {
    /// Whoever changes it has its turn; the first is held until the ask is on the disk.
    turn: Arc<tokio::sync::Mutex<()>>,
    ask: Mutex<Ask>,
    /// Of the wait under way.
    handle: Mutex<Option<AskHandle>>,
    waiting: AtomicBool,
    reporting: AtomicBool,
    calling: AtomicBool,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cell {
    fn new(ask: Ask) -> Arc<Self> {
        Arc::new(Self {
            turn: Arc::default(),
            ask: Mutex::new(ask),
            handle: Mutex::default(),
            waiting: AtomicBool::new(false),
            reporting: AtomicBool::new(false),
            calling: AtomicBool::new(false),
        })
    }

    /// The ask as it is kept.
    pub(crate) fn ask(&self) -> Ask {
        lock(&self.ask).clone()
    }

    /// Whether it is on the disk.
    fn is_kept(&self) -> bool {
        lock(&self.ask).seq > 0
    }

    pub(crate) fn state(&self, now: &Moment) -> State {
        lock(&self.ask).state(now)
    }
}

impl Desk {
    pub(crate) fn new(
        agent: AgentKey,
        realm: Uuid,
        journal: Arc<Journal>,
        link: watch::Receiver<Link>,
        callbacks: Arc<Callbacks>,
    ) -> Self {
        Self {
            agent,
            realm,
            journal,
            link,
            callbacks,
            table: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }

    /// Goes on with what an earlier process left.
    pub(crate) fn resume(self: &Arc<Self>, asks: &[Ask]) {
        let own = |ask: &&Ask| ask.agent == self.agent && ask.realm == self.realm;
        for ask in asks.iter().filter(own) {
            let cell = Cell::new(ask.clone());
            lock(&self.table).enter(ask, Arc::clone(&cell));
            self.go_on(&cell);
        }
        tokio::spawn(Arc::clone(self).look_after());
    }

    /// The ask of this id.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<Cell>, Fault> {
        let id: RequestId = id.parse().map_err(|_| fault::not_found())?;
        let cell = lock(&self.table).get(&id);
        let kept = cell.filter(|cell| cell.is_kept());
        kept.ok_or_else(fault::not_found)
    }

    /// The asks in a state, oldest first.
    pub(crate) fn list(&self, state: State, limit: usize) -> Vec<Ask> {
        let cells = lock(&self.table).first(state, limit, &Moment::now());
        cells.into_iter().map(|cell| cell.ask()).collect()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The ask of the key of this one, and whether it is this one.
    pub(crate) async fn ask(self: &Arc<Self>, ask: Ask) -> Result<(Arc<Cell>, bool), Fault> {
        let about = ask.about;
        let made = {
            let mut table = lock(&self.table);
            match table.of_key(&ask.key) {
                Some(cell) => Err(cell),
                None => {
                    if table.count(State::Waiting) >= MOST_WAITING {
                        return Err(fault::too_many_waiting());
                    }
                    self.link.borrow().gate()?;
                    let cell = Cell::new(ask);
                    let turn = Arc::clone(&cell.turn).try_lock_owned();
                    let turn = turn.map_err(|_| fault::journal_failed())?;
                    table.enter(&cell.ask(), Arc::clone(&cell));
                    Ok((cell, turn))
                }
            }
        };
        match made {
            Ok((cell, turn)) => {
                let (desk, kept) = (Arc::clone(self), Arc::clone(&cell));
                // Not ended by a client that goes away.
                let begun = tokio::spawn(async move {
                    let begun = desk.begin(&kept).await;
                    drop(turn);
                    begun
                });
                begun
                    .await
                    .unwrap_or_else(|_| Err(fault::journal_failed()))?;
                Ok((cell, true))
            }
            Err(cell) => {
                // Until it is on the disk.
                drop(cell.turn.lock().await);
                let ask = cell.ask();
                if ask.about != about {
                    return Err(fault::key_conflict());
                }
                match ask.seq {
                    0 => Err(fault::journal_failed()),
                    _ => Ok((cell, false)),
                }
            }
        }
    }

    /// Keeps a new ask, then waits for its answer.
    async fn begin(self: &Arc<Self>, cell: &Arc<Cell>) -> Result<(), Fault> {
        let mut ask = cell.ask();
        ask.seq = 1;
        if self.kept(&ask, Keep::Flushed).await.is_ok() {
            *lock(&cell.ask) = ask;
            self.go_on(cell);
            self.changes.send_modify(|count| *count += 1);
            return Ok(());
        }
        // Half of it may be there. Where that cannot be removed the key stays taken: a later process would publish it.
        let (journal, id) = (Arc::clone(&self.journal), ask.id.clone());
        let removed = tokio::task::spawn_blocking(move || journal.remove(&id)).await;
        if removed.is_ok_and(|removed| removed.is_ok()) {
            lock(&self.table).leave(&ask);
        }
        Err(fault::journal_failed())
    }

    /// Keeps what the agent says of itself, for the next process.
    pub(crate) async fn keep_hello(&self, hello: &HelloBody) -> Result<(), Fault> {
        let (journal, agent) = (Arc::clone(&self.journal), self.agent.clone());
        let hello = serde_json::to_value(hello).unwrap_or_default();
        let kept = tokio::task::spawn_blocking(move || journal.keep_hello(&agent, &hello)).await;
        match kept {
            Ok(Ok(())) => Ok(()),
            _ => Err(fault::journal_failed()),
        }
    }

    /// Changes an ask and keeps the change; `step` says how.
    pub(crate) async fn change<T: Send + 'static>(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        step: impl FnOnce(&mut Ask, &Moment) -> Result<(T, Keep), Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (desk, cell) = (Arc::clone(self), Arc::clone(cell));
        // Not ended by a client that goes away.
        let changed = tokio::spawn(async move {
            let _turn = cell.turn.lock().await;
            let mut ask = cell.ask();
            // Not written yet, or removed: nothing writes it again.
            if ask.seq == 0 {
                return Err(fault::not_found());
            }
            let (outcome, keep) = step(&mut ask, &Moment::now())?;
            if keep != Keep::Nothing {
                ask.seq += 1;
                let kept = desk.kept(&ask, keep).await;
                if keep == Keep::Flushed {
                    kept?;
                }
                desk.put(&cell, ask);
            }
            Ok(outcome)
        });
        changed
            .await
            .unwrap_or_else(|_| Err(fault::journal_failed()))
    }

    async fn kept(&self, ask: &Ask, keep: Keep) -> Result<(), Fault> {
        let (journal, ask) = (Arc::clone(&self.journal), ask.clone());
        let id = ask.id.clone();
        let kept = tokio::task::spawn_blocking(move || journal.keep(&ask, keep)).await;
        let why = match kept {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::error!(request = %id, "the ask could not be written: {why}");
        Err(fault::journal_failed())
    }

    fn put(self: &Arc<Self>, cell: &Arc<Cell>, ask: Ask) {
        let before = std::mem::replace(&mut *lock(&cell.ask), ask.clone());
        lock(&self.table).moved(&before, &ask);
        self.go_on(cell);
        self.changes.send_modify(|count| *count += 1);
    }
}

type Cells = BTreeMap<RequestId, Arc<Cell>>;

#[cfg(test)]
mod tests;
