//! Who may depend on whom, read from `cargo metadata` (rules of direction in `docs/ARCHITECTURE.md`).
//!
//! Refuses to change the lock file: one that does not fit fails the check.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use cargo_metadata::{DependencyKind, MetadataCommand};

use super::Finding;

const ROOT: &str = "countersign";

/// What a member may name of the workspace, in code that ships.
const ALLOWED: [(&str, &[&str]); 4] = [
    ("countersign-wire", &[]),
    ("countersign-core", &["countersign-wire"]),
    ("countersign-otlp", &["countersign-wire"]),
    ("countersign-sdk", &["countersign-wire"]),
];

/// What may not be reached from a crate in code that ships, at any depth.
const UNREACHABLE: [(&str, &[&str], &str); 3] = [
    (
        "countersign-sdk",
        &["countersign-core", "sqlx", "sqlx-core", "tauri", "wry"],
        "an agent links the wire types and the bus client only",
    ),
    (
        "countersign-core",
        &["tauri", "wry", "gtk", "webkit2gtk"],
        "the core runs without a window",
    ),
    (
        ROOT,
        &["tauri", "wry", "tao", "gtk", "webkit2gtk"],
        "without the feature `gui` the console needs no WebKit",
    ),
];

/// The crates of the workspace and below it, with default features.
#[derive(Debug, Default)]
pub(super) struct Graph {
    members: BTreeSet<String>,
    /// Edges of code that ships.
    normal: BTreeMap<String, BTreeSet<String>>,
    /// Edges of every kind: also tests and build scripts.
    any: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// # Errors
    /// When `cargo metadata` fails.
    pub(super) fn of_workspace(root: &Path) -> anyhow::Result<Self> {
        let metadata = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .other_options([
                "--locked".to_owned(),
                "--filter-platform".to_owned(),
                host()?,
            ])
            .exec()
            .context("cargo metadata failed")?;
        let names: BTreeMap<_, _> = metadata
            .packages
            .iter()
            .map(|package| (&package.id, package.name.to_string()))
            .collect();
        let mut graph = Self {
            members: metadata
                .workspace_members
                .iter()
                .filter_map(|id| names.get(id).cloned())
                .collect(),
            ..Self::default()
        };
        for node in metadata
            .resolve
            .context("cargo metadata resolved nothing")?
            .nodes
        {
            let Some(from) = names.get(&node.id) else {
                continue;
            };
            for dependency in &node.deps {
                let Some(to) = names.get(&dependency.pkg) else {
                    continue;
                };
                graph
                    .any
                    .entry(from.clone())
                    .or_default()
                    .insert(to.clone());
                if dependency
                    .dep_kinds
                    .iter()
                    .any(|kind| kind.kind == DependencyKind::Normal)
                {
                    graph
                        .normal
                        .entry(from.clone())
                        .or_default()
                        .insert(to.clone());
                }
            }
        }
        Ok(graph)
    }

    /// Everything below `from` in code that ships.
    fn reached(&self, from: &str) -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(next) = open.pop() {
            for to in self.normal.get(next).into_iter().flatten() {
                if seen.insert(to.as_str()) {
                    open.push(to);
                }
            }
        }
        seen
    }
}

pub(super) fn check(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (from, to) in &graph.any {
        if to.contains(ROOT) {
            findings.push(Finding::new(
                from,
                format!("depends on `{ROOT}`: nothing depends on the root package"),
            ));
        }
    }
    for (member, allowed) in ALLOWED {
        for to in graph.normal.get(member).into_iter().flatten() {
            if graph.members.contains(to) && !allowed.contains(&to.as_str()) {
                findings.push(Finding::new(
                    member,
                    format!("depends on `{to}`: that direction is not allowed"),
                ));
            }
        }
    }
    for (from, forbidden, why) in UNREACHABLE {
        let reached = graph.reached(from);
        for crate_name in forbidden.iter().filter(|name| reached.contains(*name)) {
            findings.push(Finding::new(from, format!("reaches `{crate_name}`: {why}")));
        }
    }
    findings
}

fn host() -> anyhow::Result<String> {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .context("rustc does not run")?;
    ensure!(output.status.success(), "rustc -vV failed");
    String::from_utf8(output.stdout)?
        .lines()
        .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
        .context("rustc -vV names no host")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph {
            members: [
                ROOT,
                "countersign-core",
                "countersign-sdk",
                "countersign-wire",
            ]
            .map(str::to_owned)
            .into(),
            ..Graph::default()
        };
        for (from, to) in edges {
            for map in [&mut graph.any, &mut graph.normal] {
                map.entry((*from).to_owned())
                    .or_default()
                    .insert((*to).to_owned());
            }
        }
        graph
    }

    #[test]
    fn the_directions_of_the_architecture_pass() {
        let allowed = [
            (ROOT, "countersign-core"),
            (ROOT, "countersign-sdk"),
            ("countersign-core", "countersign-wire"),
            ("countersign-sdk", "countersign-wire"),
            ("countersign-core", "sqlx"),
        ];
        assert_eq!(check(&graph(&allowed)), []);
    }

    #[test]
    fn every_other_direction_is_found() {
        for edge in [
            ("countersign-wire", "countersign-core"),
            ("countersign-core", "countersign-sdk"),
            ("countersign-sdk", "countersign-core"),
            ("xtask", ROOT),
        ] {
            assert!(!check(&graph(&[edge])).is_empty(), "{edge:?}");
        }
    }

    #[test]
    fn a_forbidden_crate_is_found_at_any_depth() {
        for (from, forbidden, _) in UNREACHABLE {
            for name in forbidden {
                let findings = check(&graph(&[(from, "between"), ("between", name)]));
                assert_eq!(findings.len(), 1, "{from} to {name}");
            }
        }
    }

    #[test]
    fn this_workspace_can_be_read() {
        let graph = Graph::of_workspace(&super::super::workspace_root().unwrap()).unwrap();
        assert!(graph.members.contains(ROOT));
        assert!(graph.reached("countersign-core").contains("sqlx"));
    }
}
