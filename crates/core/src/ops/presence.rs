//! Announces this console to the others, and hears of them (protocol, section 8).
//!
//! A console that can answer nothing is silent: without the past, without a store, or with a pending or retired key.
//! Only presence that its console's own key signed counts.

use std::sync::Arc;
use std::time::Duration;

use countersign_realm::registers::revision;
use countersign_wire::{
    ConsoleId, Context, KeyRole, PolicyKey, Presence, SignedEnvelope, parse_presence,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::alarms;
use super::{KeyStatus, TrustedKeys};
use crate::bus::{Bus, PolicyChange, PublishOutcome};
use crate::domain::presence::{BEAT_MS, Consoles, HeardConsole};
use crate::domain::{AlarmCode, Timestamp};
use crate::runtime::{App, AppEvent, Role, Shared};

const BEAT: Duration = Duration::from_millis(BEAT_MS.unsigned_abs());
/// A sign that could not be written is tried again soon: three missed ones look like the end.
const RETRY: Duration = Duration::from_secs(1);
/// How long a console that stops takes to say so.
const END_LIMIT: Duration = Duration::from_secs(1);
/// How long a reader looks for consoles.
const LOOK_LIMIT: Duration = Duration::from_secs(2);

/// A console of the realm that is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveConsole {
    /// Its id.
    pub id: ConsoleId,
    /// Its operator's name, as that console wrote it.
    pub operator: String,
    /// The server's stamp of its last sign.
    pub heard_at: Timestamp,
    /// Whether it is the console of this data folder.
    pub is_this: bool,
}

/// Sends a heartbeat at once and then every 5 s, until it is cancelled.
pub(crate) async fn run(shared: Arc<Shared>, bus: Bus, realm: Uuid, stop: CancellationToken) {
    loop {
        let wait = if !can_answer(&shared) {
            RETRY
        } else {
            match write(&shared, &bus, &realm, false).await {
                Ok(()) => BEAT,
                Err(why) => {
                    tracing::warn!(
                        why,
                        "the other consoles are not informed that this one is there"
                    );
                    RETRY
                }
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
        }
    }
}

fn can_answer(shared: &Shared) -> bool {
    let health = shared.health.borrow();
    let heard = *shared.caught_up.borrow() && counts(shared);
    heard && health.read_only.is_none() && health.store_failed.is_none()
}

/// Whether what this console's own key says counts.
fn counts(shared: &Shared) -> bool {
    let own = shared.identity.auto_key();
    shared.trusted.standing(own.as_str()) == KeyStatus::Active
}

/// Says that this console stops. This may fail: the others notice soon.
pub(crate) async fn end(shared: &Shared, bus: &Bus) {
    let Some(realm) = shared.realm() else { return };
    if !bus.state().borrow().connected || !*shared.caught_up.borrow() || !counts(shared) {
        return;
    }
    let reported = tokio::time::timeout(END_LIMIT, write(shared, bus, &realm, true)).await;
    if !matches!(reported, Ok(Ok(()))) {
        tracing::debug!("the other consoles are not informed that this one stops");
    }
}

async fn write(shared: &Shared, bus: &Bus, realm: &Uuid, ended: bool) -> Result<(), String> {
    let identity = &shared.identity;
    let console = ConsoleId::from(identity.console_id);
    let key = PolicyKey::Console(console.clone());
    let keys = identity.signing();
    let presence = Presence {
        v: 1,
        console,
        operator: identity.operator.clone(),
        human_key: keys.human_key.clone(),
        auto_key: keys.auto_key.clone(),
        at: countersign_wire::Timestamp::new(shared.clock.now().into()),
        instance_id: Some(shared.instance_id),
        ended,
    };
    let payload = serde_json::to_vec(&presence).map_err(|error| error.to_string())?;
    let (auto, subject) = (&keys.auto, key.subject());
    let value = SignedEnvelope::seal(auto, Context::Policy, realm, &subject, &payload)
        .and_then(|envelope| envelope.to_bytes())
        .map_err(|error| error.to_string())?;
    let before = revision(bus, &key).await;
    let before = before.map_err(|error| error.to_string())?;
    match bus.policy_put(&key.to_string(), before, value.into()).await {
        Ok(PublishOutcome::Stored { .. }) => Ok(()),
        Ok(PublishOutcome::Refused { code, description }) => Err(format!("{code}: {description}")),
        Ok(PublishOutcome::NoAnswer) => Err("no acknowledgement".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// What a change of a `console.{id}` says.
enum Sign {
    Heard(HeardConsole),
    Ended(Option<HeardConsole>),
}

/// None for one that its console did not sign.
fn read(
    trusted: &TrustedKeys,
    realm: &Uuid,
    id: &ConsoleId,
    change: &PolicyChange,
) -> Option<Sign> {
    let Some(value) = &change.value else {
        return Some(Sign::Ended(None));
    };
    let envelope = SignedEnvelope::from_bytes(value).ok()?;
    let stamp = Timestamp::from(change.stamp);
    if trusted.role(envelope.key.as_str()) != Some(KeyRole::Auto) {
        return None;
    }
    let subject = PolicyKey::Console(id.clone()).subject();
    let payload = envelope.open(Context::Policy, realm, &subject).ok()?;
    let presence = parse_presence(id, &payload).ok()?;
    let of_another = trusted.console(envelope.key.as_str());
    if envelope.key != presence.auto_key || of_another.is_some_and(|of| of != id.as_str()) {
        return None;
    }
    let console = HeardConsole {
        operator: presence.operator,
        human_key: presence.human_key,
        auto_key: presence.auto_key,
        instance_id: presence.instance_id.map(|id| id.as_u128()),
        heard_at: stamp,
        revision: change.revision,
    };
    Some(match presence.ended {
        true => Sign::Ended(Some(console)),
        false => Sign::Heard(console),
    })
}

/// Takes a change of a `console.{id}` over, and reports when two programs speak as one console.
pub(crate) async fn note(shared: &Shared, realm: &Uuid, id: &ConsoleId, change: &PolicyChange) {
    let Some(sign) = read(&shared.trusted, realm, id, change) else {
        tracing::warn!(console = %id, "the presence of a console does not verify");
        return;
    };
    let now = shared.clock.now();
    let (before, after, others) = {
        let mut consoles = shared.consoles.write();
        let (live, before) = (consoles.live(now).count(), consoles.runs_twice(id));
        take(&mut consoles, id, sign);
        let others = consoles.live(now).count() != live;
        (before, consoles.runs_twice(id), others)
    };
    if others {
        // Without subscribers nobody listens.
        let _ = shared.events.send(AppEvent::Status);
    }
    let Some(twice) = after.filter(|after| before != Some(*after)) else {
        return;
    };
    let code = AlarmCode::ConsoleRunsTwice;
    let subject = PolicyKey::Console(id.clone()).to_string();
    let job = match twice {
        true => alarms::raise(code, subject),
        false => alarms::lower(code, subject),
    };
    shared.notify(job).await;
}

fn take(consoles: &mut Consoles, id: &ConsoleId, sign: Sign) {
    match sign {
        Sign::Heard(console) => consoles.heard(id.clone(), console),
        Sign::Ended(said) => consoles.ended(id, said),
    }
}

impl App {
    /// The consoles of the realm that are there now, in the order of their ids; none without a bus.
    pub async fn consoles(&self) -> Vec<LiveConsole> {
        let shared = &self.inner.shared;
        let known = match self.role() {
            Role::Console => Some(shared.consoles.read().clone()),
            Role::Beside | Role::Reader => self.look_for_consoles().await,
        };
        let (now, this) = (self.now(), shared.identity.console_id.to_string());
        let known = known.unwrap_or_default();
        known
            .live(now)
            .map(|(id, console)| LiveConsole {
                id: id.clone(),
                operator: console.operator.clone(),
                heard_at: console.heard_at,
                is_this: id.as_str() == this,
            })
            .collect()
    }

    /// Reads the bucket once: a process that does not follow it knows nothing of consoles.
    async fn look_for_consoles(&self) -> Option<Consoles> {
        let shared = &self.inner.shared;
        let (bus, realm) = (self.bus()?, shared.realm()?);
        let mut watch = bus.policy_watch(1);
        let mut consoles = Consoles::default();
        let look = async {
            let word = *watch.heard.wait_for(Option::is_some).await.ok()?;
            let last = word?.last_revision;
            let mut applied = 0;
            while applied < last {
                let change = watch.changes.recv().await?;
                applied = change.revision;
                if let Some(PolicyKey::Console(id)) = PolicyKey::parse(&change.key)
                    && let Some(sign) = read(&shared.trusted, &realm, &id, &change)
                {
                    take(&mut consoles, &id, sign);
                }
            }
            Some(())
        };
        tokio::time::timeout(LOOK_LIMIT, look).await.ok()??;
        Some(consoles)
    }
}
