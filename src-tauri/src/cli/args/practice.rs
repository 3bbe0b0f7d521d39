//! Arguments of `practice`.

use clap::Subcommand;

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum Practice {
    /// Put practice cards among the real ones in the window. Audited.
    On {
        /// About one card in this many is practice.
        #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(2..=10_000))]
        one_in: u32,
    },
    /// Stop showing practice cards; the figures stay. Audited.
    Off,
    /// Show what was caught and missed, by person and kind of change.
    Report,
}
