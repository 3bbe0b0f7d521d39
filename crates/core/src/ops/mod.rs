//! Use cases: what joins the store and the bus.

mod anchor;
mod anchors_check;
mod answers;
mod apply;
mod arrivals;
pub mod audit_export;
pub mod audit_verify;
pub mod backup;
pub mod brakes;
mod decide;
mod decisions;
mod draft;
mod due;
pub mod enroll;
mod execution;
mod incoming;
pub(crate) mod job;
mod judgement;
mod ladder;
mod ledger;
mod link;
mod lost_anchors;
#[cfg(test)]
mod model;
pub mod operators;
mod policy_check;
mod policy_feed;
pub mod presence;
mod publisher;
pub mod reading;
pub mod recover;
mod reports;
mod response;
pub mod restore;
pub mod retention;
mod spans;
pub mod status;
mod stopped;
pub mod trace;
mod trusted;
mod turns;
pub mod verdicts;
pub mod votes;
mod writer;

pub(crate) use anchor::run as anchor_task;
pub(crate) use ledger::{Counts, Ledger};
pub(crate) use link::Link;
pub(crate) use operators::{KnownList, trusted_now};
pub(crate) use policy_feed::PolicyKnown;
pub(crate) use publisher::{Publisher, Settlements};
pub(crate) use turns::{Peers, Turns};
pub(crate) use writer::{Wires, WriterTask};

pub use job::DecideCommand;
pub use trusted::{Standing, TrustedKeys};
