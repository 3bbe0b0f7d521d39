//! Feeds over a real store, with real receivers on the loopback address and a clock of the test's own.
#![allow(clippy::unwrap_used, clippy::panic)]

mod bodies;
mod desk;
mod lines;
mod receiver;
mod starts;
mod syslog;
mod webhooks;
