//! The life of a request, as pure functions: no I/O, no clock, no threads.
//!
//! Time comes in as an argument and is always the bus server's time; whatever is decided here is
//! written down by the core and nowhere else.

pub mod agreement;
pub mod alarm;
mod call_warning;
pub mod cautions;
pub mod controls;
pub mod decide;
pub mod delivery;
pub mod facts;
pub mod fate;
mod fault;
pub mod haste;
pub mod history;
pub mod hold;
pub mod incident;
pub mod life_cycle;
pub mod metrics;
pub mod overview;
pub mod pace;
pub mod presence;
pub mod rank;
pub mod reader;
pub mod request;
pub mod retention;
pub mod search;
pub mod stall;
mod strict_schema;
pub mod timestamp;
pub mod tool_record;
pub mod trace;

pub use agreement::is_vote;
pub use alarm::AlarmCode;
pub use call_warning::{CallWarning, ToldBy, span as call_age};
pub use decide::{Authority, DecideRefusal, already, check_decide, ends_the_call};
pub use delivery::Delivery;
pub use fault::Fault;
pub use incident::{INCIDENTS, Incident};
pub use life_cycle::{State, Step};
pub use request::RequestRecord;
pub use stall::{STALLS, Stall, StallLimits};
pub use strict_schema::{StrictFault, strict_faults};
pub use timestamp::Timestamp;
