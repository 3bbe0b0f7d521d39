//! The list of operators for the front ends: shown, and changed by an operator.
//!
//! A change is checked before it is written: other consoles would refuse it after.

use std::sync::Arc;
use std::time::Duration;

use countersign_wire::{KeyRole, OperatorList, PublicKey, Risk, WorkspaceName};

use super::change::{self, Change};
use super::lawful::CLOCK_SLACK_MS;
use super::{Operators, TRIES, lawful, unwritable};
use crate::Fault;
use crate::domain::Timestamp;
use crate::ops::policy_value::pause;
use crate::ops::trusted::KeyStatus;
use crate::runtime::{App, Role};

/// How long a console that was started for the change may take to join the bus.
const JOIN_LIMIT: Duration = Duration::from_secs(30);

/// State of one line of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedState {
    /// Counts now.
    InForce,
    /// Begins later: the bus's clock was ahead when it was entered.
    NotYet,
    /// Waits for an operator to accept it.
    Waiting,
    /// Ended.
    Retired,
}

countersign_wire::words!(ListedState {
    InForce => "in_force", NotYet => "not_yet", Waiting => "waiting", Retired => "retired",
});

/// One line: a term of a key, or a key that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The public key.
    pub key: PublicKey,
    /// As it named itself, or as an operator named it; not escaped.
    pub name: String,
    /// What it may sign.
    pub role: KeyRole,
    /// Since when; for a waiting key, when it asked.
    pub from: Timestamp,
    /// Until when.
    pub until: Option<Timestamp>,
    /// Its state.
    pub state: ListedState,
    /// Whether it is this console's.
    pub mine: bool,
    /// None: all.
    pub workspaces: Option<Vec<WorkspaceName>>,
    /// None: any.
    pub max_risk: Option<Risk>,
    /// The console that registered it.
    pub console: Option<String>,
}

impl App {
    /// The realm's list of operators as this console knows it, and whether new keys must be accepted.
    #[must_use]
    pub fn operators(&self) -> (Vec<Listed>, bool) {
        let known = self.inner.shared.operator_list.read();
        let list = known.as_ref().map(|known| known.list.clone());
        let list = list.unwrap_or_else(|| OperatorList::new(Vec::new()));
        let own = self.identity().trusted_keys();
        let mine = |key: &PublicKey| own.iter().any(|own| own.key == *key);
        let now = self.now();
        let terms = list.operators.iter().map(|entry| Listed {
            key: entry.key.clone(),
            name: entry.name.clone(),
            role: entry.role,
            from: entry.from.get().into(),
            until: entry.until.map(|until| until.get().into()),
            state: match entry.until {
                Some(until) if Timestamp::from(until.get()) <= now => ListedState::Retired,
                _ if Timestamp::from(entry.from.get()) > now.plus_ms(CLOCK_SLACK_MS) => {
                    ListedState::NotYet
                }
                _ => ListedState::InForce,
            },
            mine: mine(&entry.key),
            workspaces: entry.workspaces.clone(),
            max_risk: entry.max_risk,
            console: entry.console.clone(),
        });
        let waiting = list.waiting.iter().map(|waiting| Listed {
            key: waiting.key.clone(),
            name: waiting.name.clone(),
            role: waiting.role,
            from: waiting.asked_at.get().into(),
            until: None,
            state: ListedState::Waiting,
            mine: mine(&waiting.key),
            workspaces: None,
            max_risk: None,
            console: waiting.console.clone(),
        });
        (terms.chain(waiting).collect(), list.operator_approval)
    }

    /// Changes the realm's list. False when everything was so already. Two consoles that change it at
    /// once both do: each by the revision that it has read.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` for an operator who may not change the list, `ErrorCode::NoSuchKey`,
    /// `ErrorCode::InvalidArgs`, `ErrorCode::BusUnreachable`.
    pub async fn change_operators(&self, change: &Change) -> Result<bool, Fault> {
        let operators = self.operators_of_the_bus().await?;
        for attempt in 0..TRIES {
            let latest = operators.latest().await?;
            let mut list = latest.list;
            let now = self.now();
            self.may_change(&list, change, now)?;
            let changed = change::apply(&mut list, change, now)?;
            if !changed && !latest.broken {
                return Ok(false);
            }
            if operators.write(&list, latest.revision).await?.is_some() {
                return Ok(changed);
            }
            pause(attempt).await;
        }
        Err(unwritable())
    }

    pub(super) async fn operators_of_the_bus(&self) -> Result<Operators, Fault> {
        if self.role() == Role::Console {
            self.ready(JOIN_LIMIT).await;
        }
        self.knows_the_bus().await?;
        let (Some(bus), Some(realm)) = (self.bus(), self.realm()) else {
            return Err(Fault::bus_unreachable(
                "the list of operators is on the bus, which cannot be reached; try again when it is back",
            ));
        };
        let shared = Arc::clone(&self.inner.shared);
        Ok(Operators::new(shared, bus, realm))
    }

    pub(super) fn may_change(
        &self,
        list: &OperatorList,
        change: &Change,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let own = self.identity().human_key();
        if let Some(why) = self.why_not_sign(own.as_str(), now) {
            return Err(Fault::read_only(why));
        }
        self.keeps_its_own_key(change, now)?;
        let rotates = matches!(change, Change::Rotate { old, .. } if *old == own);
        if rotates || lawful::may_edit(list, own.as_str(), now) {
            return Ok(());
        }
        Err(Fault::read_only(
            "your own key has limits; ask an operator without limits to change the list",
        ))
    }

    /// A console without its own key denies nothing, whatever rules and stops say: such a change must be deliberate.
    fn keeps_its_own_key(&self, change: &Change, now: Timestamp) -> Result<(), Fault> {
        let own = self.identity().auto_key();
        let counts = self.inner.shared.trusted.standing(own.as_str(), now) == KeyStatus::Active;
        match change {
            Change::Retire(key) if *key == own && counts => Err(Fault::invalid_args(format!(
                "{key} is this console's own key: without it the console denies, expires and answers nothing automatically, rules and `stop` included. To replace it run `countersign operators rotate`; to remove the console, let another operator retire it"
            ))),
            _ => Ok(()),
        }
    }

    /// Why this console decides nothing automatically, rules that deny and stops included; none where its own key is
    /// active or the list is not known.
    #[must_use]
    pub fn why_not_by_itself(&self) -> Option<String> {
        let own = self.identity().auto_key();
        let what = match self.inner.shared.trusted.standing(own.as_str(), self.now()) {
            KeyStatus::Active | KeyStatus::Unknown => return None,
            KeyStatus::NotYetActive(from) => {
                return Some(format!(
                    "this console's own key becomes active at {}: the bus's clock was ahead when it was entered. Until this console has entered it again, it approves, denies and expires nothing automatically, rules and `stop` included",
                    from.rfc3339()
                ));
            }
            KeyStatus::Pending => "waits to be accepted".to_owned(),
            KeyStatus::Retired(at) => format!("was retired at {}", at.rfc3339()),
        };
        Some(format!(
            "this console's own key {what}, so the console approves, denies and expires nothing automatically, rules and `stop` included; ask an operator without limits to run `countersign operators add {own}`"
        ))
    }

    /// Why its operator decides nothing, for a reason that lies in the list.
    pub(crate) fn why_no_decision(&self) -> Option<String> {
        self.why_not_sign(self.identity().human_key().as_str(), self.now())
    }

    /// Why a key of this console may sign nothing now, and the way out.
    pub(crate) fn why_not_sign(&self, key: &str, now: Timestamp) -> Option<String> {
        why_not(self.inner.shared.trusted.standing(key, now), key)
    }
}

/// Why a key in this standing signs nothing, and the way out; none for one that counts.
pub(crate) fn why_not(standing: KeyStatus, key: &str) -> Option<String> {
    match standing {
        KeyStatus::Active => None,
        KeyStatus::Pending => Some(format!(
            "this key waits to be accepted; ask an operator of this realm to run `countersign operators add {key}`, until then this console is read-only"
        )),
        KeyStatus::Retired(at) => Some(format!(
            "this key was retired at {}; ask an operator of this realm to run `countersign operators add {key}`, until then this console is read-only",
            at.rfc3339()
        )),
        KeyStatus::NotYetActive(from) => Some(format!(
            "this key becomes active at {}: the bus's clock was ahead when it was entered; a running console enters its keys again, until then this console is read-only",
            from.rfc3339()
        )),
        KeyStatus::Unknown => Some(format!(
            "this key is not on the realm's list of operators; ask an operator of this realm to run `countersign operators add {key} --name NAME`"
        )),
    }
}
