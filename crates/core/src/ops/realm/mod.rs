//! The realm log on the console's side: who may sign (protocol, section 8).
//!
//! The stream is the only way in: `feed` applies what it brings, in the transaction of the messages around it.

pub(super) mod asks;
pub(crate) mod change;
pub(super) mod feed;
pub(crate) mod found;
pub(crate) mod join;
mod keys;
mod list;
mod own;
mod put_back;
mod rotate;
mod watch;
pub(crate) mod write;

pub use change::{Change, Limits, change_shown};
pub use found::init;
pub use keys::{KeyStatus, TrustedKeys};
pub(crate) use keys::{known_log, why_not};
pub use list::{
    Head, Listed, ListedDevice, ListedState, LogLine, acceptance, keys_of, log_head, operators_log,
};
pub use own::{OwnOperator, own_operator};
pub use put_back::LogRecovery;
pub(super) use put_back::{knows_more, put_back};
pub use rotate::Rotated;
pub(crate) use rotate::{follow, settle};
pub(super) use watch::watch;
pub use write::Written;
