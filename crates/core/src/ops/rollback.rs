//! Rollback: whether a stream still holds what this console read last.
//!
//! The last sequence alone proves too little: an older copy of a store that went on has as many messages, and others.

use countersign_wire::{ConsoleId, PolicyKey, SignedEnvelope, Stream, audit_subject};
use futures::StreamExt;

use uuid::Uuid;

use crate::Fault;
use crate::bus::{Bus, BusError, POLICY_STREAM, StreamMessage, StreamStatus};
use crate::domain::Timestamp;
use crate::store::bus_stream::Position;
use crate::store::policy::PolicyRow;
use crate::store::{Reader, audit, policy};

/// Keys of the shared policy that are looked at at once.
const AT_ONCE: usize = 64;

/// A stream that is the remembered one by its epoch, and does not hold what was read from it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WentBack {
    /// Its name.
    pub(crate) stream: &'static str,
    /// A sentence for a person.
    pub(crate) why: String,
    /// How many messages are gone from its end, where it only ends earlier: what is left of it is what was read.
    pub(crate) shorter_by: Option<u64>,
}

/// What a console remembers of the streams.
pub(crate) struct Remembered {
    positions: Vec<Position>,
    /// The messages by which a stream is known again, at most one of each.
    marks: Vec<Mark>,
    /// Values of the shared policy: the last value of a key is the one message that is never removed.
    values: Vec<Value>,
}

/// The last value of a key of the shared policy that is remembered.
#[derive(Clone)]
struct Value {
    subject: String,
    revision: u64,
    sig: String,
}

/// The last message of a stream that is remembered.
struct Mark {
    stream: &'static str,
    seq: u64,
    is: Identity,
}

enum Identity {
    /// Stored at this moment.
    Stamp(Timestamp),
    /// Stored on this subject.
    Subject(String),
}

impl Remembered {
    /// Takes the positions; reads the last value of each key of the shared policy that this console knows, and the last
    /// anchor, which has no stamp.
    pub(crate) async fn read(
        reader: &Reader,
        console: ConsoleId,
        positions: Vec<Position>,
    ) -> Result<Self, Fault> {
        let mut marks: Vec<Mark> = positions.iter().filter_map(stamp_of_last).collect();
        let values = policy::remembered(reader).await?;
        let values = values.iter().filter_map(Value::of).collect();
        let here = positions
            .iter()
            .find(|at| at.stream == Stream::Audit.name());
        if let Some(here) = here
            && let Some(last) = audit::last_anchor_in(reader, &here.epoch).await?
        {
            let is = Identity::Subject(audit_subject(&console));
            marks.extend(mark(Stream::Audit.name(), last, is));
        }
        Ok(Self {
            positions,
            marks,
            values,
        })
    }

    /// The streams that were rolled back since, each asked from its leader. Errors as [`Bus::read_next`].
    pub(crate) async fn rollback(
        &self,
        bus: &Bus,
        streams: &[StreamStatus],
    ) -> Result<Vec<WentBack>, BusError> {
        let mut all = Vec::new();
        for position in &self.positions {
            let found = streams.iter().find(|stream| stream.name == position.stream);
            let same = |stream: &&StreamStatus| {
                epoch_of(stream) == position.epoch || is_renewed(stream, position)
            };
            let Some(stream) = found.filter(same) else {
                continue;
            };
            let read = u64::try_from(position.next_seq - 1).unwrap_or_default();
            if stream.last_seq < read {
                all.push(fewer(stream, read));
            } else if let Some(mark) = self.marks.iter().find(|mark| mark.stream == stream.name)
                && let Some(message) = bus.read_next(stream.name, ">", mark.seq).await?
                && !mark.fits(&message)
            {
                all.push(another(stream, mark.seq));
            } else if stream.name == POLICY_STREAM
                && let Some(lost) = self.lost_value(bus).await?
            {
                all.push(another(stream, lost));
            }
        }
        Ok(all)
    }

    /// Revision of a value in whose place the bucket has an older one, or none.
    async fn lost_value(&self, bus: &Bus) -> Result<Option<u64>, BusError> {
        let mut read = futures::stream::iter(self.values.clone())
            .map(|value| {
                let bus = bus.clone();
                async move {
                    let lost = value.is_lost(&bus).await;
                    (value.revision, lost)
                }
            })
            .buffered(AT_ONCE);
        while let Some((revision, lost)) = read.next().await {
            if lost? {
                return Ok(Some(revision));
            }
        }
        Ok(None)
    }
}

impl Value {
    /// The oldest values of a key are removed first: while an older one is there, so is this one.
    async fn is_lost(&self, bus: &Bus) -> Result<bool, BusError> {
        let next = bus.read_next(POLICY_STREAM, &self.subject, self.revision);
        let Some(next) = next.await? else {
            return Ok(true);
        };
        if next.seq == self.revision {
            let envelope = SignedEnvelope::from_bytes(&next.payload);
            return Ok(envelope.is_ok_and(|current| current.sig.as_str() != self.sig));
        }
        let first = bus.read_next(POLICY_STREAM, &self.subject, 1).await?;
        Ok(first.is_some_and(|first| first.seq < self.revision))
    }

    /// None of one that a bucket which was made anew has not brought yet.
    fn of(row: &PolicyRow) -> Option<Self> {
        let revision = u64::try_from(row.revision).ok().filter(|seq| *seq > 0)?;
        let subject = PolicyKey::parse(&row.key)?.subject();
        let sig = row.sig.clone();
        Some(Self {
            subject,
            revision,
            sig,
        })
    }
}

impl Mark {
    /// A message removed by retention proves nothing either way.
    fn fits(&self, message: &StreamMessage) -> bool {
        message.seq != self.seq
            || match &self.is {
                Identity::Stamp(at) => Timestamp::from(message.stamp) == *at,
                Identity::Subject(subject) => message.subject == *subject,
            }
    }
}

fn mark(stream: &'static str, seq: i64, is: Identity) -> Option<Mark> {
    let seq = u64::try_from(seq).ok().filter(|seq| *seq > 0)?;
    Some(Mark { stream, seq, is })
}

/// None for a stream without a message read, or without a projection.
fn stamp_of_last(position: &Position) -> Option<Mark> {
    let stream = Stream::ALL
        .into_iter()
        .find(|of| *of != Stream::Audit && of.name() == position.stream)?;
    let is = Identity::Stamp(Timestamp(position.last_ts));
    mark(stream.name(), position.next_seq - 1, is)
}

/// Epoch as positions name it; empty for a stream without one.
pub(crate) fn epoch_of(stream: &StreamStatus) -> String {
    let epoch = stream.epoch.map(|epoch| epoch.to_string());
    epoch.unwrap_or_default()
}

/// Whether a recovery, at this console or another one, has renewed the epoch that is remembered.
pub(crate) fn is_renewed(stream: &StreamStatus, position: &Position) -> bool {
    stream.epoch == Some(epoch_after(&position.epoch))
}

/// The epoch of a stream that was rolled back: the same for every console that notices it.
pub(crate) fn epoch_after(epoch: &str) -> Uuid {
    let text = format!("countersign-epoch-after\n{epoch}");
    let digest = countersign_wire::Sha256Digest::of_bytes(text.as_bytes()).hex();
    let half = u128::from_str_radix(&digest[..32], 16).unwrap_or_default();
    uuid::Builder::from_u128(half)
        .with_variant(uuid::Variant::RFC4122)
        .with_version(uuid::Version::Random)
        .into_uuid()
}

fn fewer(stream: &StreamStatus, read: u64) -> WentBack {
    WentBack {
        stream: stream.name,
        why: format!(
            "the stream {} was rolled back from message {read} to {}; see `countersign bus recover --dry-run`",
            stream.name, stream.last_seq
        ),
        shorter_by: Some(read - stream.last_seq),
    }
}

fn another(stream: &StreamStatus, read: u64) -> WentBack {
    WentBack {
        stream: stream.name,
        why: format!(
            "the stream {} was rolled back and has new messages: message {read} is not the one that was read here; see `countersign bus recover --dry-run`",
            stream.name
        ),
        shorter_by: None,
    }
}
