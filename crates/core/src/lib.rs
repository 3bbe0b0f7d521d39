//! The headless Countersign application: projection, life cycle, decisions and audit.
//!
//! Knows no window and prints nothing. [`App`] is the one handle: the window, the command line and
//! the tests are its subscribers.

pub mod bus;
pub mod clock;
pub mod data_dir;
pub mod domain;
pub mod error;
pub mod identity;
pub mod ops;
pub mod policy;
pub mod runtime;
pub mod store;
pub mod unfinished;

pub use error::OpError;
pub use runtime::{App, AppEvent, Options, Role};
