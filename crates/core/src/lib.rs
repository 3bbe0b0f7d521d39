//! The Countersign application without a user interface: projection, life cycle, decisions and audit.
//!
//! [`App`] is the one handle: the window, the command line and the tests subscribe to it.

pub mod ops;
pub mod runtime;

pub use countersign_bus as bus;
pub use countersign_bus::clock;
pub use countersign_domain as domain;
pub use countersign_domain::Fault;
pub use countersign_keys::{data_dir, identity, unfinished};
pub use countersign_rules as policy;
pub use countersign_store as store;
pub use runtime::{App, AppEvent, Options, Role};
