//! The realm log: who may sign, as a chain of signed entries that nobody rewrites (protocol, section 8).
//!
//! One function folds it, [`Realm::apply`]. A key counts between the entries that began and ended its term, by the
//! sequences of their messages; no rule reads a clock.

mod ask;
mod check;
mod device;
mod entry;
mod passkey;
mod record;
mod rights;
mod standing;
mod state;

pub use ask::Ask;
pub use check::check_vectors;
pub use device::{device_may, device_may_set};
pub use entry::{ENTRY_MAX_BYTES, Entry, PolicyMark, REALM_SUBJECT, slot_of};
pub use passkey::passkey_holds;
pub use record::{Limits, Record, Role, SigningKey};
pub use rights::{Does, Word};
pub use standing::{Facts, Standing};
pub use state::{Linked, Mark, Realm, Term};
