//! Tests of practice cards.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod figures;
mod inert;
mod judged;
mod made;
mod turns;
