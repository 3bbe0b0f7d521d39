//! Use cases: what joins the store and the bus.

mod agent_flood;
pub mod agents;
pub mod alarms;
mod anchor;
mod answer_feed;
mod apply;
mod arrivals;
mod attested;
pub mod audit_export;
pub mod audit_verify;
mod automatic;
mod automatic_answers;
pub mod backup;
mod batching;
pub mod bypass;
pub mod cautions;
pub mod controls;
mod decide;
mod decision_reading;
mod decision_words;
mod decisions;
mod denied_flips;
mod details;
mod draft;
mod due;
mod durable;
pub mod edited;
pub mod enroll;
mod execution;
pub mod feeds;
pub mod gates;
pub mod habits;
pub mod health;
mod heartbeats;
pub(crate) mod hello_barrier;
mod hello_gap;
mod hellos;
mod incoming;
pub(crate) mod job;
pub mod keys;
mod ladder;
mod link;
pub mod listed_names;
mod lost_anchors;
pub mod matrix;
#[cfg(test)]
mod model;
pub mod moved_port;
mod overview;
pub mod pace;
mod policy_check;
mod policy_feed;
pub mod practice;
pub mod presence;
pub mod preview;
mod publisher;
pub mod purge;
mod queues;
mod quorum;
mod read_only;
pub mod reader;
pub mod reading;
pub mod realm;
mod recall;
pub mod recover;
mod registers;
pub mod regrets;
mod relaxing;
mod relay;
mod reports;
pub mod response;
pub mod restore;
pub mod retention;
mod rollback;
pub mod rule_changes;
mod rule_days;
mod rule_notes;
mod rule_usage;
pub mod rules;
mod schema_cost;
pub mod scrutiny;
mod search_index;
mod search_text;
pub mod setup;
pub mod simulate;
mod spans;
pub mod status;
mod stopped;
mod store_state;
mod stream_quota;
pub mod suggest;
pub mod tool_record;
pub mod trace;
pub mod traces;
mod turns;
mod typed_targets;
pub mod verdicts;
mod verify_anchors;
mod verify_rows;
pub mod votes;
pub mod waiting_calls;
mod what_if;
pub mod why;
mod writer;
mod writer_state;

pub(crate) use anchor::run as anchor_task;
pub(crate) use apply::outbox::outcome;
pub(crate) use automatic::Judge;
pub(crate) use durable::durable;
pub(crate) use link::Link;
pub(crate) use policy_feed::PolicyKnown;
pub(crate) use publisher::{Publisher, Settlements};
pub(crate) use queues::{Queues, queues};
pub(crate) use turns::Peers;
pub(crate) use writer::{Thread, WriterHandles, WriterTask};
pub(crate) use writer_state::{Tx, WriterConfig, WriterState};

pub use job::{Automatic, DecideCommand, Look, ShownFinding, Via};
pub use realm::{KeyStatus, TrustedKeys};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) async fn temporary() -> (
    tempfile::TempDir,
    crate::store::Writer,
    crate::store::Reader,
) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("countersign.db");
    let (writer, reader) = crate::store::open(&file).await.unwrap();
    (folder, writer, reader)
}
