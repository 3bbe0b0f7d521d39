//! In what one register differs from another.

use countersign_wire::{PolicyKey, WorkspaceName};
use serde_json::Value;

use crate::domain::{AlarmCode, Timestamp};
use crate::signers::Right;
use countersign_rules::Rule;

/// What a value is judged beside.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// The rules of its workspace; where they were replaced, the last ones that were good.
    pub rules: &'a [Rule],
    /// When the server stored it.
    pub at: Timestamp,
}

/// A kind of value in the shared policy.
pub trait Kind {
    /// Whose value it is.
    type Key: Clone + Ord;
    /// What is signed.
    type Value: Clone + PartialEq;
    /// Raised while the value on the bus does not count.
    const ALARM: AlarmCode;
    /// What the signer of a value must be allowed that relaxes.
    const RIGHT: Right;
    /// Whether people are shown who set it, and when by the server's stamp.
    const SHOWN: bool = false;

    /// Its key in the bucket.
    fn name(key: &Self::Key) -> PolicyKey;

    /// The value while nobody has signed one.
    fn unset() -> Self::Value;

    /// The value in a payload; none where it cannot be read.
    fn read(payload: &[u8]) -> Option<Self::Value>;

    /// What counts while the stored value does not, given what counted before; `stale` was signed, and is too old.
    fn cautious(last: &Self::Value, stale: Option<&Self::Value>) -> Self::Value;

    /// Whether a deletion, which nobody signs, takes nothing back from it.
    fn may_be_deleted(_last: &Self::Value) -> bool {
        false
    }

    /// Whether the next value holds back less than the one before; none where it cannot be read.
    fn relaxes(last: &Self::Value, next: Option<&Self::Value>, around: Around<'_>) -> bool;

    /// What the audit log keeps of a value that could be `read`, and of what counts since it came.
    fn audited(read: Option<&Self::Value>, counts: &Self::Value) -> Value;
}

/// The workspace of a value.
pub(super) fn workspace_of(key: &PolicyKey) -> Option<&WorkspaceName> {
    match key {
        PolicyKey::Rules(workspace) => Some(workspace),
        PolicyKey::Pause(agent) | PolicyKey::Bypass(agent) | PolicyKey::Setup(agent) => {
            Some(&agent.workspace)
        }
        _ => None,
    }
}
