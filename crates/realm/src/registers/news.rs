//! What a change of a register is to others.

use countersign_wire::{PolicyKey, Sha256Digest};
use serde_json::{Value, json};

use super::register::Incoming;
use super::signed::Place;
use crate::domain::AlarmCode;
use crate::store::policy::PolicyRow;

/// What a change of a key brought.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// The key.
    pub key: PolicyKey,
    /// Raised while the value does not count, else ended.
    pub alarm: AlarmCode,
    /// Whether it counts.
    pub good: bool,
    /// What the folder and its audit log keep of it.
    pub kept: Option<(PolicyRow, Value)>,
}

impl News {
    pub(super) fn of(
        (key, alarm): (&PolicyKey, AlarmCode),
        came: Incoming,
        (good, mut detail): (bool, Value),
        place: Place,
    ) -> Self {
        let row = match came {
            Incoming::Valid(row) => Some(row),
            // Nobody signs a deletion: only a signed value relaxes what holds back.
            Incoming::Deleted if good => {
                detail = json!({ "deleted": true });
                Some(PolicyRow::deleted(key.to_string(), place.revision))
            }
            Incoming::Stale(_) | Incoming::Invalid | Incoming::Deleted => None,
        };
        let kept = row.map(|row| {
            let digest = Sha256Digest::of_bytes(&row.payload).to_string();
            (detail["payload_digest"], detail["revision"]) = (json!(digest), json!(row.revision));
            (row, detail)
        });
        Self {
            key: key.clone(),
            alarm,
            good,
            kept,
        }
    }
}
