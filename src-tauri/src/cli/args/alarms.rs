//! The arguments of `alarms`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Alarms {
    #[command(subcommand)]
    pub(crate) what: Option<AlarmsWhat>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum AlarmsWhat {
    /// Say that you have seen an alarm: `status` tells it no longer, the list of alarms does. Audited.
    Ack {
        /// Its number, from `countersign alarms`.
        id: i64,
    },
}
