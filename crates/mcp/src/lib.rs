//! Countersign in front of MCP servers: `countersign mcp-proxy` and `countersign mcp`.
//!
//! A relay of messages, not a client of its own: what is not a tool call goes through byte for byte, so that no library
//! reads it into types of its own and writes it anew. Refuses to send a call on that was not approved.

mod answer;
mod decide;
mod desk;
mod events;
mod forms;
mod http;
mod id;
mod lines;
mod listen;
mod message;
mod mirrored;
mod permission;
mod place;
mod proof;
mod relay;
mod session;
mod span;
mod stdio;
mod tools;
mod visitor;
mod visitors;
mod wait;

pub use desk::Asker;
pub use http::{Remote, http};
pub use listen::listen;
pub use permission::permission;
pub use place::Place;
pub use proof::{Probed, probe, probe_url};
pub use stdio::stdio;
pub use visitors::{Behind, Served};
