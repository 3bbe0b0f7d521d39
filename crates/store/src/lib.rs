//! SQLite: one file a table, or a question to several; rows in and domain values out.
//!
//! It has no part in the bus or in decisions. A row type leaves this module only as a plain value that a caller may
//! read.

use countersign_domain as domain;

pub mod agent_instances;
pub mod agents;
pub mod agents_waiting;
pub mod alarms;
pub mod answered;
pub mod approvals;
pub mod audit;
mod audit_hash;
pub mod audit_refs;
pub mod backup;
mod block_times;
pub mod bundle;
pub mod bus_stream;
mod conditions;
pub mod decisions;
mod direct;
mod error;
pub mod export;
pub mod feed_events;
pub mod feed_log;
pub mod feeds;
pub mod filter_values;
pub mod findings;
pub mod habits;
pub mod history;
mod history_narrow;
pub mod history_sorted;
mod history_source;
mod log_sync;
pub mod looked;
pub mod meta;
pub mod metrics;
pub mod outbox;
mod outcomes;
pub mod overview;
pub mod pending_evaluation;
pub mod people_decided;
pub mod policy;
pub mod policy_history;
pub mod policy_versions;
mod pool;
pub mod practice;
pub mod proofs;
pub mod quarantine;
pub mod quorum;
pub mod re_asks;
pub mod reader;
mod reader_direct;
pub mod realm_log;
pub mod receipts;
pub mod receipts_before_decision;
pub mod redefined;
pub mod republish;
pub mod request_list;
pub mod request_states;
pub mod requests;
pub mod retention;
pub mod rule_notes;
pub mod rule_record;
pub mod rule_uses;
pub mod search_index;
pub mod simulated;
pub mod span_bodies;
pub mod span_retention;
pub mod spans;
mod sql;
pub mod stalls;
#[cfg(test)]
mod tests;
pub mod tombstones;
pub mod tool_record;
pub mod tools;
pub mod traces;
pub mod typed_targets;
pub mod ui_state;
pub mod unanswered;
mod updates;
pub mod votes;

pub use direct::Transaction;
pub use error::StoreError;
pub use log_sync::LogSync;
#[cfg(test)]
pub(crate) use pool::temporary;
pub use pool::{Reader, Writer, look_through, open, open_beside, open_read_only, open_telling};
pub use rusqlite::Connection;
pub use updates::{UpdateStep, Updates, last_step, newer};
