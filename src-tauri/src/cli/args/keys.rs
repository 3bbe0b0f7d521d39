//! Arguments of `keys`.

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// Show the signing keys, where their seeds are stored, and why there.
    Show,
    /// Move the seeds to another place; stop the console first. The keys stay the same.
    Move {
        /// Where to.
        #[arg(long, value_enum)]
        to: KeyPlaceWord,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyPlaceWord {
    /// The system's keychain.
    Keychain,
    /// Files in the data folder, readable by you alone.
    File,
}
