//! Rotates the signing keys of this console: both are in force for a moment, then the old ones end.

use std::sync::Arc;
use std::time::Duration;

use countersign_wire::realm::{Realm, SigningKey};
use countersign_wire::{KeyRole, PublicKey};
use nkeys::KeyPair;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::keys::operator_of;
use super::write::{Fields, Pen};
use crate::Fault;
use crate::data_dir::KeysLock;
use crate::domain::Timestamp;
use crate::identity::{Identity, IdentityError, SigningKeys};
use crate::runtime::{App, Role, joined};
use crate::store::{Reader, decisions, outbox};

/// How long another process may take with the keys, and the outbox to be sent.
const LIMIT: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);
/// From the last own decision until its key ends: agents that look later refuse it.
const LAST_LOOK: Duration = Duration::from_secs(10);

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

/// Takes own keys into use that the log has beside the ones before, or in their place. A failure is logged and leaves
/// the old keys.
pub(crate) async fn follow(identity: &Arc<Identity>, log: &Arc<Realm>) {
    let own = identity.signing();
    let record = operator_of(log, &own.human_key).and_then(|id| log.operators.get(&id).cloned());
    // Several keys, or one that has ended: only then a next one can be there.
    let usual = record.is_some_and(|record| record.keys.len() <= 2)
        && log.term(own.auto_key.as_str(), None).is_some();
    if usual || log.chain.is_empty() {
        return;
    }
    let (identity, log) = (Arc::clone(identity), Arc::clone(log));
    let followed = blocking(move || {
        if identity.follow(takes_over(&log))? {
            tracing::info!("this console signs with new keys now");
        }
        Ok(())
    });
    if let Err(error) = followed.await {
        tracing::error!(%error, "the new signing keys cannot be used");
    }
}

/// Whether the log has `new` in force for the operator of `old`, in the same role, and not before it.
fn takes_over(log: &Realm) -> impl Fn(&PublicKey, &PublicKey) -> bool {
    |old, new| {
        let Some(next) = log.term(new.as_str(), None) else {
            return false;
        };
        let before = log.terms_of(old.as_str()).last();
        before.is_some_and(|before| {
            let same = before.operator == next.operator && before.key.role == next.key.role;
            same && (before.ended.is_some() || came(log, old.as_str()) < came(log, new.as_str()))
        })
    }
}

/// The number of the entry that named a key first. Other limits begin another term of it.
fn came(log: &Realm, key: &str) -> Option<u64> {
    log.terms_of(key).first().map(|term| term.began.n)
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
async fn in_time(mut done: impl AsyncFnMut() -> Result<bool, Fault>) -> Result<bool, Fault> {
    let give_up = Instant::now() + LIMIT;
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

/// The own record with these keys. With `end` those that this console had before end, also of a rotation that was cut
/// off; `old` names the last of them, whatever their records say.
fn record(
    log: &Realm,
    (own, console): (&PublicKey, &str),
    come: &[(KeyRole, KeyPair)],
    (end, old): (bool, &[PublicKey]),
) -> Result<Fields, Fault> {
    let failed = |_| Fault::failed("the new keys could not be signed for; nothing was changed");
    let Some(before) = operator_of(log, own).and_then(|id| log.operators.get(&id)) else {
        return Err(Fault::read_only(
            "this console's key is not in force, so it cannot be replaced; see `countersign operators list`",
        ));
    };
    let mut record = before.fields.clone();
    if let Some(keys) = record.get_mut("keys").and_then(Value::as_array_mut) {
        if end {
            keys.retain(|key| {
                let of_old = old.iter().any(|old| key["key"] == old.as_str());
                let stays = |pair: &KeyPair| key["key"] == pair.public_key();
                come.iter().any(|(_, pair)| stays(pair)) || !(of_old || key["device"] == console)
            });
        }
        for (role, pair) in come {
            let key =
                SigningKey::of_pair(pair, log.realm(), &before.id, role.as_str(), Some(console));
            let key = key.map_err(failed)?;
            if !keys.iter().any(|known| known["key"] == key["key"]) {
                keys.push(key);
            }
        }
    }
    Ok(json!({ "operators": [record] }).as_object().cloned())
}

/// Own keys of this console that came before those in use, the last first: a rotation was cut off.
fn left_over(log: &Realm, own: &SigningKeys, console: &str) -> Vec<PublicKey> {
    let now = [&own.human_key, &own.auto_key].map(|key| log.term(key.as_str(), None));
    let [Some(human), Some(auto)] = now else {
        return Vec::new();
    };
    let keys = log.operators.get(&human.operator);
    let keys = keys.into_iter().flat_map(|record| &record.keys);
    let before = keys.filter(|key| {
        let next = [human, auto]
            .into_iter()
            .find(|next| next.key.role == key.role);
        let next = next.and_then(|next| came(log, &next.key.key));
        key.device.as_deref() == Some(console) && came(log, &key.key) < next
    });
    let mut old: Vec<PublicKey> = before.filter_map(|key| key.key.parse().ok()).collect();
    old.reverse();
    old
}

/// Goes on with a rotation that was cut off before the old keys had ended, unless a process is at it.
pub(super) async fn go_on(pen: &Pen<'_>) -> Result<(), Fault> {
    let (shared, identity) = (pen.shared, &pen.shared.identity);
    let (keys, console) = (identity.signing(), identity.console_id.to_string());
    let old = left_over(&shared.trusted.log(), &keys, &console);
    if old.is_empty() {
        return Ok(());
    }
    let locking = Arc::clone(identity);
    let lock = blocking(move || locking.try_lock()).await?;
    let sent = outbox::under_way(&shared.reader).await? == 0;
    let looked = until_looked(&shared.reader, &old, shared.clock.now()).await?;
    if lock.is_none() || !sent || !looked.is_zero() {
        return Ok(());
    }
    let in_use = [
        (KeyRole::Human, keys.human.clone()),
        (KeyRole::Auto, keys.auto.clone()),
    ];
    pen.write(&keys.human, |log| {
        let own = (&keys.human_key, console.as_str());
        record(log, own, &in_use, (true, &old))
    })
    .await?;
    tracing::info!("the keys before a rotation that was cut off have ended");
    Ok(())
}

/// How much of their time agents still have to read the last decision of these keys.
async fn until_looked(
    reader: &Reader,
    keys: &[PublicKey],
    now: Timestamp,
) -> Result<Duration, Fault> {
    let texts: Vec<&str> = keys.iter().map(PublicKey::as_str).collect();
    let Some(last) = decisions::last_signed(reader, &texts).await? else {
        return Ok(Duration::ZERO);
    };
    let since = u64::try_from(now.since_ms(last)).unwrap_or(0);
    Ok(LAST_LOOK.saturating_sub(Duration::from_millis(since)))
}

impl App {
    /// Gives this console new signing keys. Old decisions stay as they are; a running console of the folder follows
    /// automatically. What was cut off is taken up by the next call. With `now` the old keys end at once.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` for an operator who waits or has ended; `ErrorCode::BusUnreachable`,
    /// `ErrorCode::Environment` when the keys cannot be kept, `ErrorCode::Failed` when decisions are still on their way.
    pub async fn rotate_keys(&self, now: bool) -> Result<Vec<Rotated>, Fault> {
        let bus = self.realm_bus().await?;
        let shared = &self.inner.shared;
        let identity = Arc::clone(&shared.identity);
        if let Some(why) = self.why_not_sign(identity.human_key().as_str()) {
            return Err(Fault::read_only(why));
        }
        let _lock = lock(&identity).await?;
        // What an earlier call left half done comes first.
        let settling = Arc::clone(&identity);
        blocking(move || settling.settle()).await?;
        let old = identity.signing();
        let mut next = Vec::new();
        for role in [KeyRole::Human, KeyRole::Auto] {
            let identity = Arc::clone(&identity);
            next.push((role, blocking(move || identity.next(role)).await?));
        }
        let console = identity.console_id.to_string();
        let pen = Pen {
            shared,
            bus: &bus,
            projects: self.role() == Role::Console,
        };
        let ended = [old.human_key.clone(), old.auto_key.clone()];
        let own = old.human_key.clone();
        if now {
            self.outbox_sent().await?;
        }
        pen.write(&old.human, |log| {
            record(log, (&own, console.as_str()), &next, (now, &ended))
        })
        .await?;
        follow(&identity, &shared.trusted.log()).await;
        let settling = Arc::clone(&identity);
        blocking(move || settling.settle()).await?;
        if !now {
            self.outbox_sent().await?;
            let wait = until_looked(self.reader(), &ended, self.now()).await?;
            tokio::time::sleep(wait).await;
            let own = identity.human_key();
            let keys = identity.signing();
            pen.write(&keys.human, |log| {
                record(log, (&own, console.as_str()), &next, (true, &ended))
            })
            .await?;
        }
        let key = |pair: &KeyPair| {
            PublicKey::of(pair).map_err(|_| Fault::failed("a new key is none of a user"))
        };
        next.iter()
            .zip(ended)
            .map(|((role, pair), old)| {
                Ok(Rotated {
                    role: *role,
                    old,
                    new: key(pair)?,
                })
            })
            .collect()
    }

    /// What is signed and not sent would be void once its key has ended.
    async fn outbox_sent(&self) -> Result<(), Fault> {
        let reader = self.reader();
        let sent = in_time(async || Ok(outbox::under_way(reader).await? == 0));
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
    let free = in_time(async || {
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

#[cfg(test)]
mod tests {
    use countersign_wire::realm::Entry;
    use uuid::Uuid;

    use super::*;

    const REALM: Uuid = Uuid::from_u128(7);

    /// The log after these entries, each with its signer and the one record in it.
    fn log_of(entries: &[(&KeyPair, Value)]) -> Realm {
        let mut realm = Realm::new(REALM, countersign_wire::Sha256Digest::of_bytes(b""));
        for (n, (by, record)) in (1..).zip(entries) {
            let prev = realm.chain.last().map(|head| head.digest);
            let key = PublicKey::of(by).unwrap();
            let mut payload = Entry::frame(n, prev, "2026-11-25T12:00:00.000Z", &key);
            payload["operators"] = json!([record]);
            let entry = Entry::seal(by, &REALM, &payload).unwrap();
            if n == 1 {
                realm = Realm::new(REALM, Entry::read(&entry).unwrap().digest);
            }
            assert_eq!(realm.apply(n, n, &entry).as_str(), "ok");
        }
        realm
    }

    #[test]
    fn limits_in_between_do_not_hide_which_key_is_the_newer_one() {
        let [ada, old, new] = [(); 3].map(|()| KeyPair::new_user());
        let [own, id, next] = [&ada, &old, &new].map(|pair| PublicKey::of(pair).unwrap());
        let key = |pair: &KeyPair, id| {
            SigningKey::of_pair(pair, &REALM, id, "human", Some("here")).unwrap()
        };
        let both = json!([key(&old, &id), key(&new, &id)]);
        let log = log_of(&[
            (
                &ada,
                json!({"id": own, "name": "Ada", "admin": true, "keys": [key(&ada, &own)]}),
            ),
            (
                &ada,
                json!({"id": id, "name": "Bea", "keys": [key(&old, &id)]}),
            ),
            (&old, json!({"id": id, "name": "Bea", "keys": both})),
            (
                &ada,
                json!({"id": id, "name": "Bea", "keys": both, "limits": {"max_risk": "low"}}),
            ),
        ]);
        assert!(takes_over(&log)(&id, &next));
        assert!(!takes_over(&log)(&next, &id));
        let in_use = |pair: &KeyPair| SigningKeys {
            human_key: PublicKey::of(pair).unwrap(),
            auto_key: own.clone(),
            human: pair.clone(),
            auto: ada.clone(),
        };
        assert_eq!(left_over(&log, &in_use(&new), "here"), [id]);
        // A folder that was put back to before has the older key, and ends nothing.
        assert_eq!(left_over(&log, &in_use(&old), "here"), []);
    }
}
