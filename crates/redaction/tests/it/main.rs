//! Which values are hidden, and which are not.

mod ordinary_values;
mod redactions;
mod secret_commands;
