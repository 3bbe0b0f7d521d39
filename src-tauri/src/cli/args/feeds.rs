//! Arguments of `feeds`.

use clap::{ArgGroup, Subcommand};

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Feeds {
    /// List the feeds of config.toml: where each sends, how far it is, what waits.
    List,
    /// Send one event now. Exits 0 only if the receiver took it.
    Test {
        /// The feed's name in config.toml.
        name: String,
    },
    /// List the events that the receiver refused, oldest first, the dead ones too.
    Failed {
        /// The feed's name in config.toml.
        name: String,
    },
    /// Send events again, dead ones too. Audited.
    #[command(group = ArgGroup::new("which").required(true).args(["since", "id"]))]
    Replay {
        /// The feed's name in config.toml.
        name: String,
        /// From this time on: RFC 3339, a date, or an age such as 2h.
        #[arg(long, value_name = "T")]
        since: Option<String>,
        /// Up to this time [default: now].
        #[arg(long, value_name = "T", requires = "since")]
        until: Option<String>,
        /// One event.
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Print the secret that signs a webhook.
    Secret {
        /// The feed's name in config.toml.
        name: String,
    },
    /// Make a new secret for a webhook. The old one signs too for 24 hours. Audited.
    Rotate {
        /// The feed's name in config.toml.
        name: String,
    },
    /// Go on with a feed that the receiver ended with status 410. Audited.
    Enable {
        /// The feed's name in config.toml.
        name: String,
    },
}
