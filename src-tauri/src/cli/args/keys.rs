//! Arguments of `keys`.

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// Say where the seeds of the signing keys are, why there, and which keys they are.
    Show,
    /// Move the seeds to another place; the console must not run. The keys stay the same.
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
