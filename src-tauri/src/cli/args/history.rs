//! Arguments of `history` and `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::super::narrow::Narrow;
use crate::export;

#[derive(Debug, Args)]
pub(crate) struct History {
    #[command(flatten)]
    pub(crate) narrow: Narrow,
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) limit: u16,
    /// Continue after this cursor: `next` of the previous page.
    #[arg(long, value_name = "CURSOR", allow_hyphen_values = true)]
    pub(crate) after: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// One JSON object a line, or a table for a spreadsheet.
    #[arg(long, value_enum)]
    pub(crate) format: Format,
    /// Where to write it; `-` is standard output [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) narrow: Narrow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Jsonl,
    Csv,
}

impl From<Format> for export::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Jsonl => Self::Jsonl,
            Format::Csv => Self::Csv,
        }
    }
}
