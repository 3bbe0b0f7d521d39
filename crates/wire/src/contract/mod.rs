//! The contract in the languages of others: JSON Schema and AsyncAPI.
//!
//! It writes no files: `cargo xtask codegen` does, from what is built here out of the Rust types alone.

mod asyncapi;
mod realm;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use crate::{
    Anchor, ApprovalDecision, ApprovalRequest, Enrolment, Heartbeat, Hello, Presence, Receipt,
    SignedEnvelope, Span, Tighten, Vote, Withdraw,
};

pub use asyncapi::asyncapi;

/// The JSON Schema (2020-12) of every message: the file's name before
/// `.schema.json`, and the schema. Schemas allow unknown fields, as the protocol does;
/// what only the bytes or the subject can show (duplicate keys, digests) is not in them.
pub fn json_schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("request", schema::<ApprovalRequest>()),
        ("withdraw", schema::<Withdraw>()),
        ("tighten", schema::<Tighten>()),
        ("decision", schema::<ApprovalDecision>()),
        ("vote", schema::<Vote>()),
        ("receipt", schema::<Receipt>()),
        ("span", schema::<Span>()),
        ("hello", schema::<Hello>()),
        ("alive", schema::<Heartbeat>()),
        ("signed-envelope", schema::<SignedEnvelope>()),
        ("anchor", schema::<Anchor>()),
        ("realm-entry", realm::entry()),
        ("ask", realm::ask()),
        ("presence", schema::<Presence>()),
        ("agent", schema::<Enrolment>()),
    ]
}

fn schema<T: JsonSchema>() -> Value {
    SchemaGenerator::default()
        .into_root_schema_for::<T>()
        .to_value()
}
