//! The application: the command line, and with feature `gui` the window.
//!
//! Refuses to decide anything itself: both are subscribers of [`countersign_core::App`].

pub mod cli;
mod export;
#[cfg(feature = "gui")]
pub mod gui;
mod otlp;
mod production;
mod secrets;
mod unfinished;
