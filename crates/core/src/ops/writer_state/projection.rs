//! The frame of every projection: what of a batch is new, and how far its stream is projected.
//!
//! A position has three places: row, memory and event. They move as one, or a message is lost or read twice.

use std::ops::Deref;

use countersign_wire::Stream;

use super::super::incoming::{
    At, IncomingDecision, IncomingHello, IncomingReceipt, IncomingRequest, IncomingSpan,
};
use super::{Tx, WriterState};
use crate::runtime::StreamPlace;
use crate::store::{Connection, StoreError, bus_stream};

/// A message of a stream that is projected.
pub(crate) trait OfStream {
    /// The stream it comes from.
    const STREAM: Stream;

    /// Where it is in the stream.
    fn at(&self) -> At;
}

/// What of a batch is not projected yet; there is at least one.
pub(crate) struct Unread<'m, M> {
    /// Under which the stream counts.
    pub(crate) epoch: String,
    /// Sequence behind the last message that was projected before.
    pub(crate) next: i64,
    /// Where the last of them is.
    pub(crate) last: At,
    messages: &'m [M],
}

impl<'m, M> Deref for Unread<'m, M> {
    type Target = &'m [M];

    fn deref(&self) -> &Self::Target {
        &self.messages
    }
}

impl WriterState {
    /// The messages that are not projected yet; none when all are, as after a reconnect.
    pub(crate) fn unread<'m, M: OfStream>(
        &self,
        tx: &Connection,
        messages: &'m [M],
    ) -> Result<Option<Unread<'m, M>>, StoreError> {
        let (epoch, next) = self.place(tx, M::STREAM)?;
        let known = messages.partition_point(|message| message.at().seq < next);
        let messages = &messages[known..];
        Ok(messages.last().map(|last| Unread {
            epoch,
            next,
            last: last.at(),
            messages,
        }))
    }

    /// Notes that these messages are projected, in the transaction of what they became.
    pub(crate) fn projected<M: OfStream>(
        &mut self,
        batch: &mut Tx<'_>,
        unread: Unread<'_, M>,
    ) -> Result<(), StoreError> {
        let Unread { epoch, last, .. } = unread;
        let (stream, next) = (M::STREAM, last.seq + 1);
        bus_stream::advance(batch.tx, stream.name(), &epoch, next, last.stamp)?;
        self.places.insert(stream, (epoch.clone(), next));
        let next = u64::try_from(next).unwrap_or(0);
        let place = StreamPlace { epoch, next };
        batch.effects.positions.insert(stream, place);
        Ok(())
    }

    /// Epoch of a stream, and the first of its messages that is not projected.
    pub(crate) fn place(
        &self,
        tx: &Connection,
        stream: Stream,
    ) -> Result<(String, i64), StoreError> {
        if let Some(place) = self.places.get(&stream) {
            return Ok(place.clone());
        }
        let epoch = self.epoch(stream);
        let next = bus_stream::next_seq(tx, stream.name(), &epoch)?;
        Ok((epoch, next))
    }

    fn epoch(&self, stream: Stream) -> String {
        let epochs = self.bus.as_ref().map(|bus| &bus.epochs);
        epochs
            .and_then(|epochs| epochs.get(stream.name()).cloned())
            .unwrap_or_default()
    }
}

impl OfStream for IncomingRequest {
    const STREAM: Stream = Stream::Requests;

    fn at(&self) -> At {
        self.at
    }
}

impl OfStream for IncomingDecision {
    const STREAM: Stream = Stream::Decisions;

    fn at(&self) -> At {
        self.at
    }
}

impl OfStream for IncomingReceipt {
    const STREAM: Stream = Stream::Receipts;

    fn at(&self) -> At {
        self.at
    }
}

impl OfStream for IncomingHello {
    const STREAM: Stream = Stream::Agents;

    fn at(&self) -> At {
        self.at
    }
}

impl OfStream for IncomingSpan {
    const STREAM: Stream = Stream::Events;

    fn at(&self) -> At {
        self.at
    }
}
