//! The agents of the bench, and the phases of one round.
//!
//! It is independent of the product: the same code loads the product and the floor. Each runs its console as a child
//! process of its own (`<program> console …`).

mod accept;
mod agent;
mod clock;
mod console;
mod figures;
mod latency;
mod payload;
mod round;
mod round_trip;

pub use agent::{Agent, Login, fill};
pub use clock::monotonic_ns;
pub use console::{ConsoleArgs, Mode, Ready, Report, until_told_to_stop};
pub use figures::Figures;
pub use round::{RoundArgs, run};
