//! What the realm log says of this console's operator, for `status` and `doctor`.

use super::keys::KeyStatus;
use super::list::{Head, ListedState, log_head};
use crate::runtime::App;

/// This console's operator, and the realm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnOperator {
    /// Of the desk key; none before the log was read.
    pub state: Option<ListedState>,
    /// Whether the operator is an administrator.
    pub admin: bool,
    /// Whether newcomers wait for a person.
    pub acceptance: bool,
    /// Whether there is a recovery key.
    pub recovery: bool,
    /// The end of the log.
    pub head: Head,
}

/// This console's operator as this process knows the log.
#[must_use]
pub fn own_operator(app: &App) -> OwnOperator {
    let trusted = &app.inner.shared.trusted;
    let own = app.identity().human_key();
    let log = trusted.log();
    OwnOperator {
        state: match trusted.standing(own.as_str()) {
            KeyStatus::Active => Some(ListedState::InForce),
            KeyStatus::Pending => Some(ListedState::Waiting),
            KeyStatus::Ended { .. } => Some(ListedState::Ended),
            KeyStatus::Unknown => None,
        },
        admin: trusted.is_admin(own.as_str()),
        acceptance: log.acceptance,
        recovery: log.recovery.is_some(),
        head: log_head(app),
    }
}
