//! The headless application against a real nats-server and a real SQLite file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod account_limit;
mod agent;
mod audit;
mod brakes;
mod bypass;
mod calls;
mod complete;
mod consoles;
mod decide;
mod delivery;
mod disk;
mod expiry;
mod faults;
mod fuzzed;
mod held_back;
mod lost_watch;
mod operators;
mod policy;
mod policy_lost;
mod presence;
mod quorum;
mod ranks;
mod recover;
mod rejected;
mod restart;
mod retention;
mod revoked;
mod rotation;
mod rules;
mod scale;
mod setup_keys;
mod skew;
mod space;
mod spy;
mod votes;
