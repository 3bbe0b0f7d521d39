//! Moves the seeds of the signing keys to another place.
//!
//! This needs an audit row and a stopped console: a running one would write to the old place.

use std::sync::Arc;

use serde_json::json;

use crate::Fault;
use crate::identity::KeyPlace;
use crate::runtime::App;
use crate::runtime::joined;

/// Seeds that were moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeysMoved {
    /// Whether they were in another place before.
    pub moved: bool,
    /// What could not be removed from the other place, and why.
    pub left: Option<String>,
}

impl App {
    /// Moves the seeds of this console's signing keys. To be followed by the end of this app: it knows
    /// the old place only.
    ///
    /// # Errors
    /// `ErrorCode::Environment` when a console runs in the folder or a place does not answer, the seeds
    /// are then where they were; `ErrorCode::ReadOnly` when the store takes no audit row.
    pub async fn move_keys(&self, to: KeyPlace) -> Result<KeysMoved, Fault> {
        let identity = Arc::clone(&self.inner.shared.identity);
        let changing = identity.try_lock()?;
        if !self.holds_folder() || changing.is_none() {
            return Err(Fault::environment(format!(
                "a console is running in {}; stop it first",
                self.data().path().display()
            )));
        }
        let from = identity.key_place();
        let detail = json!({ "from": from.as_str(), "to": to.as_str() });
        self.record("keys_move", identity.console_id.to_string(), detail)
            .await?;
        let moving = tokio::task::spawn_blocking(move || {
            let _held = changing;
            identity.relocate(to)
        });
        let left = moving.await.map_err(joined)??;
        Ok(KeysMoved {
            moved: from != to,
            left: left.map(|error| format!("{}: {}", error.at, error.why)),
        })
    }
}
