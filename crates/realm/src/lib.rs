//! What the operators of a realm share through `CS_POLICY`: panic, pauses, bypasses, rules and setup keys.
//!
//! It knows nothing that acts by them.

use countersign_bus as bus;
use countersign_domain as domain;
use countersign_store as store;

pub mod controls;
pub mod in_force;
pub mod registers;
pub mod rules;
pub mod setup;
pub mod signers;

pub use in_force::{Author, InForce};
pub use registers::{Bucket, Current, Manner, News, Next, Registers};
pub use signers::Signers;
