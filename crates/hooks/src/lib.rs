//! Countersign in front of coding agents: one hook event in, one answer out.
//!
//! From event to call and from outcome to answer is pure, one module a program; the ask goes through the SDK. Whatever
//! goes wrong before a decision is a refusal in the words of the program that reads it.
#![forbid(unsafe_code)]

mod answer;
mod ask;
mod call;
mod claude;
mod codex;
mod connect;
mod copilot;
mod cursor;
mod entries;
mod event;
mod gemini;
mod identity;
mod opencode;
mod outcome;
mod program;
mod proof;
mod questions;
mod reports;
mod respond;
mod words;

pub use answer::Answer;
pub use call::Phase;
pub use connect::{
    Gated, HEADERS, McpServer, URL, Wanted, connect, connect_mcp, disconnect, disconnect_mcp,
    mcp_servers,
};
pub use event::LARGEST;
pub use identity::journal;
pub use program::Program;
pub use proof::{
    Configuration, OwnHook, Proof, Version, is_connected, other_hooks, own_hook, prove,
};
pub use respond::{Options, respond};

#[cfg(test)]
mod tests;
