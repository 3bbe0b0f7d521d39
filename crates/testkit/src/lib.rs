//! A real nats-server per test, with the accounts of the product, gone when the test ends.

#![allow(clippy::expect_used)]

mod authority;
mod cluster;
mod credentials;
mod data;
mod halt;
mod operator;
mod plain;
mod raw;
mod server;

/// For tests of agents, which do not see the core.
pub use countersign_core::bus::{Bus, BusOptions, Credentials, permissions_block};

pub use authority::{Authority, Certificate};
pub use cluster::Cluster;
pub use credentials::{AgentCredentials, UserKey};
pub use data::TempData;
pub use halt::halt;
pub use operator::{NatsAccount, NatsOperator, creds};
pub use plain::PlainServer;
pub use raw::RawAgent;
pub use server::{TestServer, made};
