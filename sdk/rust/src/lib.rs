#![doc = include_str!("../README.md")]
//!
//! Silence, an error or a doubt never runs a call.
#![forbid(unsafe_code)]

mod afterwards;
mod ask;
mod asking;
mod bus;
mod clock;
mod decision;
mod draft;
mod error;
mod gate;
mod handle;
mod identity;
mod inner;
mod introduction;
mod journal;
mod judge;
mod log;
mod login;
mod looks;
mod options;
mod outbox;
mod presence;
mod receipts;
mod resume;
mod run;
mod timing;
mod tls;
mod wait;
mod waiting;
mod which;
mod words;

pub use countersign_wire as wire;

pub use ask::Ask;
pub use countersign_wire::{
    ApprovalDecision, ApprovalRequest, DecisionFault, DecisionVerdict, Effects, Enrolment,
    HelloTool, RequestId, Risk, Verdict,
};
pub use decision::{Decision, Proof};
pub use error::GateError;
pub use gate::{Asking, Gate};
pub use handle::AskHandle;
pub use introduction::Introduction;
pub use log::LogFault;
pub use options::{EnrolmentSource, GateBuilder};
pub use receipts::Receipts;
pub use run::Ran;
pub use timing::Timing;
pub use which::{PROBE, Which};
pub use words::{decider, edit_notice, refusal_text};
