//! Joins or creates the seven stores and reads who the bus is: its realm and its epochs.
//!
//! An existing stream is never changed, and a stream is created only on request: a store that vanished must be noticed,
//! not replaced by an empty one.

use super::connection::Bus;
use super::storage::{is_room, stream_limit};
use super::stream_config::{self, EPOCH, REALM, ROOT, Store, StreamDifference};
use super::{BusError, leader};
use async_nats::jetstream::stream::Info;
use countersign_wire::{Sha256Digest, Stream};
use uuid::Uuid;

/// The names of the stores, in the order in which they are created.
pub const STREAMS: [&str; 7] = {
    let mut names = [""; 7];
    let mut at = 0;
    while at < names.len() {
        names[at] = Store::ALL[at].name();
        at += 1;
    }
    names
};

/// JetStream's code for "there is another stream by this name".
const NAME_IN_USE: u64 = 10058;
/// Each round another console won a race; there are only seven streams to win.
const ROUNDS: usize = 8;

/// Bytes that these stores reserve when they are made: each replica its own.
#[must_use]
pub fn reserved(names: &[&'static str], replicas: usize) -> u64 {
    let stores = Store::ALL
        .into_iter()
        .filter(|store| names.contains(&store.name()));
    let most = stores.map(|store| stream_config::config(store, 1).max_bytes);
    let once: u64 = most.filter_map(|bytes| u64::try_from(bytes).ok()).sum();
    once.saturating_mul(replicas as u64)
}

/// One store as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamStatus {
    /// Its name.
    pub name: &'static str,
    /// Made when the stream was created; another one means another stream. None on a stream that
    /// was created without Countersign.
    pub epoch: Option<Uuid>,
    /// Sequence of the oldest message, 0 or 1 in an empty stream.
    pub first_seq: u64,
    /// Sequence of the newest message, 0 in a stream that never had one. Also of one that was removed.
    pub last_seq: u64,
    /// How many messages are there.
    pub messages: u64,
}

/// Which bus this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusIdentity {
    /// The realm of all its streams.
    pub realm: Uuid,
    /// The digest of the realm log's entry 1; none where `CS_DECISIONS` does not name one.
    pub root: Option<Sha256Digest>,
    /// Every store, in the order of [`STREAMS`].
    pub streams: Vec<StreamStatus>,
    /// Settings that break a promise of the protocol; empty on a sound bus.
    pub differences: Vec<StreamDifference>,
}

/// A realm whose stores are to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Founding {
    /// The realm, on a bus that has none.
    pub realm: Uuid,
    /// The digest of the realm log's entry 1, which is signed for that realm.
    pub root: Sha256Digest,
}

/// The stores of a bus as they are, the missing ones named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The realm of those that are there; none when none names one.
    pub realm: Option<Uuid>,
    /// The digest of the realm log's entry 1, as `CS_DECISIONS` names it.
    pub root: Option<Sha256Digest>,
    /// Names of those that are not there.
    pub missing: Vec<&'static str>,
    /// Those that are there, in the order of [`STREAMS`].
    pub streams: Vec<StreamStatus>,
    /// Settings that break a promise of the protocol.
    pub differences: Vec<StreamDifference>,
}

impl Bus {
    /// Reads the stores, creating missing ones if there is a founding; `replicas` (1 to 5) counts only for those.
    ///
    /// Missing ones on a bus that has a realm join it; the realm log begins only with an entry of that realm. Errors:
    /// `bus_another_realm`, `bus_streams_missing`, `bus_realm_conflict`, `bus_refused`, `bus_no_jetstream`,
    /// `bus_timed_out`, `bus_disconnected`.
    pub async fn ensure(
        &self,
        founding: Option<&Founding>,
        replicas: usize,
    ) -> Result<BusIdentity, BusError> {
        for _ in 0..ROUNDS {
            let mut found = self.find_all().await?;
            let missing: Vec<&'static str> = found
                .iter()
                .filter(|(_, info)| info.is_none())
                .map(|(store, _)| store.name())
                .collect();
            let realm = common_realm(&found)?;
            let Some(founding) = founding.filter(|_| !missing.is_empty()) else {
                if !missing.is_empty() {
                    return Err(BusError::StreamsMissing { missing });
                }
                let realm = realm.unwrap_or_default();
                return Ok(identity(realm, &found));
            };
            let realm = realm.unwrap_or(founding.realm);
            if realm != founding.realm && missing.contains(&Stream::Decisions.name()) {
                return Err(BusError::AnotherRealm { realm });
            }
            let founding = Founding { realm, ..*founding };
            if self.create_all(&mut found, &founding, replicas).await? {
                return Ok(identity(realm, &found));
            }
        }
        Err(BusError::TimedOut {
            what: "the creation of the streams, because other consoles create them too".into(),
        })
    }

    /// Reads the stores and creates nothing. Errors as [`Bus::ensure`], none for missing ones.
    pub async fn survey(&self) -> Result<Survey, BusError> {
        let found = self.find_all().await?;
        let realm = common_realm(&found)?;
        let missing = found.iter().filter(|(_, info)| info.is_none());
        let missing = missing.map(|(store, _)| store.name()).collect();
        let BusIdentity {
            root,
            streams,
            differences,
            ..
        } = identity(realm.unwrap_or_default(), &found);
        Ok(Survey {
            realm,
            root,
            missing,
            streams,
            differences,
        })
    }

    /// Gives a store another epoch: every console notices that it is not the remembered one.
    pub async fn renew_epoch(&self, name: &str, epoch: Uuid) -> Result<(), BusError> {
        let Some(info) = leader::stream_info(self, name).await? else {
            return Ok(());
        };
        let mut config = info.config;
        config.metadata.insert(EPOCH.into(), epoch.to_string());
        leader::update_stream(self, &config).await.map(|_| ())
    }

    /// Epoch of one stream as it is now; none where it has none. Errors as [`Bus::ensure`].
    pub async fn epoch(&self, stream: &str) -> Result<Option<Uuid>, BusError> {
        let info = leader::stream_info(self, stream).await?;
        Ok(info.and_then(|info| uuid(&info, EPOCH)))
    }

    async fn find_all(&self) -> Result<Vec<(Store, Option<Info>)>, BusError> {
        let mut found = Vec::with_capacity(Store::ALL.len());
        for store in Store::ALL {
            found.push((store, leader::stream_info(self, store.name()).await?));
        }
        Ok(found)
    }

    /// False when another console created one of them in between.
    async fn create_all(
        &self,
        found: &mut [(Store, Option<Info>)],
        founding: &Founding,
        replicas: usize,
    ) -> Result<bool, BusError> {
        for (store, info) in found.iter_mut().filter(|(_, info)| info.is_none()) {
            let mut config = stream_config::config(*store, replicas);
            config.metadata = stream_config::metadata(*store, &founding.realm, &founding.root);
            match leader::create_stream(self, &config).await {
                Ok(created) => *info = Some(created),
                Err(BusError::Refused {
                    code: NAME_IN_USE, ..
                }) => return Ok(false),
                Err(BusError::Refused {
                    code, description, ..
                }) if is_room(code, &description) => {
                    let stream = store.name();
                    return Err(BusError::NoRoom {
                        stream,
                        gib: reserved(&STREAMS, replicas) >> 30,
                        code,
                        description,
                    });
                }
                Err(BusError::Refused {
                    code, description, ..
                }) if stream_limit(code, &description).is_some() => {
                    let way = stream_limit(code, &description).unwrap_or_default();
                    let stream = store.name();
                    return Err(BusError::StreamLimit {
                        stream,
                        code,
                        description,
                        way,
                    });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Names of the streams that mirror one of the stores or take its messages in: they may answer in its place.
    pub async fn mirrors_of(&self, name: &str) -> Result<Vec<String>, BusError> {
        let mut found = Vec::new();
        let mut offset = 0;
        loop {
            let page = leader::list_streams(self, offset).await?;
            let copies = page.iter().filter(|config| {
                let mirror = config.mirror.iter();
                let mut sources = mirror.chain(config.sources.iter().flatten());
                sources.any(|source| source.name == name)
            });
            found.extend(copies.map(|config| config.name.clone()));
            if page.is_empty() {
                return Ok(found);
            }
            offset += page.len();
        }
    }

    /// The newest sequence in a stream, asked from its leader.
    pub async fn last_sequence(&self, stream: &str) -> Result<u64, BusError> {
        match leader::stream_info(self, stream).await? {
            Some(info) => Ok(info.state.last_sequence),
            None => Err(BusError::StreamsMissing {
                missing: STREAMS.into_iter().filter(|name| *name == stream).collect(),
            }),
        }
    }
}

fn common_realm(found: &[(Store, Option<Info>)]) -> Result<Option<Uuid>, BusError> {
    let named: Vec<(&str, Uuid)> = found
        .iter()
        .filter_map(|(store, info)| Some((store.name(), uuid(info.as_ref()?, REALM)?)))
        .collect();
    let Some(&(_, realm)) = named.first() else {
        return Ok(None);
    };
    if named.iter().all(|(_, other)| *other == realm) {
        return Ok(Some(realm));
    }
    Err(BusError::RealmConflict {
        realms: named
            .iter()
            .map(|(name, realm)| format!("{name}={realm}"))
            .collect(),
    })
}

fn uuid(info: &Info, key: &str) -> Option<Uuid> {
    info.config.metadata.get(key)?.parse().ok()
}

fn identity(realm: Uuid, found: &[(Store, Option<Info>)]) -> BusIdentity {
    let mut streams = Vec::with_capacity(found.len());
    let mut differences = Vec::new();
    let mut root = None;
    for (store, info) in found {
        let Some(info) = info else { continue };
        differences.extend(stream_config::differences(*store, &info.config));
        let mut lacks = |key: &str, what: &str| {
            differences.push(StreamDifference {
                stream: store.name().into(),
                field: "metadata",
                expected: format!("{key}: {what}"),
                found: info
                    .config
                    .metadata
                    .get(key)
                    .map_or_else(|| "none".into(), |text| text.escape_default().to_string()),
            });
        };
        for key in [REALM, EPOCH] {
            if uuid(info, key).is_none() {
                lacks(key, "a UUID");
            }
        }
        if *store == Store::Stream(Stream::Decisions) {
            root = info
                .config
                .metadata
                .get(ROOT)
                .and_then(|text| text.parse().ok());
            if root.is_none() {
                lacks(ROOT, "a digest");
            }
        }
        streams.push(StreamStatus {
            name: store.name(),
            epoch: uuid(info, EPOCH),
            first_seq: info.state.first_sequence,
            last_seq: info.state.last_sequence,
            messages: info.state.messages,
        });
    }
    BusIdentity {
        realm,
        root,
        streams,
        differences,
    }
}
