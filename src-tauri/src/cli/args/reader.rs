//! Arguments of `reader`.

use std::ffi::OsString;

use clap::Subcommand;

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Reader {
    /// List the known programs that can read, and where arguments of calls would go.
    List,
    /// Let a known program read the waiting calls of some workspaces. It is asked about one made-up card first.
    Use {
        /// `claude-code`, `ollama` or `lm-studio`.
        name: String,
        /// Whose calls it reads.
        #[arg(long, value_name = "A,B", value_delimiter = ',', required = true)]
        workspaces: Vec<String>,
        /// Which model; required for ollama and lm-studio.
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
    },
    /// Stop it: no argument leaves any more. Its marks stay.
    Off,
    /// Ask it about twelve made-up cards, six of them bad.
    Try,
    /// The process between the console and a reading program.
    #[command(hide = true)]
    Guard {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        line: Vec<OsString>,
    },
}
