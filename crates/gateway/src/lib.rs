//! HTTP for agents that speak neither NATS nor a language of an SDK.
//!
//! A call runs on `POST …/claim` with status 200 and `"run": true`, and on nothing else. An answer is claimed once, over
//! any crash: the claim is on the disk before its answer is sent.
#![forbid(unsafe_code)]

mod api;
mod ask;
mod body;
mod callback;
mod desk;
mod fault;
mod files;
mod front;
mod http;
mod journal;
mod link;
mod moment;
mod openapi;
mod origins;
mod routes;
mod serve;
mod shared;
mod start;
mod start_error;
#[cfg(test)]
mod tests;
mod tokens;

pub use openapi::openapi;
pub use start::{Gateway, Options};
pub use start_error::StartError;
pub use tokens::{NewToken, TokenError, TokenFile, create, list, revoke};
