//! A real nats-server per test, with the accounts of the product, gone when the test ends.
//!
//! Refuses to reuse a server between tests and to fake one: what a test sees is what nats-server does.

#![allow(clippy::expect_used)]

mod credentials;
mod data;
mod plain;
mod server;

pub use credentials::{AgentCredentials, UserKey};
pub use data::TempData;
pub use plain::PlainServer;
pub use server::TestServer;
