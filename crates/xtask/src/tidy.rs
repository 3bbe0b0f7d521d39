//! Checks that the tree keeps the rules of `docs/ARCHITECTURE.md`.
//!
//! It changes nothing: every finding names the file, the rule and what to do, and a person does it.

mod graph;
mod migrations;
mod names;
mod purity;
mod shape;
mod sizes;
mod tree;
mod ui_imports;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use self::tree::Source;

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// Where: a path from the workspace root, or the name of a crate.
    place: String,
    /// What is wrong and what to do about it.
    message: String,
}

impl Finding {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Runs every check and prints what it found.
pub(crate) fn run(record_migrations: bool) -> anyhow::Result<()> {
    let root = workspace_root()?;
    if record_migrations {
        for name in migrations::record(&root)? {
            println!("recorded {name}");
        }
    }
    let sources = tree::read(&root)?;
    let mut findings = check_sources(&sources)?;
    findings.extend(graph::check(&root)?);
    findings.extend(shape::check(&root, &sources)?);
    findings.extend(migrations::check(&root)?);
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("tidy: {} problems", findings.len());
    }
    println!("tidy: {} files, no problems", sources.len());
    Ok(())
}

fn check_sources(sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let mut findings = sizes::check(sources);
    findings.extend(names::check(sources)?);
    findings.extend(purity::check(sources)?);
    findings.extend(ui_imports::check(sources)?);
    Ok(findings)
}

fn workspace_root() -> anyhow::Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .map(Path::to_path_buf)
        .context("crates/xtask is not two folders below the workspace root")
}
