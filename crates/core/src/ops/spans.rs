//! Projects `CS_EVENTS`: what agents did, the last state of each span.
//!
//! A message without a valid span is quarantined with its bytes. Requests stay as they are.

use countersign_wire::Stream;

use super::incoming::IncomingSpan;
use super::reports::set_aside;
use super::writer_state::{Tx, WriterState};
use crate::store::{StoreError, spans};

/// Stores a batch of the stream with its position.
pub(crate) fn apply(
    writer: &mut WriterState,
    batch: &mut Tx<'_>,
    messages: &[IncomingSpan],
) -> Result<(), StoreError> {
    let Some(unread) = writer.unread(batch.tx, messages)? else {
        return Ok(());
    };
    let mut rows = Vec::with_capacity(unread.len());
    for message in *unread {
        match &message.span {
            Ok(span) => rows.push(span),
            Err(unreadable) => {
                let stream = Stream::Events;
                let place = (
                    message.at,
                    unreadable.subject.as_str(),
                    unreadable.raw.as_slice(),
                );
                set_aside(batch, stream, &unread.epoch, place, &unreadable.why)?;
            }
        }
    }
    spans::upsert(batch.tx, &unread.epoch, &rows)?;
    writer.projected(batch, unread)
}
