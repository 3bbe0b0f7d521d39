//! The realm log as an agent keeps it: slot after slot, by direct gets (protocol, section 8). Pure.
//!
//! Without the entry that is known to be in it, nothing that lets a call run is believed.

use std::sync::Arc;

use countersign_wire::{LogHead, Sha256Digest, realm::Realm};
use uuid::Uuid;

use crate::judge::StoredMessage;

/// Why nothing that lets a call run is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFault {
    /// The log ends before the entry that is known.
    Short,
    /// Another entry has its place.
    Differs,
}

impl LogFault {
    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Short => "log_short",
            Self::Differs => "log_differs",
        }
    }
}

/// What an agent knows of the log.
pub(crate) struct Log {
    /// Who may sign.
    pub(crate) state: Arc<Realm>,
    pub(crate) fault: Option<LogFault>,
    /// The slot with the highest sequence that was read: each look reads it again.
    pub(crate) last: Option<StoredMessage>,
    /// The entry that has to be there.
    pub(crate) known: (u64, Sha256Digest),
}

impl Log {
    /// Nothing is read yet; `head` is that of `agent.json`.
    pub(crate) fn new(realm: Uuid, head: &LogHead) -> Self {
        Self {
            state: Arc::new(Realm::new(realm, head.root)),
            fault: Some(LogFault::Short),
            last: None,
            known: (head.n, head.digest),
        }
    }

    /// Takes a look at the last slot and at those from `state.next_slot` on. False: look from slot 1 on.
    pub(crate) fn extend(&mut self, last: Option<&StoredMessage>, new: &[StoredMessage]) -> bool {
        let Some(read) = self.last.as_ref().filter(|read| last == Some(*read)) else {
            return false;
        };
        if self.fault.is_some() || new.iter().any(|slot| slot.sequence <= read.sequence) {
            return false;
        }
        if !new.is_empty() {
            apply(Arc::make_mut(&mut self.state), new);
            self.take(new);
        }
        true
    }

    /// Takes a look at every slot, from the first one on, and what they fold to. Without the known entry the old state
    /// stays.
    pub(crate) fn restart(&mut self, state: Realm, slots: &[StoredMessage]) {
        let (n, digest) = &self.known;
        if !state.holds(*n, digest) {
            let short = u64::try_from(state.chain.len()).is_ok_and(|length| length < *n);
            self.fault = Some(if short {
                LogFault::Short
            } else {
                LogFault::Differs
            });
            return;
        }
        (self.state, self.fault, self.last) = (Arc::new(state), None, None);
        self.take(slots);
    }

    fn take(&mut self, slots: &[StoredMessage]) {
        let read = self.last.take().into_iter().chain(slots.iter().cloned());
        self.last = read.max_by_key(|slot| slot.sequence);
        if let Some(head) = self.state.chain.last() {
            self.known = (head.n, head.digest);
        }
    }
}

/// What every slot folds to, from the first one on.
pub(crate) fn fold(realm: Uuid, root: Sha256Digest, slots: &[StoredMessage]) -> Realm {
    let mut state = Realm::new(realm, root);
    apply(&mut state, slots);
    state
}

fn apply(state: &mut Realm, slots: &[StoredMessage]) {
    for slot in slots {
        state.apply(state.next_slot, slot.sequence, &slot.payload);
    }
}
