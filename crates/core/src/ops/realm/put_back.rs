//! Entries that this console knows and the bus does not have (protocol, section 8, "After a loss").
//!
//! They are valid or they are nothing: nothing is signed anew.

use countersign_wire::realm::{Entry, Realm};
use countersign_wire::{Sha256Digest, Stream};
use serde_json::{Value, json};

use super::write::{look, publish};
use crate::Fault;
use crate::bus::Bus;
use crate::runtime::Shared;
use crate::store::{bus_stream, realm_log};

/// Slots that are tried for one entry.
const TRIES: usize = 40;

/// What became of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogRecovery {
    /// Entries that this console knows.
    pub known: u64,
    /// How many of them were published again.
    pub put_back: u64,
    /// Digests of the entries that only this console knows, where the bus went on without them.
    pub parted: Vec<Sha256Digest>,
}

impl LogRecovery {
    /// As the audit log and `--json` have it.
    #[must_use]
    pub fn detail(&self) -> Value {
        json!({"known": self.known, "put_back": self.put_back, "parted": self.parted})
    }
}

/// Whether this folder knows entries behind the last one that it has read from the stream as it is now.
pub(in crate::ops) async fn knows_more(shared: &Shared) -> Result<bool, Fault> {
    let positions = bus_stream::all(&shared.reader).await?;
    let mut positions = positions.iter();
    let Some(position) = positions.find(|at| at.stream == Stream::Decisions.name()) else {
        return Ok(false);
    };
    Ok(realm_log::knows_more(&shared.reader, &position.epoch).await?)
}

/// The chain that this folder knows, of whatever stream, as the bytes of its entries.
async fn known(shared: &Shared, log: &Realm) -> Result<Vec<(Sha256Digest, Vec<u8>)>, Fault> {
    let rows = realm_log::entries(&shared.reader).await?;
    let mut chain: Vec<(Sha256Digest, Vec<u8>)> = Vec::new();
    let mut folded = Realm::new(*log.realm(), *log.root());
    for row in rows {
        let Some(bytes) = row.message else { continue };
        let Some(entry) = Entry::read(&bytes) else {
            continue;
        };
        let (slot, length) = (folded.next_slot, folded.chain.len());
        folded.apply(slot, folded.sequence() + 1, &bytes);
        if folded.chain.len() > length {
            chain.push((entry.digest, bytes));
        }
    }
    Ok(chain)
}

/// Publishes what the bus lacks of the log, in its order, on the next free slots. With `dry_run` it only reports.
pub(in crate::ops) async fn put_back(
    shared: &Shared,
    bus: &Bus,
    dry_run: bool,
) -> Result<LogRecovery, Fault> {
    let at_start = shared.trusted.log();
    let chain = known(shared, &at_start).await?;
    let mut log = Realm::new(*at_start.realm(), *at_start.root());
    if !(dry_run && bus.epoch(Stream::Decisions.name()).await?.is_none()) {
        look(bus, &mut log).await?;
    }
    let mut found = LogRecovery {
        known: u64::try_from(chain.len()).unwrap_or(u64::MAX),
        ..LogRecovery::default()
    };
    let there = log.chain.len();
    let shared_length = chain
        .iter()
        .zip(&log.chain)
        .take_while(|((digest, _), entry)| *digest == entry.digest)
        .count();
    let missing = chain.get(shared_length..).unwrap_or_default();
    if shared_length < there {
        found.parted = missing.iter().map(|(digest, _)| *digest).collect();
        return Ok(found);
    }
    for ((digest, bytes), n) in missing.iter().zip(there + 1..) {
        let n = u64::try_from(n).unwrap_or(u64::MAX);
        found.put_back += 1;
        if dry_run {
            continue;
        }
        for _ in 0..TRIES {
            look(bus, &mut log).await?;
            // Or another console was faster with it.
            if log.holds(n, digest) || publish(bus, &mut log, bytes).await? {
                break;
            }
        }
        if !log.holds(n, digest) {
            return Err(Fault::bus_unreachable(
                "the entries of the realm log could not be stored; what is stored stays, run `countersign bus recover` again",
            ));
        }
    }
    Ok(found)
}
