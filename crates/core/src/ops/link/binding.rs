//! What a console remembers of a bus, and how the bus that it found differs.

use countersign_wire::{Sha256Digest, Stream};
use uuid::Uuid;

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

/// Whether the realm and the root that a bus names are the remembered ones.
pub(super) fn is_known(
    (realm, root): (Option<Uuid>, Option<Sha256Digest>),
    known: (Option<&str>, Option<&str>),
) -> bool {
    let (realm, root) = (
        realm.map(|realm| realm.to_string()),
        root.map(|root| root.to_string()),
    );
    realm.is_some() && root.is_some() && (realm.as_deref(), root.as_deref()) == known
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bus_of_the_remembered_realm_and_root_is_given_what_its_log_lacks() {
        let (realm, root) = (Uuid::new_v4(), Sha256Digest::of_bytes(b"root"));
        let other = Sha256Digest::of_bytes(b"other");
        let (realm_text, root_text) = (realm.to_string(), root.to_string());
        let known = (Some(realm_text.as_str()), Some(root_text.as_str()));
        assert!(is_known((Some(realm), Some(root)), known));
        for found in [
            (Some(realm), Some(other)),
            (Some(Uuid::new_v4()), Some(root)),
            (Some(realm), None),
            (None, None),
        ] {
            assert!(!is_known(found, known), "{found:?}");
        }
        assert!(!is_known((None, None), (None, None)), "a new folder");
    }
}
