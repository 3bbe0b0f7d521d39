//! The life of a request, as pure functions: no I/O, no clock, no threads.
//!
//! Time comes in as an argument and is always the bus server's time; whatever is decided here is
//! written down by the core and nowhere else.

pub mod agreement;
pub mod alarm;
pub mod brakes;
pub mod cautions;
pub mod decide;
pub mod delivery;
pub mod fate;
mod fault;
pub mod history;
pub mod hold;
pub mod incident;
pub mod life_cycle;
pub mod overview;
pub mod pace;
pub mod presence;
pub mod rank;
pub mod request;
pub mod retention;
pub mod search;
pub mod stall;
pub mod timestamp;
pub mod tool_record;
pub mod trace;

pub use agreement::is_vote;
pub use alarm::AlarmCode;
pub use decide::{Authority, DecideRefusal, already, check_decide, ends_the_call};
pub use delivery::Delivery;
pub use fault::Fault;
pub use incident::{INCIDENTS, Incident};
pub use life_cycle::{State, Step};
pub use request::RequestRecord;
pub use stall::{STALLS, Stall, StallLimits};
pub use timestamp::Timestamp;
