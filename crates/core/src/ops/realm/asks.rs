//! Who asks to be let in: values `ask.{key}` of the shared policy, which change nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_realm::registers::revision;
use countersign_wire::realm::{Ask, Realm, SigningKey};
use countersign_wire::{Context, PolicyKey, PublicKey, SignedEnvelope, Signer};
use nkeys::KeyPair;
use serde_json::json;
use uuid::Uuid;

use crate::Fault;
use crate::bus::{Bus, PolicyChange, PublishOutcome};
use crate::runtime::Shared;

/// Asks that are listed: the newest.
const LISTED: usize = 100;
/// Asks that are kept, since a flood of strangers must not fill the memory.
const KEPT: usize = 1_000;
/// How long a process that does not follow the shared policy looks for asks.
const LOOK_LIMIT: Duration = Duration::from_secs(2);

/// An ask, and where it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub(crate) revision: u64,
    pub(crate) ask: Ask,
}

/// Takes a change of `ask.{key}` over; what does not verify is nothing.
pub(in crate::ops) fn note(shared: &Shared, realm: &Uuid, key: &Signer, change: &PolicyChange) {
    let ask = read(realm, key, change);
    shared.trusted.asks().send_modify(|asks| {
        take(asks, key.as_str(), ask);
    });
}

fn read(realm: &Uuid, key: &Signer, change: &PolicyChange) -> Option<Asked> {
    let name = Ask::policy_key(key.as_str());
    let ask = Ask::read(realm, &name, change.value.as_deref()?)?;
    Some(Asked {
        revision: change.revision,
        ask,
    })
}

fn take(asks: &mut BTreeMap<String, Asked>, key: &str, asked: Option<Asked>) {
    match asked {
        Some(asked) => {
            asks.insert(key.to_owned(), asked);
        }
        None => {
            asks.remove(key);
        }
    }
    if asks.len() > KEPT
        && let Some(oldest) = asks.values().min_by_key(|asked| asked.revision)
    {
        let key = oldest.ask.key.key.clone();
        asks.remove(&key);
    }
}

/// The newest asks of keys that no entry has named, the newest last.
pub(super) fn listed(asks: &BTreeMap<String, Asked>, log: &Realm) -> Vec<Asked> {
    let open = asks
        .values()
        .filter(|asked| !log.was_named(&asked.ask.key.key));
    let mut open: Vec<Asked> = open.cloned().collect();
    open.sort_by_key(|asked| asked.revision);
    let skipped = open.len().saturating_sub(LISTED);
    open.split_off(skipped)
}

/// Reads the bucket once, in a process that does not follow it.
pub(super) async fn look(bus: &Bus, realm: &Uuid) -> BTreeMap<String, Asked> {
    let mut watch = bus.policy_watch(1);
    let mut asks = BTreeMap::new();
    let all = async {
        let word = *watch.heard.wait_for(Option::is_some).await.ok()?;
        let last = word?.last_revision;
        let mut applied = 0;
        while applied < last {
            let change = watch.changes.recv().await?;
            applied = change.revision;
            if let Some(PolicyKey::Ask(key)) = PolicyKey::parse(&change.key) {
                take(&mut asks, key.as_str(), read(realm, &key, &change));
            }
        }
        Some(())
    };
    // What was read until then is shown.
    let _ = tokio::time::timeout(LOOK_LIMIT, all).await;
    asks
}

/// The ask of a key, however old it is.
pub(super) async fn find(bus: &Bus, realm: &Uuid, key: &str) -> Result<Option<Ask>, Fault> {
    let name = Ask::policy_key(key);
    if PolicyKey::parse(&name).is_none() {
        return Ok(None);
    }
    let value = bus.policy_get(&name).await?;
    Ok(value.and_then(|value| Ask::read(realm, &name, &value.value)))
}

/// Asks with this pair, unless its own ask is there: for a new person, or to be another key of `operator`.
pub(super) async fn put(
    shared: &Shared,
    bus: &Bus,
    pair: &KeyPair,
    operator: Option<&PublicKey>,
) -> Result<(), Fault> {
    let Some(realm) = shared.realm() else {
        return Ok(());
    };
    let failed = || {
        Fault::failed(
            "the ask could not be signed; check this console's keys with `countersign doctor`",
        )
    };
    let own = PublicKey::of(pair).map_err(|_| failed())?;
    let key = PolicyKey::Ask(own.clone().into());
    if find(bus, &realm, own.as_str()).await?.is_some() {
        return Ok(());
    }
    let operator = operator.unwrap_or(&own);
    let console = shared.identity.console_id.to_string();
    let record = SigningKey::of_pair(pair, &realm, operator, "human", Some(&console));
    let payload = json!({
        "v": 1,
        "at": countersign_wire::Timestamp::new(shared.clock.now().into()),
        "name": shared.identity.operator,
        "operator": operator,
        "key": record.map_err(|_| failed())?,
    });
    let (payload, subject) = (payload.to_string(), key.subject());
    let value = SignedEnvelope::seal(pair, Context::Policy, &realm, &subject, payload.as_bytes())
        .and_then(|envelope| envelope.to_bytes())
        .map_err(|_| failed())?;
    let before = revision(bus, &key).await?;
    match bus
        .policy_put(&key.to_string(), before, value.into())
        .await?
    {
        // Refused: somebody wrote in between, and the next look shows what.
        PublishOutcome::Stored { .. } | PublishOutcome::Refused { code: 10_071, .. } => Ok(()),
        PublishOutcome::Refused { code, description } => Err(Fault::bus_unreachable(format!(
            "the bus refuses the ask ({code}: {description}); check that this console may write CS_POLICY"
        ))),
        PublishOutcome::NoAnswer => Err(Fault::bus_unreachable(
            "CS_POLICY did not answer; check with `countersign doctor` that this console may write it",
        )),
    }
}
