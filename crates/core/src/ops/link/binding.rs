//! What a console remembers of a bus, and how the bus that it found differs.

use countersign_wire::{Sha256Digest, Stream};

use crate::bus::BusIdentity;
use crate::ops::hello_barrier::HelloBarrier;
use crate::ops::job::BusBinding;
use crate::ops::rollback::{epoch_of, is_renewed};
use crate::store::bus_stream::Position;

/// What is remembered of it from now on.
pub(super) fn binding(
    identity: &BusIdentity,
    root: Sha256Digest,
    hellos: HelloBarrier,
    hello_gap: bool,
) -> BusBinding {
    let agents = Stream::Agents.name();
    let agents = identity.streams.iter().find(|at| at.name == agents);
    let streams = identity.streams.iter();
    let epochs = streams.map(|stream| (stream.name, epoch_of(stream)));
    BusBinding {
        realm: identity.realm,
        root,
        epochs: epochs.collect(),
        hellos,
        hello_gap,
        hellos_stored: agents.map_or(0, |at| i64::try_from(at.last_seq).unwrap_or(i64::MAX)),
    }
}

/// Code and sentence of the first thing that is not as remembered.
pub(super) fn difference(
    identity: &BusIdentity,
    (realm, root): (Option<&str>, Option<&str>),
    positions: &[Position],
) -> Option<(String, String)> {
    if let Some(difference) = identity.differences.first() {
        let why = format!(
            "{} of {} is {} instead of {}; set it back, or use another bus",
            difference.field, difference.stream, difference.found, difference.expected
        );
        return Some(("stream_settings".to_owned(), why));
    }
    if realm.is_some_and(|realm| realm != identity.realm.to_string()) {
        let why =
            "the bus belongs to another realm; connect to the old one, or use a new data folder";
        return Some(("realm_changed".to_owned(), why.to_owned()));
    }
    let found = identity.root.map(|root| root.to_string());
    if root.is_some_and(|root| found.as_deref() != Some(root)) {
        let why = "CS_DECISIONS names another root of the realm log: somebody changed it, or made the stream anew; see `countersign bus recover --dry-run`";
        return Some(("root_changed".to_owned(), why.to_owned()));
    }
    for position in positions {
        let streams = &identity.streams;
        let Some(stream) = streams.iter().find(|stream| stream.name == position.stream) else {
            continue;
        };
        if epoch_of(stream) != position.epoch && !is_renewed(stream, position) {
            let why = format!(
                "the stream {} was recreated; see `countersign bus recover --dry-run`",
                stream.name
            );
            return Some(("epoch_changed".to_owned(), why));
        }
    }
    None
}
