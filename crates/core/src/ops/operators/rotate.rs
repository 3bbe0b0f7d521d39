//! Rotates the signing keys of this console.
//!
//! An old key is in use until the realm's list names the new one and every decision that it signed is sent: later it
//! would be void on the stream.

use std::sync::Arc;
use std::time::Duration;

use countersign_wire::{Handover, KeyRole, OperatorList, PublicKey};
use nkeys::KeyPair;
use tokio::time::Instant;
use uuid::Uuid;

use super::change::{self, Change};
use super::{TRIES, lawful, unwritable};
use crate::Fault;
use crate::data_dir::KeysLock;
use crate::domain::Timestamp;
use crate::identity::{Identity, IdentityError};
use crate::ops::policy_value::pause;
use crate::runtime::App;
use crate::runtime::joined;
use crate::store::outbox;

/// How long a console that starts may hear nothing of another one.
const EDITOR_LIMIT: Duration = Duration::from_secs(3);
/// How long another process may take with the keys, and the outbox to be sent.
const LIMIT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// A key that was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotated {
    /// Whose it is: the operator's, or the console's own.
    pub role: KeyRole,
    /// What counts no longer.
    pub old: PublicKey,
    /// What counts from now on.
    pub new: PublicKey,
}

/// Whether the list lets `new` sign in the place of `old`. Asks for no time: this machine's clock may be
/// wrong, and a list names no key that is not in force.
pub(crate) fn takes_over(list: &OperatorList) -> impl Fn(&PublicKey, &PublicKey) -> bool {
    |old, new| {
        let last = |key: &PublicKey| list.operators.iter().rfind(|entry| entry.key == *key);
        let (Some(before), Some(after)) = (last(old), last(new)) else {
            return false;
        };
        before.until.is_some() && after.until.is_none() && before.role == after.role
    }
}

/// Takes own keys into use with which the list has replaced the ones before. A failure is logged and leaves the old
/// keys, with which nothing is signed any more.
pub(crate) async fn follow(identity: &Arc<Identity>, list: &OperatorList) {
    let own = identity.signing();
    let current = |key: &PublicKey| {
        list.operators
            .iter()
            .any(|entry| entry.key == *key && entry.until.is_none())
    };
    if current(&own.human_key) && current(&own.auto_key) {
        return;
    }
    let (identity, list) = (Arc::clone(identity), list.clone());
    let followed = blocking(move || {
        if identity.follow(takes_over(&list))? {
            tracing::info!("this console signs with new keys now");
        }
        Ok(())
    });
    if let Err(error) = followed.await {
        tracing::error!(%error, "the new signing keys cannot be used");
    }
}

/// Gives keys in use their own place. This may fail: the next start does it again.
pub(crate) async fn settle(identity: &Arc<Identity>) {
    let identity = Arc::clone(identity);
    let settled = blocking(move || match identity.try_lock()? {
        Some(_lock) => identity.settle(),
        // Whoever holds it does.
        None => Ok(()),
    });
    if let Err(error) = settled.await {
        tracing::warn!(%error, "a new signing key stays where it was made");
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, IdentityError> + Send + 'static,
) -> Result<T, Fault> {
    Ok(tokio::task::spawn_blocking(work).await.map_err(joined)??)
}

/// Waits until `done`, for a limited time.
async fn in_time(
    limit: Duration,
    mut done: impl AsyncFnMut() -> Result<bool, Fault>,
) -> Result<bool, Fault> {
    let give_up = Instant::now() + limit;
    loop {
        if done().await? {
            return Ok(true);
        }
        if Instant::now() >= give_up {
            return Ok(false);
        }
        tokio::time::sleep(LOOK).await;
    }
}

impl App {
    /// Gives this console new signing keys: its operator's, and its own where the operator may change the list. Old
    /// decisions stay as they are; a running console of the folder follows automatically. What was cut off is taken up
    /// by the next call.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` for an operator who is pending or retired, and for one under limits while no console of
    /// one without is connected; `ErrorCode::BusUnreachable`, `ErrorCode::Environment` when the keys cannot be kept,
    /// `ErrorCode::Failed` when decisions are still on their way.
    pub async fn rotate_keys(&self) -> Result<Vec<Rotated>, Fault> {
        let operators = self.operators_of_the_bus().await?;
        let identity = Arc::clone(&self.inner.shared.identity);
        let _lock = lock(&identity).await?;
        // What an earlier call left half done comes first.
        let list = operators.latest().await?.list;
        let settling = Arc::clone(&identity);
        blocking(move || settling.settle()).await?;
        let old = identity.signing();
        // A console's own key is changed by who may change the list.
        let full = lawful::may_edit(&list, old.human_key.as_str(), self.now());
        let roles: &[KeyRole] = match full {
            true => &[KeyRole::Human, KeyRole::Auto],
            false => &[KeyRole::Human],
        };
        let mut changes = Vec::new();
        for role in roles {
            let (identity, role) = (Arc::clone(&identity), *role);
            let next = blocking(move || identity.next(role)).await?;
            changes.push(rotation(
                &operators.realm,
                old.pair(role),
                &next,
                self.now(),
            )?);
        }
        self.may_change(&list, &changes[0], self.now())?;
        let seen = async || Ok(full || self.sees_an_editor(&list).await);
        if !in_time(EDITOR_LIMIT, seen).await? {
            return Err(Fault::read_only(
                "your own key has limits, so agents accept a new one only after the console of an operator without limits has signed the list again, and none is connected. Nothing was changed; rotate when one is (`countersign status` lists the consoles)",
            ));
        }
        self.outbox_sent().await?;
        for attempt in 0..TRIES {
            let latest = operators.latest().await?;
            let (mut list, mut changed) = (latest.list, false);
            for change in &changes {
                changed |= change::apply(&mut list, change, self.now())?;
            }
            if !changed || operators.write(&list, latest.revision).await?.is_some() {
                let settling = Arc::clone(&identity);
                blocking(move || settling.settle()).await?;
                return Ok(roles.iter().zip(changes).filter_map(rotated).collect());
            }
            pause(attempt).await;
        }
        Err(unwritable())
    }

    /// Whether a console is there whose operator may edit the list: it signs again what this one signs.
    async fn sees_an_editor(&self, list: &OperatorList) -> bool {
        let (consoles, now) = (self.consoles().await, self.now());
        let mut people = list.operators.iter().filter(|entry| {
            entry.until.is_none() && lawful::may_edit(list, entry.key.as_str(), now)
        });
        people.any(|entry| {
            let of = entry.console.as_deref();
            consoles
                .iter()
                .any(|console| of == Some(console.id.as_str()))
        })
    }

    /// What is signed and not sent would be void once its key has ended.
    async fn outbox_sent(&self) -> Result<(), Fault> {
        let reader = self.reader();
        let sent = in_time(LIMIT, async || Ok(outbox::under_way(reader).await? == 0));
        match sent.await? {
            true => Ok(()),
            false => Err(Fault::failed(
                "decisions signed with the old key are still on their way to the bus; rotate when `countersign status` shows an empty outbox",
            )),
        }
    }
}

async fn lock(identity: &Arc<Identity>) -> Result<KeysLock, Fault> {
    let mut held = None;
    let free = in_time(LIMIT, async || {
        held = identity.try_lock()?;
        Ok(held.is_some())
    });
    free.await?;
    held.ok_or_else(|| {
        Fault::environment(
            "another process is changing the keys of this console; try again when it is done",
        )
    })
}

fn rotation(realm: &Uuid, old: &KeyPair, new: &KeyPair, now: Timestamp) -> Result<Change, Fault> {
    let failed = || {
        Fault::failed(
            "the old key could not sign for the new one; nothing was changed: check this console's keys with `countersign doctor`",
        )
    };
    let key = |pair: &KeyPair| PublicKey::of(pair).map_err(|_| failed());
    let (from, to) = (key(old)?, key(new)?);
    let at = countersign_wire::Timestamp::new(now.into());
    let word = Handover::seal(old, realm, &to, at).map_err(|_| failed())?;
    Ok(Change::Rotate {
        old: from,
        new: to,
        word: Some(Box::new(word)),
    })
}

fn rotated((role, change): (&KeyRole, Change)) -> Option<Rotated> {
    match change {
        Change::Rotate { old, new, .. } => Some(Rotated {
            role: *role,
            old,
            new,
        }),
        _ => None,
    }
}
