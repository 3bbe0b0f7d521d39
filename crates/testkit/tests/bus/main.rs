//! The bus against a real nats-server: what the protocol promises in section 1.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod intake;
mod outside;
mod publish;
mod security;
mod server;
mod streams;
mod unreadable;
mod wiretap;
