//! Arguments of `setup`.

use clap::Subcommand;

use super::Agent;

#[derive(Debug, Subcommand)]
pub(crate) enum Setup {
    /// List the keys that the workspace's agents declare, with their values and bindings.
    List,
    /// Choose a key's value; `null` goes back to the default.
    Set {
        #[command(flatten)]
        agent: Agent,
        /// The key.
        key: String,
        /// The value, as JSON or as it is; `-` reads standard input.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Let a key spare the question while it has one value.
    Bind {
        #[command(flatten)]
        agent: Agent,
        /// The key.
        key: String,
        /// The agent's call does not ask when the key has this value; `-` reads standard input.
        #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
        skips_when: String,
        /// Critical calls too.
        #[arg(long)]
        critical: bool,
    },
    /// Let a key spare no question any more.
    Unbind {
        #[command(flatten)]
        agent: Agent,
        /// The key.
        key: String,
    },
}
