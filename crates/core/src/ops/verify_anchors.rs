//! Compares the chain with its anchors, the signed heads on the bus.
//!
//! Only anchors that this console signed count, and a missing one is an error.

use std::collections::{HashMap, HashSet};

use countersign_wire::{Anchor, Context, SignedEnvelope, read_json, verify};
use uuid::Uuid;

use super::audit_verify::FirstBad;
use crate::bus::StreamMessage;
use crate::store::audit::StoredAnchor;

/// The anchors of a console, as far as they could be read.
pub(crate) struct Anchors {
    /// Those that it keeps itself.
    pub(crate) here: Vec<StoredAnchor>,
    /// Those on the bus, in the stream's order; none when the bus did not answer.
    pub(crate) on_bus: Option<Vec<StoredAnchor>>,
    /// Epoch of the stream that holds them now.
    pub(crate) epoch: Option<String>,
}

/// Who signs the anchors, and for which subject.
pub(crate) struct Signer {
    pub(crate) realm: Option<Uuid>,
    pub(crate) subject: String,
    /// The console's own key, and those that it had before.
    pub(crate) keys: Vec<String>,
}

impl Anchors {
    /// All of them; the same one may occur twice.
    pub(crate) fn all(&self) -> impl Iterator<Item = &StoredAnchor> {
        self.here.iter().chain(self.on_bus.iter().flatten())
    }

    /// What is wrong with them, and the last row that one of them covers. `hashes` are those of the
    /// rows that anchors name, `last` is the chain's last row, `explained` the places in the stream of
    /// anchors whose rows a restore lost.
    pub(crate) fn check(
        &self,
        signer: &Signer,
        hashes: &HashMap<i64, String>,
        last: i64,
        explained: &HashSet<i64>,
    ) -> (i64, Vec<FirstBad>) {
        let (mut covered, mut bad) = (0, Vec::new());
        for stored in self.all() {
            match signer.read(stored) {
                Some((seq, hash)) if hashes.get(&seq) == Some(&hash) => covered = covered.max(seq),
                Some(_) if explained.contains(&stored.stream_seq) => {}
                Some((seq, _)) if seq > last => bad.push(FirstBad::new(
                    "audit",
                    seq.to_string(),
                    &format!("the log ends at row {last}, before this row, which was anchored"),
                )),
                Some((seq, _)) => bad.push(FirstBad::new(
                    "audit",
                    seq.to_string(),
                    "it is not the row that was anchored",
                )),
                None => bad.push(FirstBad::new(
                    "anchors",
                    name(stored),
                    "its signature is not valid",
                )),
            }
        }
        bad.extend(self.missing().map(|gone| {
            FirstBad::new(
                "anchors",
                name(gone),
                "the bus acknowledged it, but no longer has it",
            )
        }));
        (covered, bad)
    }

    /// Anchors that the bus must hold: acknowledged by the stream that is there now.
    fn missing(&self) -> impl Iterator<Item = &StoredAnchor> {
        // By what it says and not by its place: `bus recover` lays lost ones down again.
        let there: Option<HashSet<&[u8]>> = self
            .on_bus
            .as_ref()
            .map(|anchors| anchors.iter().map(|anchor| &anchor.payload[..]).collect());
        self.here.iter().filter(move |kept| {
            let same_stream = kept.epoch.is_some() && kept.epoch == self.epoch;
            same_stream
                && there
                    .as_ref()
                    .is_some_and(|there| !there.contains(&kept.payload[..]))
        })
    }
}

impl Signer {
    /// Row and hash that an anchor names; none when this console has not signed it.
    fn read(&self, stored: &StoredAnchor) -> Option<(i64, String)> {
        let realm = self.realm?;
        let signed = |key: &String| {
            let (subject, payload) = (self.subject.as_str(), stored.payload.as_slice());
            verify(key, Context::Audit, &realm, subject, payload, &stored.sig).is_ok()
        };
        let anchor: Anchor = read_json(&stored.payload).ok()?;
        self.keys
            .iter()
            .any(signed)
            .then_some((i64::try_from(anchor.seq).ok()?, anchor.hash))
    }
}

/// The row that an anchor names, or its place on the bus where it names none.
fn name(stored: &StoredAnchor) -> String {
    match stored.seq {
        0 => format!("CS_AUDIT/{}", stored.stream_seq),
        seq => seq.to_string(),
    }
}

/// What is on this console's audit subject, readable or not; only the console itself can sign there.
pub(super) fn anchor_of(message: &StreamMessage) -> StoredAnchor {
    let opened = SignedEnvelope::from_bytes(&message.payload).ok();
    let opened = opened.and_then(|envelope| Some((envelope.payload_bytes().ok()?, envelope)));
    let (payload, sig) = match opened {
        Some((payload, envelope)) => (payload, envelope.sig.to_string()),
        None => (message.payload.to_vec(), String::new()),
    };
    let seq = read_json::<Anchor>(&payload).map_or(0, |anchor| anchor.seq);
    StoredAnchor {
        seq: i64::try_from(seq).unwrap_or(0),
        payload,
        sig,
        stream_seq: i64::try_from(message.seq).unwrap_or(0),
        epoch: None,
    }
}
