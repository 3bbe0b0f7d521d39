//! The application: the command line, and with feature `gui` the window.
//!
//! Both subscribe to [`countersign_core::App`], which alone decides.

pub mod cli;
mod export;
#[cfg(feature = "gui")]
pub mod gui;
mod metrics;
mod otlp;
mod unfinished;

pub use cli::feeds::Feeds;
pub use cli::reader::SecondReader;
