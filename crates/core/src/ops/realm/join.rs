//! How a console comes into a realm: it asks, and an administrator's console lets it in.

use std::sync::Arc;
use std::time::Duration;

use countersign_wire::realm::{Ask, Does, Entry, PolicyMark, Realm, SigningKey, Word};
use countersign_wire::{PublicKey, Stream};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::asks::{self, Asked, listed};
use super::write::{Fields, Pen};
use crate::Fault;
use crate::bus::Bus;
use crate::domain::AlarmCode;
use crate::ops::KeyStatus;
use crate::ops::job::Job;
use crate::runtime::Shared;
use crate::store::realm_log;

/// How often what is to be done is looked at, where nothing changed.
const LOOK: Duration = Duration::from_secs(1);
/// Newcomers that are let in without a person in an hour, by whatever console.
const AT_MOST: usize = 20;
const HOUR_MS: i64 = 60 * 60 * 1_000;
/// A newcomer that no console has let in by then waits for a person.
const WAITS_AFTER: Duration = Duration::from_secs(2);

/// Does what needs no person about the operators: a console asks, adds its own console key, and lets others in where
/// it may. Until it is cancelled.
pub(in crate::ops) async fn run(shared: Arc<Shared>, bus: Bus, stop: CancellationToken) {
    let mut changes = shared.trusted.changes();
    let mut asks = shared.trusted.asks().subscribe();
    loop {
        // What comes from now on is looked at again.
        changes.borrow_and_update();
        asks.borrow_and_update();
        if let Err(error) = step(&shared, &bus).await {
            tracing::warn!(%error, "what the realm log asks of this console is not done yet");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
            changed = asks.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

async fn step(shared: &Arc<Shared>, bus: &Bus) -> Result<(), Fault> {
    let log = shared.trusted.log();
    super::rotate::follow(&shared.identity, &log).await;
    let keys = shared.identity.signing();
    match shared.trusted.standing(keys.human_key.as_str()) {
        KeyStatus::Unknown | KeyStatus::Ended { .. } => return Ok(()),
        KeyStatus::Pending => return asks::put(shared, bus, &keys.human, None).await,
        KeyStatus::Active => {}
    }
    let pen = Pen {
        shared,
        bus,
        projects: true,
    };
    if !log.was_named(keys.auto_key.as_str()) {
        let (own, auto) = (keys.human_key.clone(), &keys.auto);
        let console = shared.identity.console_id.to_string();
        pen.write(&keys.human, |log| {
            with_own_key(log, &own, |id| {
                SigningKey::of_pair(auto, log.realm(), id, "auto", Some(&console)).ok()
            })
        })
        .await?;
    }
    super::rotate::go_on(&pen).await?;
    if shared.trusted.is_admin(keys.human_key.as_str()) {
        let waiting = let_in(&pen).await?;
        keep_alarms(shared, &waiting).await?;
    }
    Ok(())
}

/// The own record with one more key.
fn with_own_key(
    log: &Realm,
    own: &PublicKey,
    key: impl FnOnce(&PublicKey) -> Option<Value>,
) -> Result<Fields, Fault> {
    let me = super::keys::operator_of(log, own);
    let Some(before) = me.and_then(|me| log.operators.get(&me)) else {
        return Ok(None);
    };
    let Some(key) = key(&before.id) else {
        return Ok(None);
    };
    let text = key["key"].as_str().unwrap_or_default();
    if log.was_named(text) {
        return Ok(None);
    }
    let mut record = before.fields.clone();
    if let Some(keys) = record.get_mut("keys").and_then(Value::as_array_mut) {
        keys.push(key);
    }
    Ok(json!({ "operators": [record] }).as_object().cloned())
}

/// Lets newcomers in where acceptance is off. Returns who waits for a person.
async fn let_in(pen: &Pen<'_>) -> Result<Vec<Asked>, Fault> {
    let log = pen.shared.trusted.log();
    let open = listed(&pen.shared.trusted.asks().borrow(), &log);
    let (mut waiting, mut newcomers) = (Vec::new(), Vec::new());
    for asked in open {
        match log.acceptance || asked.ask.operator.as_str() != asked.ask.key.key {
            true => waiting.push(asked),
            false => newcomers.push(asked),
        }
    }
    let keys = pen.shared.identity.signing();
    for asked in newcomers {
        // Anew for each: another console lets in, too.
        let log = pen.shared.trusted.log();
        if !Told::read(pen.shared, &log).await?.lets(&asked, &log) {
            waiting.push(asked);
            continue;
        }
        let written = pen
            .write(&keys.human, |log| Ok(newcomer(log, &asked.ask)))
            .await?;
        if written.changed {
            // A console without a person signs at most one entry a second.
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
    Ok(waiting)
}

fn newcomer(log: &Realm, ask: &Ask) -> Fields {
    let key = ask.key.key.as_str();
    if log.acceptance || log.was_named(key) {
        return None;
    }
    let record = json!({"id": key, "name": ask.name, "keys": [ask.key.fields]});
    let fields: Map<String, Value> = [
        ("operators".to_owned(), json!([record])),
        ("by_itself".to_owned(), json!(true)),
    ]
    .into_iter()
    .collect();
    Some(fields)
}

/// What the log says about letting in without a person.
struct Told {
    /// Entries of the last hour that no person accepted.
    recent: usize,
    /// What had been read of the shared policy when acceptance was turned off.
    since: Option<PolicyMark>,
    epoch: String,
}

impl Told {
    async fn read(shared: &Shared, log: &Realm) -> Result<Self, Fault> {
        let epoch = shared
            .positions
            .borrow()
            .get(Stream::Decisions.name())
            .map(|at| at.epoch.clone());
        let rows = realm_log::read(&shared.reader, &epoch.unwrap_or_default()).await?;
        let hour_ago = shared.clock.now().plus_ms(-HOUR_MS).0;
        let off = log
            .chain
            .iter()
            .rev()
            .find(|entry| entry.does.contains(&Does::AcceptanceOff));
        let off = off.map(|entry| entry.digest.to_string());
        let (mut recent, mut since) = (0, None);
        for row in &rows {
            let late = row.stored_at > hour_ago && row.word == Word::Ok.as_str();
            let turned = row.digest.is_some() && row.digest == off;
            if !late && !turned {
                continue;
            }
            let entry = row.message.as_deref().and_then(Entry::read);
            let Some(entry) = entry else { continue };
            if late && entry.fields.get("by_itself").is_some_and(|is| is == true) {
                recent += 1;
            }
            if turned {
                since = entry.policy;
            }
        }
        Ok(Self {
            recent,
            since,
            epoch: shared.trusted.policy_epoch().unwrap_or_default(),
        })
    }

    /// Whether a newcomer is let in without a person.
    fn lets(&self, asked: &Asked, log: &Realm) -> bool {
        let held_back = self
            .since
            .as_ref()
            .is_some_and(|mark| mark.epoch == self.epoch && asked.revision <= mark.seq);
        let mut records = log.operators.values();
        let namesake = records.any(|record| record.name == asked.ask.name);
        self.recent < AT_MOST && !held_back && !namesake
    }
}

/// An alarm for each newcomer who waits for a person, once.
async fn keep_alarms(shared: &Arc<Shared>, waiting: &[Asked]) -> Result<(), Fault> {
    let code = AlarmCode::OperatorWaits;
    let known = crate::store::alarms::of_code(&shared.reader, code.as_str()).await?;
    for asked in waiting {
        let key = &asked.ask.key.key;
        if known.contains(key) {
            continue;
        }
        let (key, role) = (key.clone(), asked.ask.key.fields["role"].clone());
        let job = Job::kept(move |writer, batch| {
            if crate::store::alarms::is_active(batch.tx, code.as_str(), &key)? {
                return Ok(());
            }
            batch.record(
                key.clone(),
                "operator_waits",
                key.clone(),
                json!({ "role": role }),
            );
            let auto = writer.identity.auto_key().to_string();
            batch.alarm(&auto, code, &key)
        });
        shared.notify(job).await;
    }
    Ok(())
}

/// Waits until the own keys are in force, or it is clear that they will not be soon.
pub(crate) async fn settled(shared: &Shared) {
    let mut changes = shared.trusted.changes();
    let keys = shared.identity.signing();
    let is_in = |log: &Arc<Realm>| {
        let counts = |key: &PublicKey| log.term(key.as_str(), None).is_some();
        let named = |key: &PublicKey| log.was_named(key.as_str());
        // What has ended does not come.
        (counts(&keys.human_key) || named(&keys.human_key))
            && (named(&keys.auto_key) || !counts(&keys.human_key))
    };
    // Timed out: it waits for a person.
    let _ = tokio::time::timeout(WAITS_AFTER, changes.wait_for(is_in)).await;
}
