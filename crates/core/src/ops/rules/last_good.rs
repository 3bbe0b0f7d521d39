//! The last accepted rules of a workspace, or another value, before a deletion or an unreadable value.
//!
//! The search is limited.

use countersign_wire::{PolicyKey, WorkspaceName};

use super::set::{RuleSet, read};
use crate::store::policy::PolicyRow;
use crate::store::{Reader, StoreError, policy_history};

/// Values that are read at once.
const PAGE: i64 = 5;
/// Values that are looked at.
const LOOKS_MAX: usize = 100;

/// The last value of a workspace's rules that this folder accepted and could read; its revision is none of the
/// bus any more.
pub(crate) async fn last_readable(
    reader: &Reader,
    workspace: &WorkspaceName,
) -> Result<Option<(PolicyRow, RuleSet)>, StoreError> {
    let key = PolicyKey::Rules(workspace.clone());
    last_read(reader, &key, |payload| read(payload, 0).ok()).await
}

/// The last value of a key that this folder accepted and `reads`.
pub(in crate::ops) async fn last_read<T>(
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
