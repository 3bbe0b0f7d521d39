//! What the console has had of feeds, against what its settings say now.

use countersign_store::StoreError;
use countersign_store::feeds::{self, FeedNote, FeedRow};
use serde_json::{Value, json};

use crate::Desk;
use crate::config::Feed;

/// Notes which feeds are new, changed or gone, and fixes where new ones begin. False while that is not known: the
/// folder joined its realm in this start and has not read yet what was there before, or nothing can be written.
///
/// # Errors
/// [`StoreError`].
pub async fn begin<D: Desk>(desk: &D, wanted: &[Feed]) -> Result<bool, StoreError> {
    let is_wanted = |row: &FeedRow| wanted.iter().any(|feed| feed.name == row.name);
    // First: what was away for too long is new.
    for row in feeds::all(desk.store()).await? {
        let is_gone = row.removed_at.is_none() && !is_wanted(&row);
        let removed_at = row.removed_at.or_else(|| is_gone.then(|| desk.now()));
        if removed_at.is_some() {
            let audit = is_gone.then(|| (detail("removed", &row.address), false));
            let failing = is_gone.then_some(false);
            let changed = FeedRow { removed_at, ..row };
            if !write(desk, changed, audit, failing).await {
                return Ok(false);
            }
        }
    }
    let known = feeds::all(desk.store()).await?;
    let mut beginning = None;
    for feed in wanted {
        let address = feed.address().to_string();
        let (settings, name) = (feed.digest.clone(), feed.name.clone());
        let (row, state) = match known.iter().find(|row| row.name == feed.name) {
            Some(row) => {
                let state = match (row.removed_at, row.settings == settings) {
                    (Some(_), _) => "added",
                    (None, false) => "changed",
                    (None, true) => continue,
                };
                (
                    FeedRow {
                        address,
                        settings,
                        removed_at: None,
                        ..row.clone()
                    },
                    state,
                )
            }
            None => {
                if beginning.is_none() {
                    beginning = feeds::beginning(desk.store(), desk.is_caught_up()).await?;
                }
                let Some(cursor) = beginning else {
                    return Ok(false);
                };
                let state = "ok".to_owned();
                (
                    FeedRow {
                        name,
                        settings,
                        address,
                        cursor,
                        state,
                        ..FeedRow::default()
                    },
                    "added",
                )
            }
        };
        let audit = Some((detail(state, &row.address), false));
        if !write(desk, row, audit, None).await {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn write<D: Desk>(
    desk: &D,
    row: FeedRow,
    audit: Option<(Value, bool)>,
    failing: Option<bool>,
) -> bool {
    let (feed, read) = (row.name.clone(), row.revision);
    let note = FeedNote {
        feed,
        row: Some((row, read)),
        audit,
        failing,
        ..FeedNote::default()
    };
    desk.note(note).await
}

/// The detail of a row of the audit log about a feed at an address (JSON).
#[must_use]
pub fn detail(state: &str, address: &str) -> Value {
    let mut detail: Value = serde_json::from_str(address).unwrap_or_else(|_| json!({}));
    detail["state"] = json!(state);
    detail
}
