//! How a realm begins: its first entry, and the stream that names it.

use std::time::Duration;

use countersign_wire::realm::{Entry, Realm, SigningKey};
use countersign_wire::{Sha256Digest, Stream};
use serde_json::json;
use uuid::Uuid;

use super::write;
use crate::Fault;
use crate::bus::{Bus, BusError, BusIdentity, Founding};
use crate::clock::{BusClock, Clock};
use crate::data_dir::DataDir;
use crate::domain::Timestamp;
use crate::identity::Identity;
use crate::ops::job::Job;
use crate::runtime::{Shared, stopped};
use crate::store::{self, Reader, meta, realm_log};

const FOUND_LIMIT: Duration = Duration::from_secs(10);

/// Entry 1 of a realm that this console founds.
pub(in crate::ops) fn entry_one(
    identity: &Identity,
    realm: &Uuid,
    at: &str,
) -> Result<Vec<u8>, Fault> {
    let failed = |_| {
        Fault::failed(
            "the realm's first entry could not be signed; check this console's keys with `countersign doctor`",
        )
    };
    let keys = identity.signing();
    let console = identity.console_id.to_string();
    let own = &keys.human_key;
    let key = |pair, role| SigningKey::of_pair(pair, realm, own, role, Some(&console));
    let mut payload = Entry::frame(1, None, at, own);
    payload["operators"] = json!([{
        "id": own, "name": identity.operator, "admin": true,
        "keys": [key(&keys.human, "human").map_err(failed)?, key(&keys.auto, "auto").map_err(failed)?],
    }]);
    payload["realm"] = json!({"acceptance": false});
    Entry::seal(&keys.human, realm, &payload).map_err(failed)
}

/// An entry 1 that was signed here, and for which realm.
struct Kept {
    founding: Founding,
    entry: Vec<u8>,
}

impl Kept {
    fn read(text: &str) -> Option<Self> {
        let (realm, entry) = text.split_once('\n')?;
        let root = Entry::read(entry.as_bytes())?.digest;
        let founding = Founding {
            realm: realm.parse().ok()?,
            root,
        };
        Some(Self {
            founding,
            entry: entry.as_bytes().to_vec(),
        })
    }
}

async fn kept(shared: &Shared) -> Result<Option<Kept>, Fault> {
    let text = meta::get(&shared.reader, meta::FOUNDING).await?;
    Ok(text.as_deref().and_then(Kept::read))
}

/// An entry 1 for a realm, and the text that keeps it.
fn signed(identity: &Identity, realm: Uuid, now: Timestamp) -> Result<(Kept, String), Fault> {
    let at = countersign_wire::Timestamp::new(now.into()).to_string();
    let entry = entry_one(identity, &realm, &at)?;
    let text = format!("{realm}\n{}", String::from_utf8_lossy(&entry));
    let kept = Kept::read(&text);
    let kept = kept.ok_or_else(|| Fault::failed("the realm's first entry cannot be read"))?;
    Ok((kept, text))
}

async fn put(shared: &Shared, text: String) -> Result<(), Fault> {
    let (job, done) = Job::asked(move |_, batch| meta::put(batch.tx, meta::FOUNDING, &text));
    shared.streams.send(job).await.map_err(|_| stopped())?;
    done.await.map(drop).map_err(|_| stopped())
}

/// Reads the stores, and makes them in a folder that has met no bus. Whoever makes `CS_DECISIONS` is the founder.
pub(in crate::ops) async fn ensure(
    shared: &Shared,
    bus: &Bus,
    create: bool,
) -> Result<BusIdentity, FoundError> {
    match bus.ensure(None, shared.replicas).await {
        Err(BusError::StreamsMissing { .. }) if create => {}
        found => return Ok(found?),
    }
    let mut kept = match kept(shared).await? {
        Some(kept) => kept,
        None => sign(shared, Uuid::new_v4()).await?,
    };
    loop {
        match bus.ensure(Some(&kept.founding), shared.replicas).await {
            Err(BusError::AnotherRealm { realm }) => kept = sign(shared, realm).await?,
            found => return Ok(found?),
        }
    }
}

/// Signs an entry 1, and keeps it before anything names it.
async fn sign(shared: &Shared, realm: Uuid) -> Result<Kept, Fault> {
    let (kept, text) = signed(&shared.identity, realm, shared.clock.now())?;
    put(shared, text).await?;
    Ok(kept)
}

/// Makes the stores of an outside server for a folder that no console runs in: with the realm and root that the folder
/// knows, or with its own as the founder.
///
/// # Errors
/// `ErrorCode::Environment`, `ErrorCode::BusUnreachable`.
pub async fn init(
    data: &DataDir,
    identity: &Identity,
    bus: &Bus,
    replicas: usize,
) -> Result<BusIdentity, Fault> {
    let (mut writer, reader) = store::open(&data.database()).await?;
    let made = async {
        let known = known(&reader).await?;
        if let Some(founding) = known {
            return Ok(bus.ensure(Some(&founding), replicas).await?);
        }
        let text = meta::get(&reader, meta::FOUNDING).await?;
        let clock = BusClock::new();
        clock.follow(bus.clock().clone());
        let now = clock.now();
        let mut keep = |text: &str| {
            let tx = writer.begin()?;
            meta::put(&tx, meta::FOUNDING, text)?;
            tx.commit()
        };
        let mut kept = match text.as_deref().and_then(Kept::read) {
            Some(kept) => kept,
            None => {
                let (kept, text) = signed(identity, Uuid::new_v4(), now)?;
                keep(&text)?;
                kept
            }
        };
        let identity = loop {
            match bus.ensure(Some(&kept.founding), replicas).await {
                Err(BusError::AnotherRealm { realm }) => {
                    let (other, text) = signed(identity, realm, now)?;
                    keep(&text)?;
                    kept = other;
                }
                found => break found?,
            }
        };
        if identity.root == Some(kept.founding.root) {
            let mut log = Realm::new(kept.founding.realm, kept.founding.root);
            first(bus, &mut log, &kept.entry).await?;
        }
        Ok(identity)
    };
    let made = made.await;
    reader.close().await;
    writer.close()?;
    made
}

/// The realm and root that a folder knows.
async fn known(reader: &Reader) -> Result<Option<Founding>, Fault> {
    let realm = meta::get(reader, meta::REALM).await?;
    let root = meta::get(reader, meta::ROOT).await?;
    let both = realm.zip(root);
    Ok(both.and_then(|(realm, root)| {
        Some(Founding {
            realm: realm.parse().ok()?,
            root: root.parse().ok()?,
        })
    }))
}

/// Publishes entry 1, unless the log has begun.
async fn first(bus: &Bus, log: &mut Realm, entry: &[u8]) -> Result<(), Fault> {
    let give_up = tokio::time::Instant::now() + FOUND_LIMIT;
    loop {
        write::look(bus, log).await?;
        if !log.chain.is_empty() || write::publish(bus, log, entry).await? {
            return Ok(());
        }
        if tokio::time::Instant::now() >= give_up {
            return Err(Fault::bus_unreachable(
                "the realm's first entry could not be stored; check that this console may write CS_DECISIONS",
            ));
        }
    }
}

/// Why the stores are not there.
pub(in crate::ops) enum FoundError {
    Bus(BusError),
    Other(Fault),
}

impl From<BusError> for FoundError {
    fn from(error: BusError) -> Self {
        Self::Bus(error)
    }
}

impl From<Fault> for FoundError {
    fn from(error: Fault) -> Self {
        Self::Other(error)
    }
}

impl From<crate::store::StoreError> for FoundError {
    fn from(error: crate::store::StoreError) -> Self {
        Self::Other(error.into())
    }
}

impl From<FoundError> for Fault {
    fn from(error: FoundError) -> Self {
        match error {
            FoundError::Bus(error) => error.into(),
            FoundError::Other(error) => error,
        }
    }
}

/// Publishes the entry 1 that is kept, where the stream names it, and waits until it is read.
pub(in crate::ops) async fn publish_founding(
    shared: &Shared,
    bus: &Bus,
    root: &Sha256Digest,
) -> Result<(), Fault> {
    let Some(kept) = kept(shared).await? else {
        return Ok(());
    };
    if kept.founding.root == *root {
        let mut log = Realm::new(kept.founding.realm, *root);
        first(bus, &mut log, &kept.entry).await?;
        let mut changes = shared.trusted.changes();
        let read = changes.wait_for(|log| !log.chain.is_empty());
        if tokio::time::timeout(FOUND_LIMIT, read).await.is_err() {
            return Err(Fault::bus_unreachable(
                "the realm's first entry was stored and is not read yet; see `countersign status`",
            ));
        }
    }
    put(shared, String::new()).await
}
