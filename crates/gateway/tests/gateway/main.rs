//! The gateway in a process of its own, a real nats-server, and a small console that signs with its own keys.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
#[allow(dead_code)]
#[path = "../../../../sdk/rust/tests/gate/console.rs"]
mod console;
mod faults;
mod front;
mod kills;
mod log;
mod phone;
mod process;
mod restarts;
mod stops;
