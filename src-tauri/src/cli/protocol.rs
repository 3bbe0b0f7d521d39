//! `protocol check`: what this program makes of the protocol's vectors.

use std::fs;

use countersign_wire::realm::check_vectors;

use super::args::Protocol;
use super::failure::Failure;
use super::output::Output;

/// Prints JSON lines, with `--json` or without.
pub(crate) fn run(out: Output, Protocol::Check { file }: &Protocol) -> Result<(), Failure> {
    let text = fs::read(file)
        .map_err(|error| Failure::usage(format!("{} cannot be read: {error}", file.display())))?;
    let lines = check_vectors(&text)
        .ok_or_else(|| Failure::usage(format!("{} is no file of vectors", file.display())))?;
    lines.iter().try_for_each(|line| out.json_line(line))?;
    Ok(())
}
