//! What the floors of the bench have in common: a nats-server, its two write-once streams and how they are read.

pub mod decision;
pub mod read;
pub mod server;
pub mod streams;

use std::io::Write;

/// Prints one line of JSON for the driver of the round.
///
/// # Errors
/// When nobody reads it.
pub fn tell(line: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, line)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}
