//! The bridge to CommonGround v1r4: its guarded tool commands become requests, approved ones go on to the tool.
#![forbid(unsafe_code)]

mod api;
mod call;
mod card;
mod check;
mod command;
mod config;
mod config_file;
mod digest;
mod error;
mod events;
mod flow;
mod forward;
mod nats;
mod refusal;
mod register;
mod report;
mod run;
mod spans;
mod store;
mod store_rows;

pub use check::check;
pub use config::{Config, GuardedTool, Project};
pub use error::BridgeError;
pub use register::{push, register};
pub use run::run;
pub use store::{Listed, State, list};
