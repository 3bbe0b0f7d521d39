//! The gate against a real nats-server and a small console that signs with its own keys.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod bus;
mod console;
mod journal;
mod log;
mod outside;
mod refused;
mod resumed;
mod skew;
mod start;
mod words;
