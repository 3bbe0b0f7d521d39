//! Practice cards: calls that people approved, with one change of a known kind, to measure whether people still look.
//!
//! A [`PracticeCard`] is not a request and becomes none: it has no wire form, nobody signs it, and only [`make`] makes one.
//! Pure: approved calls and a seed come in, cards and figures go out.

mod card;
mod change;
mod figures;
mod ids;
mod kind;
mod make;
mod outcome;
mod turns;

pub use card::{ApprovedCall, Change, PracticeCard};
pub use figures::{Figures, KindFigures, Sensitivity, TOO_FEW};
pub use kind::ChangeKind;
pub use make::make;
pub use outcome::{Answer, Outcome};
pub use turns::{MOST_WAITING, Queue, SOON_MS, Turns};
