//! Arguments of `setup`.

use clap::Subcommand;

use super::Agent;

#[derive(Debug, Subcommand)]
pub(crate) enum Setup {
    /// List the keys that the workspace's agents declare, with their values and bindings.
    List,
    /// Set a key's value; `null` restores the default.
    Set {
        #[command(flatten)]
        agent: Agent,
        /// The key.
        key: String,
        /// The value, as JSON or plain text; `-` reads standard input.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Skip asking while a key has a given value.
    Bind {
        #[command(flatten)]
        agent: Agent,
        /// The key.
        key: String,
        /// The agent's calls do not ask while the key has this value; `-` reads standard input.
        #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
        skips_when: String,
        /// Critical calls too.
        #[arg(long)]
        critical: bool,
    },
    /// Ask again, whatever the key's value is.
    Unbind {
        #[command(flatten)]
        agent: Agent,
        /// The key.
        key: String,
    },
}
