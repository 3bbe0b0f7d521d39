//! The bus against a real nats-server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod server;
