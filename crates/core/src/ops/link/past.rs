//! The positions up to which the streams are read before the past counts as known.
//!
//! A position counts only under its own epoch, and a removed message is not waited for.

use countersign_wire::Stream;
use tokio_util::sync::CancellationToken;

use super::CATCH_UP_LOOK;
use crate::bus::{Bus, BusError, BusIdentity, StreamStatus};
use crate::ops::rollback::epoch_of;
use crate::runtime::{Positions, Shared, StreamPlace};

/// How far each stream is to be projected before anything is shown.
pub(super) async fn targets(
    bus: &Bus,
    identity: &BusIdentity,
    counts: &[Stream],
) -> Result<Positions, BusError> {
    let mut targets = Positions::new();
    for stream in &identity.streams {
        if !counts.iter().any(|of| of.name() == stream.name) {
            continue;
        }
        let last = match last_stored(stream) {
            Last::At(seq) => Some(seq),
            Last::Nowhere => None,
            Last::Unknown => {
                let (first, last) = (stream.first_seq, stream.last_seq);
                bus.last_stored(stream.name, first, last).await?
            }
        };
        // A stream whose messages have all aged out delivers nothing to wait for.
        if let Some(last) = last {
            let place = StreamPlace {
                epoch: epoch_of(stream),
                next: last + 1,
            };
            targets.insert(stream.name, place);
        }
    }
    Ok(targets)
}

/// The newest message of a stream.
#[derive(Debug, PartialEq, Eq)]
enum Last {
    At(u64),
    Nowhere,
    /// Some were removed, the newest too, maybe: no consumer delivers it.
    Unknown,
}

fn last_stored(stream: &StreamStatus) -> Last {
    if stream.messages == 0 {
        return Last::Nowhere;
    }
    match stream.last_seq.saturating_sub(stream.first_seq) + 1 == stream.messages {
        true => Last::At(stream.last_seq),
        false => Last::Unknown,
    }
}

/// Whether the streams are projected up to the targets. A place under another epoch is one in a stream that is gone.
fn is_reached(targets: &Positions, now: &Positions) -> bool {
    targets.iter().all(|(stream, target)| {
        now.get(stream)
            .is_some_and(|at| at.epoch == target.epoch && at.next >= target.next)
    })
}

/// Waits until the streams are projected up to these; false when that is no longer wanted.
pub(super) async fn reached(
    shared: &Shared,
    bus: &Bus,
    mut targets: Positions,
    stop: &CancellationToken,
) -> bool {
    let mut positions = shared.positions.subscribe();
    loop {
        if is_reached(&targets, &positions.borrow_and_update()) {
            return true;
        }
        tokio::select! {
            () = stop.cancelled() => return false,
            changed = positions.changed() => if changed.is_err() { return false },
            () = tokio::time::sleep(CATCH_UP_LOOK) => {
                let now = positions.borrow().clone();
                if let Err(error) = leave_removed(bus, &mut targets, &now).await {
                    tracing::debug!(%error, "what is still to be read is not known");
                }
            }
        }
    }
}

/// Waits no longer for what was removed meanwhile: no consumer delivers it.
async fn leave_removed(
    bus: &Bus,
    targets: &mut Positions,
    now: &Positions,
) -> Result<(), BusError> {
    let mut gone = Vec::new();
    for (&stream, target) in targets.iter() {
        let at = now.get(stream).filter(|at| at.epoch == target.epoch);
        let next = bus.read_next(stream, ">", at.map_or(1, |at| at.next));
        if next.await?.is_none_or(|next| next.seq >= target.next) {
            gone.push(stream);
        }
    }
    targets.retain(|stream, _| !gone.contains(stream));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_stream_that_is_gone_is_none_in_the_one_that_was_made_in_its_place() {
        let place = |epoch: &str, next: u64| {
            let epoch = epoch.to_owned();
            Positions::from([("CS_REQUESTS", StreamPlace { epoch, next })])
        };
        let wanted = place("new", 4);
        for (epoch, next, reached) in [
            ("old", 900, false),
            ("new", 3, false),
            ("new", 4, true),
            ("new", 900, true),
        ] {
            assert_eq!(
                is_reached(&wanted, &place(epoch, next)),
                reached,
                "{epoch} {next}"
            );
        }
        assert!(!is_reached(&wanted, &Positions::new()));
        assert!(is_reached(&Positions::new(), &place("old", 1)));
    }

    #[test]
    fn the_newest_message_of_a_stream_is_its_last_only_where_none_was_removed() {
        let last = |first_seq, last_seq, messages| {
            last_stored(&StreamStatus {
                name: "CS_REQUESTS",
                epoch: None,
                first_seq,
                last_seq,
                messages,
            })
        };
        assert_eq!(last(0, 0, 0), Last::Nowhere);
        assert_eq!(last(8, 7, 0), Last::Nowhere, "all have aged out");
        assert_eq!(last(3, 7, 5), Last::At(7));
        assert_eq!(last(3, 7, 4), Last::Unknown);
    }
}
