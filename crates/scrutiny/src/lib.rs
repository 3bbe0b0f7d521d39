//! Points at what a careful reader would see in a call: hazards, what is unlike the approved past, what will happen.
//!
//! Decides nothing and lowers nothing. Pure: the arguments and the past come in, sentences go out.

mod address;
mod amounts;
mod beside;
mod beyond;
mod call;
mod checksum;
mod command;
mod compared;
mod denied;
mod direction;
mod domain_name;
mod effect;
mod examine;
mod facts;
mod finding;
mod hazards;
mod leaf;
mod lists;
mod named;
mod near;
mod near_miss;
mod net;
mod new_value;
mod own;
mod pairs;
mod past;
mod patches;
mod paths;
mod persists;
mod presses;
mod production;
mod rights;
mod role;
mod safeguard;
mod sends;
mod shown;
mod sql;
mod usual;
mod wider;

pub use beside::{Compared, Denied, Scrutiny, findings_of};
pub use call::Call;
pub use compared::{Difference, differs, nearest, shares};
pub use effect::effect;
pub use examine::examine;
pub use facts::{Fact, Kind, facts};
pub use finding::{Code, Finding, Weight};
pub use named::{Names, named};
pub use own::written;
pub use past::{Denial, Habit, Hide, Past};
pub use production::is_production;
