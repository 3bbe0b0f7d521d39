//! What may not be reached from a crate in code that ships, at any depth.
//!
//! Who names whom is in the manifests, and Cargo keeps it; this is what comes along with them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use super::Finding;

const ROOT: &str = "countersign";
/// It measures what the program wires, and ships with nothing.
const BENCH: &str = "countersign-bench";
const WINDOW: [&str; 5] = ["tauri", "wry", "tao", "gtk", "webkit2gtk"];
const STORE: [&str; 2] = ["sqlx", "rusqlite"];
const BUS: [&str; 1] = ["async-nats"];

/// Crates, what they do not reach, and why.
type Rule = (
    &'static [&'static str],
    &'static [&'static [&'static str]],
    &'static str,
);

const UNREACHABLE: [Rule; 6] = [
    (
        &[
            "countersign-wire",
            "countersign-redaction",
            "countersign-domain",
        ],
        &[&["tokio", "ts-rs"], &STORE, &BUS, &WINDOW],
        "it is pure: no I/O and no clock",
    ),
    (
        &["countersign-rules", "countersign-keys"],
        &[&STORE, &BUS, &WINDOW],
        "it judges and signs without a store or a bus",
    ),
    (
        &["countersign-store"],
        &[&BUS, &WINDOW],
        "the store does not know the bus",
    ),
    (
        &["countersign-bus"],
        &[&STORE, &WINDOW],
        "the bus does not know the store",
    ),
    (
        &["countersign-sdk"],
        &[&["countersign-core", "ts-rs"], &STORE, &WINDOW],
        "an agent links the wire types and the bus client only",
    ),
    (
        &["countersign-core", ROOT],
        &[&WINDOW],
        "without the feature `gui` the console needs no WebKit",
    ),
];

/// # Errors
/// When `cargo tree` fails, also because the lock file does not fit.
pub(super) fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (crates, forbidden, why) in UNREACHABLE {
        let packages = crates.iter().flat_map(|name| ["--package", *name]);
        let arguments: Vec<_> = ["--edges", "normal"].into_iter().chain(packages).collect();
        let reached = tree(root, &arguments)?;
        findings.extend(refused(&crates.join(", "), &reached, forbidden, why));
    }
    let users = tree(root, &["--workspace", "--edges", "all", "--invert", ROOT])?;
    let others = users
        .lines()
        .filter(|user| ![ROOT, BENCH].contains(&name(user)));
    findings.extend(others.map(|user| {
        let message =
            format!("depends on `{ROOT}`: nothing but the bench depends on the root package");
        Finding::new(name(user), message)
    }));
    Ok(findings)
}

fn refused(from: &str, tree: &str, forbidden: &[&[&str]], why: &str) -> Vec<Finding> {
    let reached = |name_: &&&str| tree.lines().any(|line| name(line) == **name_);
    let forbidden = forbidden.iter().copied().flatten();
    forbidden
        .filter(reached)
        .map(|found| Finding::new(from, format!("reaches `{found}`: {why}")))
        .collect()
}

/// Of a line such as `serde v1.0.0 (*)`.
fn name(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

fn tree(root: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("cargo")
        .current_dir(root)
        .args(["tree", "--locked", "--prefix", "none"])
        .args(arguments)
        .output()
        .context("cargo does not run")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo tree failed: {said}");
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_forbidden_crate_is_found_at_any_depth() {
        for (crates, forbidden, why) in UNREACHABLE {
            for name in forbidden.iter().copied().flatten() {
                let tree = format!(
                    "{} v0.1.0 (/here)\nbetween v1.0.0\n{name} v2.0.0 (*)\n",
                    crates[0]
                );
                let findings = refused(crates[0], &tree, forbidden, why);
                assert_eq!(findings.len(), 1, "{} to {name}", crates[0]);
            }
        }
        let near = "countersign-store v0.1.0 (/here)\nsqlx-like v1.0.0\nasync-nats-like v1.0.0\n";
        assert_eq!(refused("countersign-store", near, &[&STORE, &BUS], ""), []);
    }

    #[test]
    fn this_workspace_can_be_read() {
        let root = super::super::workspace_root().unwrap();
        let edges = ["--edges", "normal", "--package", "countersign-core"];
        let reached = tree(&root, &edges).unwrap();
        assert!(reached.lines().any(|line| name(line) == "sqlx"));
    }
}
