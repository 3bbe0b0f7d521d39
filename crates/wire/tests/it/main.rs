//! The protocol, checked from outside the crate.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod decision_faults;
mod decisions;
mod digests;
mod exact_shapes;
mod fuzzed;
mod hellos;
mod names;
mod near_misses;
mod policies;
mod properties;
mod published;
mod realm_entries;
mod realm_log;
mod realm_model;
mod rejected_bytes;
mod rejections;
mod shown;
mod signatures;
mod small_messages;
mod support;
mod vectors;
mod votes;
