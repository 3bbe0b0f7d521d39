//! The settings files outside of a person's own that `connect` wrote into: without this nobody could find them again.

use std::fs;
use std::path::{Path, PathBuf};

use countersign_core::data_dir::write_private;
use countersign_hooks::{Program, is_connected};
use serde_json::json;

use super::super::args::program;
use super::super::config::Settings;
use super::super::failure::Failure;
use super::MCP;
use super::place::files;

const FILE: &str = "connected.json";

/// A program's name, or `mcp`, and one of its settings files.
pub(super) type Entry = (String, PathBuf);

fn kept(settings: &Settings) -> Vec<Entry> {
    let text = fs::read(settings.data_dir.join(FILE)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Adds a file that has entries of ours now, or takes out one that has none any more. A folder without a console keeps
/// nothing.
pub(super) fn keep(
    settings: &Settings,
    name: &str,
    file: &Path,
    connected: bool,
) -> Result<(), Failure> {
    let before = kept(settings);
    let mut now = before.clone();
    now.retain(|(of, at)| of != name || at != file);
    if connected {
        now.push((name.to_owned(), file.to_owned()));
    }
    if now == before || !settings.data_dir.is_dir() {
        return Ok(());
    }
    let path = settings.data_dir.join(FILE);
    let text = format!("{}\n", json!(now));
    write_private(&path, text.as_bytes())
        .map_err(|error| Failure::environment(format!("{}: {error}", path.display())))
}

/// What was kept and is still there, and what the programs read here, each file once.
pub(super) fn all(settings: &Settings) -> Vec<Entry> {
    let read_here = Program::ALL.into_iter().flat_map(|program| {
        files(program)
            .into_iter()
            .map(move |(_, file)| (program.name().to_owned(), file))
    });
    let mut found: Vec<Entry> = Vec::new();
    for (name, file) in kept(settings).into_iter().chain(read_here) {
        let Ok(file) = fs::canonicalize(file) else {
            continue;
        };
        let ours = match program(&name) {
            Ok(program) => is_connected(program, &file),
            Err(_) => name == MCP,
        };
        if ours && !found.contains(&(name.clone(), file.clone())) {
            found.push((name, file));
        }
    }
    found
}
