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
    use countersign_wire::{OperatorEntry, OperatorList, PublicKey, Sha256Digest};
    use nkeys::KeyPair;

    use super::*;
    use crate::data_dir::DataDir;
    use crate::identity::{Identity, KeyChoice};

    const SUBJECT: &str = "countersign.v1.decision.acme.bot.r1";
    const REALM: Uuid = Uuid::from_u128(7);
    const BEFORE: Uuid = Uuid::from_u128(8);
    const NOW: Uuid = Uuid::from_u128(9);

    fn said(ms: i64, epoch: Uuid) -> Attestation {
        Attestation {
            v: 1,
            payload_digest: Sha256Digest::of_bytes(b"decision"),
            stored_at: countersign_wire::Timestamp::from_unix_millis(ms).unwrap(),
            epoch,
            seq: 3,
        }
    }

    #[test]
    fn only_a_consoles_key_in_force_moves_a_stamp_and_only_back_from_another_epoch() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let identity = Identity::open(&data, "Ada", KeyChoice::File).unwrap();
        let trusted = TrustedKeys::of(&identity);
        let keys = identity.signing();
        let retired = KeyPair::new_user();
        let at = |ms| countersign_wire::Timestamp::from_unix_millis(ms).unwrap();
        let mut entry = OperatorEntry::new(
            PublicKey::of(&retired).unwrap(),
            "gone".into(),
            KeyRole::Auto,
            at(0),
        );
        entry.until = Some(at(40_000));
        trusted.accept(&OperatorList::new(vec![entry]));
        let epoch = NOW.to_string();
        let read = |header: &str, subject: &str, payload: &[u8]| {
            let place = Location {
                realm: &REALM,
                epoch: &epoch,
                subject,
                stamp: Timestamp(50_000),
            };
            accepted(&trusted, place, header, payload).map(|(_, at)| at.0)
        };
        let good = said(10_000, BEFORE)
            .seal(&keys.auto, &REALM, SUBJECT)
            .unwrap();
        assert_eq!(read(&good, SUBJECT, b"decision"), Some(10_000));
        assert_eq!(read(&good, SUBJECT, b"another decision"), None);
        assert_eq!(
            read(&good, "countersign.v1.decision.acme.bot.r2", b"decision"),
            None
        );
        let stranger = KeyPair::new_user();
        let refused = [
            (
                "a person's key",
                said(10_000, BEFORE).seal(&keys.human, &REALM, SUBJECT),
            ),
            (
                "an unknown key",
                said(10_000, BEFORE).seal(&stranger, &REALM, SUBJECT),
            ),
            (
                "a retired key",
                said(10_000, BEFORE).seal(&retired, &REALM, SUBJECT),
            ),
            (
                "this epoch",
                said(10_000, NOW).seal(&keys.auto, &REALM, SUBJECT),
            ),
            (
                "the future",
                said(50_001, BEFORE).seal(&keys.auto, &REALM, SUBJECT),
            ),
            (
                "another realm",
                said(10_000, BEFORE).seal(&keys.auto, &NOW, SUBJECT),
            ),
        ];
        for (why, header) in refused {
            assert_eq!(read(&header.unwrap(), SUBJECT, b"decision"), None, "{why}");
        }
        for header in ["", "{}", &good[1..], &"x".repeat(4_096)] {
            assert_eq!(read(header, SUBJECT, b"decision"), None, "{header}");
        }
    }
}
