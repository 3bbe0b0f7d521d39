//! A realm for the model's consoles: the entries by which they are in it.

use countersign_wire::realm::{Entry, Realm, SigningKey};
use countersign_wire::{Sha256Digest, Stream, realm_subject};
use serde_json::{Value, json};
use uuid::Uuid;

use super::bus::MemoryBus;
use crate::domain::Timestamp;
use crate::identity::Identity;
use crate::ops::TrustedKeys;
use crate::ops::realm::found::entry_one;

pub(in crate::ops) const AT: &str = "2026-11-25T12:00:00.000Z";

pub(super) struct ModelRealm {
    pub(super) realm: Uuid,
    root: Sha256Digest,
    entries: Vec<Vec<u8>>,
}

impl ModelRealm {
    /// The first one founds it and lets the others in; each adds its console's key.
    pub(super) fn of(consoles: &[&Identity]) -> Self {
        let realm = Uuid::new_v4();
        let founder = consoles[0].signing();
        let mut entries = vec![entry_one(consoles[0], &realm, AT).unwrap()];
        let root = Entry::read(&entries[0]).unwrap().digest;
        for identity in &consoles[1..] {
            let keys = identity.signing();
            let key = |pair, role| SigningKey::of_pair(pair, &realm, &keys.human_key, role, None);
            let mut record = json!({
                "id": keys.human_key, "name": identity.operator,
                "keys": [key(&keys.human, "human").unwrap()],
            });
            for (by, signer) in [
                (&founder.human_key, &founder.human),
                (&keys.human_key, &keys.human),
            ] {
                let prev = Entry::read(entries.last().unwrap()).unwrap().digest;
                let n = u64::try_from(entries.len()).unwrap() + 1;
                let mut payload = Entry::frame(n, Some(prev), AT, by);
                payload["operators"] = json!([record]);
                entries.push(Entry::seal(signer, &realm, &payload).unwrap());
                let of: &mut Vec<Value> = record["keys"].as_array_mut().unwrap();
                of.push(key(&keys.auto, "auto").unwrap());
            }
        }
        Self {
            realm,
            root,
            entries,
        }
    }

    /// What a console knows before it has read the stream.
    pub(super) fn trusted(&self) -> TrustedKeys {
        TrustedKeys::of(Realm::new(self.realm, self.root), None)
    }

    /// Stores the entries that the stream does not have, up to so many.
    pub(super) fn store(&self, bus: &mut MemoryBus, now: Timestamp, up_to: usize) {
        for (entry, slot) in self.entries.iter().zip(1..).take(up_to) {
            bus.store(
                Stream::Decisions,
                now,
                realm_subject(slot),
                entry.clone(),
                None,
            );
        }
    }
}
