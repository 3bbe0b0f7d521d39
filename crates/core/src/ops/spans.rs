//! Projects `CS_EVENTS`: what agents did, the last state of each span.
//!
//! Refuses to drop anything: what is no span is quarantined with its bytes. Spans change no request.

use countersign_wire::Stream;

use super::incoming::IncomingSpan;
use super::ledger::{Batch, Ledger};
use super::reports::set_aside;
use crate::store::{StoreError, bus_stream, spans};

/// Stores a batch of the stream with its position.
pub(crate) async fn apply(
    ledger: &mut Ledger,
    batch: &mut Batch<'_>,
    messages: &[IncomingSpan],
) -> Result<(), StoreError> {
    let (epoch, next) = ledger.place(batch.tx, Stream::Events).await?;
    let known = messages.partition_point(|message| message.at.seq < next);
    let messages = &messages[known..];
    let Some(last) = messages.last().map(|message| message.at) else {
        return Ok(());
    };
    let mut rows = Vec::with_capacity(messages.len());
    for message in messages {
        match &message.span {
            Ok(span) => rows.push(span),
            Err(unreadable) => {
                let stream = Stream::Events;
                let place = (
                    message.at,
                    unreadable.subject.as_str(),
                    unreadable.raw.as_slice(),
                );
                set_aside(batch, stream, &epoch, place, &unreadable.why).await?;
            }
        }
    }
    spans::upsert(batch.tx, &epoch, &rows).await?;
    bus_stream::advance(
        batch.tx,
        Stream::Events.name(),
        &epoch,
        last.seq + 1,
        last.stamp,
    )
    .await?;
    ledger.advanced(Stream::Events, &epoch, last.seq + 1);
    batch.reached(Stream::Events, &epoch, last.seq + 1);
    Ok(())
}
