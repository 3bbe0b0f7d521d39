//! Whether a stream still holds what this console read last.
//!
//! Refuses to go by the number of messages alone: an older copy of a store that went on has as many, and others. Of the
//! shared policy and of the anchors the console keeps no stamp of the message that it read last; they go by the number.

use countersign_wire::Stream;

use crate::bus::{Bus, BusError, StreamStatus};
use crate::domain::Timestamp;
use crate::store::bus_stream::Position;

/// A stream that is the remembered one by its epoch, and does not hold what was read from it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WentBack {
    /// Its name.
    pub(crate) stream: &'static str,
    /// A sentence for a person.
    pub(crate) why: String,
}

/// The streams that went back since these positions were reached, each asked from its leader. Errors as [`Bus::read_next`].
pub(crate) async fn went_back(
    bus: &Bus,
    streams: &[StreamStatus],
    positions: &[Position],
) -> Result<Vec<WentBack>, BusError> {
    let mut all = Vec::new();
    for position in positions {
        let found = streams.iter().find(|stream| stream.name == position.stream);
        let Some(stream) = found.filter(|stream| epoch_of(stream) == position.epoch) else {
            continue;
        };
        let read = last_read(position);
        if stream.last_seq < read {
            all.push(fewer(stream, read));
        } else if let Some(stamp) = stamp(position)
            && let Some(message) = bus.read_next(stream.name, ">", read).await?
            // One that was removed, as old ones are, tells nothing.
            && message.seq == read
            && Timestamp::from(message.stamp) != stamp
        {
            all.push(another(stream, read));
        }
    }
    Ok(all)
}

/// Epoch as positions name it; empty for a stream without one.
pub(crate) fn epoch_of(stream: &StreamStatus) -> String {
    let epoch = stream.epoch.map(|epoch| epoch.to_string());
    epoch.unwrap_or_default()
}

/// 0 when nothing was read.
fn last_read(position: &Position) -> u64 {
    u64::try_from(position.next_seq - 1).unwrap_or_default()
}

/// When the message that was read last was stored; none where that is not kept.
fn stamp(position: &Position) -> Option<Timestamp> {
    let projected = Stream::ALL
        .iter()
        .any(|of| *of != Stream::Audit && of.name() == position.stream);
    (projected && position.next_seq > 1).then_some(Timestamp(position.last_ts))
}

fn fewer(stream: &StreamStatus, read: u64) -> WentBack {
    WentBack {
        stream: stream.name,
        why: format!(
            "the stream {} went back from {read} to {}; see `countersign bus recover --dry-run`",
            stream.name, stream.last_seq
        ),
    }
}

fn another(stream: &StreamStatus, read: u64) -> WentBack {
    WentBack {
        stream: stream.name,
        why: format!(
            "the stream {} went back and on again: its message {read} is not the one that was read here; see `countersign bus recover --dry-run`",
            stream.name
        ),
    }
}
