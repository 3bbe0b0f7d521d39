//! The arguments of `alarms`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Alarms {
    #[command(subcommand)]
    pub(crate) what: Option<AlarmsWhat>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum AlarmsWhat {
    /// Acknowledge an alarm: `status` omits it, the list of alarms keeps it. Audited.
    Ack {
        /// Its number, from `countersign alarms`.
        id: i64,
    },
}
