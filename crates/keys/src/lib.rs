//! The data folder, its locks, and who this console is: its id and its keys.

pub mod data_dir;
pub mod identity;
pub mod unfinished;
