//! The program from outside: the real binary, a real nats-server, temporary data folders.
//!
//! What a person or a script sees is what is tested.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod agents;
mod alarms;
mod ask_key;
mod attacks;
mod audit;
mod backup;
mod calls;
mod crash;
mod desk;
mod doctor;
mod enrolled;
mod export;
mod history;
mod hostile;
mod hung;
mod imports;
mod judgement;
#[cfg(feature = "gui")]
mod keychain;
mod lists;
mod logs;
mod mcp;
mod modes;
mod operators;
mod otlp;
mod otlp_export;
mod outside;
mod permissions;
mod practice;
mod privacy;
mod reader;
mod recover;
mod refusals;
mod rejected;
mod rotation;
mod round_trip;
mod rules;
mod secrets;
mod shell;
mod show;
mod states;
mod stops;
mod trace;
mod unread;
mod updates;
mod usage;
mod verdicts;
mod votes;
mod wal;
