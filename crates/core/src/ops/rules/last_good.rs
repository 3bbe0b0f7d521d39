//! What the rules of a workspace were before they were deleted or could not be read.
//!
//! Refuses to read without end, and what was never accepted.

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
    let key = PolicyKey::Rules(workspace.clone()).to_string();
    let (mut before, mut looks) = (i64::MAX, 0);
    while looks < LOOKS_MAX {
        let page = policy_history::of_key(reader, &key, before, PAGE).await?;
        let Some((last, _)) = page.last() else { break };
        (before, looks) = (*last, looks + page.len());
        for (_, row) in page.into_iter().filter(|(_, row)| !row.is_deleted()) {
            if let Ok(set) = read(&row.payload, 0) {
                return Ok(Some((row, set)));
            }
        }
    }
    Ok(None)
}
