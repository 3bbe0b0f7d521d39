//! The first stamp of a message of a recovered stream (`docs/recover.md`, "Stamps").
//!
//! An attestation that could make a late decision look early is ignored: one of a key that belongs to no console when
//! the message is stored again, of a moment after that, of the epoch in which the message is now, or of another log.

use countersign_wire::realm::Realm;
use countersign_wire::{Attestation, KeyRole, RequestKey};
use serde_json::{Value, json};

use super::incoming::IncomingDecision;
use super::writer_state::{Tx, WriterState};
use crate::domain::Timestamp;

/// When a message was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredAt {
    /// The moment by which the message is judged.
    pub(super) at: Timestamp,
    /// The sequence at which its keys are looked at.
    pub(super) sequence: u64,
    /// The console's key on whose word it is another than the server's stamp.
    pub(super) by: Option<String>,
}

impl StoredAt {
    /// What the audit log says of it; null where the server's stamp is all there is.
    pub(super) fn detail(&self) -> Value {
        match &self.by {
            Some(by) => json!({ "stored_at": self.at.0, "by": by }),
            None => Value::Null,
        }
    }
}

/// The moment and the place of a message of the stream's present epoch.
pub(super) fn stored_at(writer: &WriterState, epoch: &str, message: &IncomingDecision) -> StoredAt {
    let sequence = u64::try_from(message.at.seq).unwrap_or(0);
    let place = Location {
        epoch,
        subject: &message.subject,
        stamp: message.at.stamp,
        sequence,
    };
    let said = message.attestation.as_deref();
    let said = said.and_then(|header| accepted(&writer.trusted.log(), place, header, &message.raw));
    said.unwrap_or(StoredAt {
        at: message.at.stamp,
        sequence,
        by: None,
    })
}

/// Compares the word about a message with the stamp at which this console saw it stored: somebody's store
/// or key is not to be trusted where they differ. The decision is the same: that is noted, and no alarm.
pub(super) fn compare(batch: &mut Tx<'_>, key: &RequestKey, reported: &StoredAt, first_ms: i64) {
    let Some(by) = reported.by.as_ref().filter(|_| reported.at.0 != first_ms) else {
        return;
    };
    let name = key.to_string();
    let detail = json!({ "attested": reported.detail(), "stored_at": first_ms });
    batch.record(by.clone(), "attestation_differs", name, detail);
}

/// Where a message is now.
#[derive(Clone, Copy)]
struct Location<'a> {
    epoch: &'a str,
    subject: &'a str,
    stamp: Timestamp,
    sequence: u64,
}

fn accepted(log: &Realm, place: Location<'_>, header: &str, payload: &[u8]) -> Option<StoredAt> {
    let (key, said) = Attestation::open(header, log.realm(), place.subject, payload).ok()?;
    // By the log where it was stored again: a key that has ended says nothing new.
    let term = log.term(key.as_str(), Some(place.sequence))?;
    let console = term.key.role.known() == Some(KeyRole::Auto);
    let before = Timestamp::from(said.stored_at.get());
    let elsewhere = said.epoch.to_string() != place.epoch;
    if !console || !elsewhere || before > place.stamp || !log.holds(said.n, &said.digest) {
        return None;
    }
    // The keys count as they did behind that entry.
    let at = usize::try_from(said.n).ok()?.checked_sub(1)?;
    Some(StoredAt {
        at: before,
        sequence: log.chain.get(at)?.sequence + 1,
        by: Some(key.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use countersign_wire::realm::{Entry, SigningKey};
    use countersign_wire::{PublicKey, Sha256Digest};
    use nkeys::KeyPair;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    const SUBJECT: &str = "countersign.v1.decision.acme.bot.r1";
    const REALM: Uuid = Uuid::from_u128(7);
    const BEFORE: Uuid = Uuid::from_u128(8);
    const NOW: Uuid = Uuid::from_u128(9);

    fn said(ms: i64, epoch: Uuid, digest: Sha256Digest) -> Attestation {
        Attestation {
            v: 1,
            payload_digest: Sha256Digest::of_bytes(b"decision"),
            stored_at: countersign_wire::Timestamp::from_unix_millis(ms).unwrap(),
            epoch,
            seq: 3,
            n: 1,
            digest,
        }
    }

    #[test]
    fn only_a_consoles_key_in_force_moves_a_stamp_and_only_back_from_another_epoch_of_this_log() {
        let [human, auto, ended] = [(); 3].map(|()| KeyPair::new_user());
        let own = PublicKey::of(&human).unwrap();
        let key = |pair, role| SigningKey::of_pair(pair, &REALM, &own, role, None).unwrap();
        let mut keys = vec![
            key(&human, "human"),
            key(&auto, "auto"),
            key(&ended, "auto"),
        ];
        let entry = |n, prev, keys: &[Value]| {
            let mut payload = Entry::frame(n, prev, "2026-11-25T12:00:00.000Z", &own);
            payload["operators"] = json!([{"id": own, "name": "Ada", "admin": true, "keys": keys}]);
            Entry::seal(&human, &REALM, &payload).unwrap()
        };
        let first = entry(1, None, &keys);
        let root = Entry::read(&first).unwrap().digest;
        keys.pop();
        let second = entry(2, Some(root), &keys);
        let mut log = Realm::new(REALM, root);
        log.apply(1, 1, &first);
        log.apply(2, 2, &second);
        let epoch = NOW.to_string();
        let read = |header: &str, subject: &str, payload: &[u8]| {
            let place = Location {
                epoch: &epoch,
                subject,
                stamp: Timestamp(50_000),
                sequence: 5,
            };
            accepted(&log, place, header, payload).map(|stored| (stored.at.0, stored.sequence))
        };
        let good = said(10_000, BEFORE, root)
            .seal(&auto, &REALM, SUBJECT)
            .unwrap();
        // The keys as they counted behind entry 1.
        assert_eq!(read(&good, SUBJECT, b"decision"), Some((10_000, 2)));
        assert_eq!(read(&good, SUBJECT, b"another decision"), None);
        let elsewhere = "countersign.v1.decision.acme.bot.r2";
        assert_eq!(read(&good, elsewhere, b"decision"), None);
        let stranger = KeyPair::new_user();
        let other = Sha256Digest::of_bytes(b"other");
        let refused = [
            ("a person's key", &human, said(10_000, BEFORE, root), REALM),
            (
                "an unknown key",
                &stranger,
                said(10_000, BEFORE, root),
                REALM,
            ),
            (
                "a key that ended",
                &ended,
                said(10_000, BEFORE, root),
                REALM,
            ),
            ("this epoch", &auto, said(10_000, NOW, root), REALM),
            ("the future", &auto, said(50_001, BEFORE, root), REALM),
            ("another realm", &auto, said(10_000, BEFORE, root), NOW),
            ("another log", &auto, said(10_000, BEFORE, other), REALM),
        ];
        for (why, by, said, realm) in refused {
            let header = said.seal(by, &realm, SUBJECT).unwrap();
            assert_eq!(read(&header, SUBJECT, b"decision"), None, "{why}");
        }
        for header in ["", "{}", &good[1..], &"x".repeat(4_096)] {
            assert_eq!(read(header, SUBJECT, b"decision"), None, "{header}");
        }
    }
}
