//! What a folder keeps of the registers from its console's earlier life.

use countersign_wire::{AgentKey, PolicyKey};

use super::book::{Book, Held};
use super::freshness::signed_at;
use super::register::Incoming;
use super::signed::Place;
use super::{Registers, named, of_kind};
use crate::domain::Timestamp;
use crate::signers::Signers;
use crate::store::policy::{self, PolicyRow};
use crate::store::{Reader, StoreError, policy_history};

/// Values that are read at once.
const PAGE: i64 = 5;
/// Values that are looked at.
const LOOKS_MAX: usize = 100;

/// The value that was accepted last under a key, or that the key was deleted.
#[derive(Debug, Clone)]
pub struct Kept {
    row: PolicyRow,
    /// Behind a deletion or a value that cannot be read: the last accepted one that could be. What it held back is held
    /// back still.
    readable: Option<PolicyRow>,
    /// Behind a deletion: the last accepted one.
    signed: Option<PolicyRow>,
}

impl From<PolicyRow> for Kept {
    fn from(row: PolicyRow) -> Self {
        Self {
            row,
            readable: None,
            signed: None,
        }
    }
}

/// The last value of a key that this folder accepted and `reads`, as far back as is looked; its revision is none of the
/// bus any more.
///
/// # Errors
/// Where the store cannot be read.
pub async fn last_read<T>(
    reader: &Reader,
    key: &PolicyKey,
    reads: impl Fn(&[u8]) -> Option<T>,
) -> Result<Option<(PolicyRow, T)>, StoreError> {
    let key = key.to_string();
    let (mut before, mut looks) = (i64::MAX, 0);
    while looks < LOOKS_MAX {
        let page = policy_history::of_key(reader, &key, before, PAGE).await?;
        let Some((last, _)) = page.last() else { break };
        (before, looks) = (*last, looks + page.len());
        for (_, row) in page.into_iter().filter(|(_, row)| !row.is_deleted()) {
            if let Some(value) = reads(&row.payload) {
                return Ok(Some((row, value)));
            }
        }
    }
    Ok(None)
}

struct Payload<'a>(&'a [u8]);

impl Payload<'_> {
    fn reads_as<K: Held>(&self, _: &K::Key) -> Option<()> {
        K::read(self.0).map(drop)
    }
}

impl Registers {
    /// What this folder keeps of the keys that are `wanted`.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub async fn kept(
        reader: &Reader,
        wanted: impl Fn(&PolicyKey) -> bool,
    ) -> Result<Vec<Kept>, StoreError> {
        let mut all = Vec::new();
        for row in policy::remembered(reader).await? {
            let Some(key) = PolicyKey::parse(&row.key).filter(&wanted) else {
                continue;
            };
            let reads = |payload: &[u8]| {
                let payload = Payload(payload);
                of_kind!(&key, payload.reads_as())
            };
            let mut kept = Kept::from(row);
            if reads(&kept.row.payload).is_none() {
                let last = last_read(reader, &key, reads).await?;
                kept.readable = last.map(|(row, ())| row);
            }
            if kept.row.is_deleted() {
                kept.signed = policy_history::last_value(reader, &kept.row.key).await?;
            }
            all.push(kept);
        }
        Ok(all)
    }

    /// As this folder's console knew it in its earlier life, with what agents declared of their setup keys.
    pub fn remembered(
        signers: &impl Signers,
        kept: &[Kept],
        declared: &[(AgentKey, String)],
    ) -> Self {
        let registers = Self::default();
        for (agent, schema) in declared {
            registers.declared(agent, Some(schema));
        }
        for kept in kept {
            if let Some(key) = PolicyKey::parse(&kept.row.key) {
                of_kind!(&key, registers.remember(&key, signers, kept));
            }
        }
        registers
    }

    fn remember<K: Held>(
        &self,
        key: &K::Key,
        name: &PolicyKey,
        signers: &impl Signers,
        kept: &Kept,
    ) -> Option<()> {
        let at = signed_at(&kept.row.payload).map_or(Timestamp(0), |at| at.get().into());
        let place = |revision: i64| Place {
            revision: u64::try_from(revision).unwrap_or(0),
            stored_at: at,
        };
        let mut book = self.book.write();
        let take = |book: &mut Book, row: &PolicyRow, revision| {
            let came = match row.is_deleted() {
                true => Incoming::Deleted,
                false => Incoming::Valid(row.clone()),
            };
            let read = K::read(&row.payload);
            let by = |row: &PolicyRow| named(signers, row);
            let register = K::register_mut(book);
            let next = register.next(key, (&came, read), (place(revision), by));
            register.set(key, next);
        };
        if let Some(readable) = &kept.readable {
            take(&mut book, readable, 0);
        }
        take(&mut book, &kept.row, kept.row.revision);
        match &kept.signed {
            Some(signed) => book.freshness.took(signed),
            None => book.freshness.took(&kept.row),
        }
        if kept.row.is_deleted() {
            book.freshness.deleted(name);
        }
        self.project(&mut book, name);
        Some(())
    }
}
