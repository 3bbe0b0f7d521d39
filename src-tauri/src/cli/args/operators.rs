//! The arguments of `operators`.

use clap::{Args, Subcommand, ValueEnum};

use super::Risk;

#[derive(Debug, Subcommand)]
pub(crate) enum Operators {
    /// List the keys in force and those that ask to be let in.
    List {
        /// Also keys that have ended.
        #[arg(long)]
        all: bool,
    },
    /// List the entries of the realm log: who changed what of the operators.
    Log,
    /// Let in who asked with a key. A key that asks to be another one of your own is added.
    Accept {
        /// The key of the ask.
        key: String,
        /// Name of the operator [default: the name in the ask].
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// As an administrator, who may change the operators.
        #[arg(long)]
        admin: bool,
        #[command(flatten)]
        limits: Limits,
    },
    /// End operators with all their keys, in one step; what they decided before stays valid. Turns an ask away.
    Retire {
        /// Any key of each.
        #[arg(id = "KEY", required = true)]
        keys: Vec<String>,
        /// Only these keys.
        #[arg(long)]
        key_only: bool,
    },
    /// Limit what an operator may allow from now on; without a flag the limits are removed.
    ///
    /// The limits bind all keys of the operator, and the automatic answers of the operator's console.
    Limit {
        /// Any key of the operator.
        key: String,
        #[command(flatten)]
        limits: Limits,
    },
    /// Make an operator an administrator, or no longer.
    Admin {
        /// Any key of the operator.
        key: String,
        /// `on` or `off`.
        state: Switch,
    },
    /// Give an operator another name.
    Rename {
        /// Any key of the operator.
        key: String,
        /// The name.
        name: String,
    },
    /// Give this console new signing keys; what the old ones decided stays valid.
    Rotate {
        /// End the old keys at once: approvals that agents have not read yet are refused.
        #[arg(long)]
        now: bool,
    },
    /// Let newcomers wait for a person; without `on` or `off`, show the setting.
    Acceptance {
        /// `on`: they wait; `off`: a console of an administrator lets them in.
        state: Option<Switch>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Limits {
    /// The only workspaces in which the operator may do more than deny, separated by commas.
    #[arg(long, value_name = "WS,…", value_delimiter = ',')]
    pub(crate) workspaces: Option<Vec<String>>,
    /// The highest risk at which the operator may do more than deny.
    #[arg(long, value_enum, value_name = "R")]
    pub(crate) max_risk: Option<Risk>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}
