//! Table `requests`: what became of a request, read from its row.

use super::StoreError;
use crate::domain::Timestamp;
use crate::domain::fate::Fate;

/// `state, verdict, origin, stored_at, decided_at`: by place, since a name is looked up anew in every row of a million.
pub(super) type OutcomeRow = (String, Option<String>, Option<String>, i64, Option<i64>);

/// # Errors
/// [`StoreError::Corrupt`] for a state that no version writes.
pub(super) fn read(
    (state, verdict, origin, stored, decided): OutcomeRow,
) -> Result<Fate, StoreError> {
    Ok(Fate {
        state: state
            .parse()
            .map_err(|_| StoreError::corrupt("an unknown state in requests"))?,
        verdict,
        origin,
        stored_at: Timestamp(stored),
        decided_at: decided.map(Timestamp),
    })
}
