//! Which asks there are, by id, key and state.

use std::collections::HashMap;
use std::sync::Arc;

use countersign_wire::{RequestId, Sha256Digest};

use super::{Cell, Cells};
use crate::ask::{Ask, State};
use crate::moment::Moment;

/// The states are those that are kept: that an answer can be claimed no more is found by looking.
#[derive(Default)]
pub(super) struct Table {
    asks: HashMap<RequestId, Arc<Cell>>,
    keys: HashMap<Sha256Digest, RequestId>,
    /// Ids are UUIDs of version 7: the oldest come first.
    states: HashMap<&'static str, Cells>,
}

/// Without a look at the clock.
fn kept(ask: &Ask) -> State {
    match (&ask.claim, &ask.end, &ask.answer) {
        (Some(_), ..) => State::Claimed,
        (None, Some(end), _) => end.state,
        (None, None, Some(_)) => State::Answered,
        (None, None, None) => State::Waiting,
    }
}

impl Table {
    pub(super) fn enter(&mut self, ask: &Ask, cell: Arc<Cell>) {
        self.keys.insert(ask.key, ask.id.clone());
        self.asks.insert(ask.id.clone(), Arc::clone(&cell));
        let cells = self.states.entry(kept(ask).as_str()).or_default();
        cells.insert(ask.id.clone(), cell);
    }

    pub(super) fn leave(&mut self, ask: &Ask) {
        self.asks.remove(&ask.id);
        self.keys.remove(&ask.key);
        for cells in self.states.values_mut() {
            cells.remove(&ask.id);
        }
    }

    pub(super) fn moved(&mut self, before: &Ask, ask: &Ask) {
        if kept(before) != kept(ask)
            && let Some(cell) = self.get(&ask.id)
        {
            self.leave(before);
            self.enter(ask, cell);
        }
    }

    pub(super) fn get(&self, id: &RequestId) -> Option<Arc<Cell>> {
        self.asks.get(id).cloned()
    }

    pub(super) fn of_key(&self, key: &Sha256Digest) -> Option<Arc<Cell>> {
        self.get(self.keys.get(key)?)
    }

    pub(super) fn count(&self, state: State) -> usize {
        self.states.get(state.as_str()).map_or(0, Cells::len)
    }

    /// Those that are in this state at this moment, oldest first.
    pub(super) fn first(&self, state: State, limit: usize, now: &Moment) -> Vec<Arc<Cell>> {
        let kept = match state {
            State::Expired => vec![State::Expired, State::Answered],
            state => vec![state],
        };
        let kept = kept
            .iter()
            .filter_map(|state| self.states.get(state.as_str()));
        let mut found: Vec<_> = kept
            .flat_map(|cells| {
                cells
                    .iter()
                    .filter(|(_, cell)| cell.is_kept() && cell.state(now) == state)
                    .take(limit)
            })
            .collect();
        found.sort_by_key(|(id, _)| *id);
        let first = found.into_iter().take(limit);
        first.map(|(_, cell)| Arc::clone(cell)).collect()
    }

    /// Those that were answered.
    pub(super) fn answered(&self) -> Vec<Arc<Cell>> {
        let answered = self.states.get(State::Answered.as_str());
        answered
            .into_iter()
            .flat_map(|cells| cells.values().cloned())
            .collect()
    }

    pub(super) fn all(&self) -> Vec<Arc<Cell>> {
        self.asks.values().cloned().collect()
    }
}
