//! What the command line prints of facts: the JSON of its contract, and lines for a person.

pub mod line;
pub mod scrutiny;
pub mod show;
