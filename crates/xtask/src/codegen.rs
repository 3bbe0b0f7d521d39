//! Files that are written from the Rust types: JSON Schema, AsyncAPI, OpenAPI, TypeScript.
//!
//! With `check` it writes nothing and fails when a file differs from what the types say, or has no type.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use countersign_shell::{Shell, read};
use countersign_wire::contract;
use serde_json::{Value, json};

const PROTOCOL: &str = "docs/protocol";
const COMMANDS: &str = "docs/protocol/vectors/commands.json";
const GATEWAY: &str = "docs/api/gateway.openapi.json";
const TYPESCRIPT: &str = "ui/src/ipc/generated.ts";
const SCHEMA_ENDING: &str = ".schema.json";

/// Writes the files, or with `check` compares them.
pub(crate) fn run(check: bool) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = generated()?;
    let stale: Vec<_> = files
        .iter()
        .filter(|(name, text)| fs::read_to_string(root.join(name)).ok().as_ref() != Some(*text))
        .map(|(name, _)| name)
        .collect();
    let orphans = orphans(&root, &files)?;
    if check {
        if stale.is_empty() && orphans.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = stale
            .into_iter()
            .chain(&orphans)
            .map(|name| name.display().to_string())
            .collect();
        bail!(
            "run `cargo xtask codegen`; these differ from the types: {}",
            names.join(", ")
        );
    }
    for name in stale {
        let path = root.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        }
        fs::write(&path, &files[name]).with_context(|| format!("write {}", path.display()))?;
        println!("wrote {}", name.display());
    }
    for name in orphans {
        fs::remove_file(root.join(&name)).with_context(|| format!("remove {}", name.display()))?;
        println!("removed {}", name.display());
    }
    Ok(())
}

/// Every generated file with its text, by its path from the root of the checkout.
fn generated() -> anyhow::Result<BTreeMap<PathBuf, String>> {
    let mut files = BTreeMap::new();
    for (name, schema) in contract::json_schemas() {
        let path = Path::new(PROTOCOL).join(format!("{name}{SCHEMA_ENDING}"));
        files.insert(
            path,
            format!("{}\n", serde_json::to_string_pretty(&schema)?),
        );
    }
    let head = "# Written by `cargo xtask codegen` from crates/wire. Do not edit.\n";
    let asyncapi = serde_yaml_ng::to_string(&contract::asyncapi())?;
    files.insert(
        Path::new(PROTOCOL).join("asyncapi.yaml"),
        format!("{head}{asyncapi}"),
    );
    let openapi = serde_json::to_string_pretty(&countersign_gateway::openapi())?;
    files.insert(PathBuf::from(GATEWAY), format!("{openapi}\n"));
    files.insert(PathBuf::from(TYPESCRIPT), countersign_view::typescript());
    files.insert(PathBuf::from(COMMANDS), commands()?);
    Ok(files)
}

/// What texts of the adversary's cases run, for readers in other languages: some of each kind.
fn commands() -> anyhow::Result<String> {
    let cases = [
        include_str!("../../../tests/data/commands/deny.json"),
        include_str!("../../../tests/data/commands/powershell.json"),
    ];
    let mut rows = Vec::new();
    for group in cases.map(serde_json::from_str::<Vec<Value>>) {
        for group in group? {
            let (name, shell) = match group.get("shell") {
                Some(_) => ("powershell", Shell::PowerShell),
                None => ("posix", Shell::Posix),
            };
            for (side, every) in [("stops", 7), ("free", 4)] {
                let texts = group[side].as_array().into_iter().flatten();
                for text in texts.filter_map(Value::as_str).step_by(every) {
                    let row = json!({ "text": text, "shell": name, "reads": read(text, shell) });
                    rows.push(serde_json::to_string(&row)?);
                }
            }
        }
    }
    Ok(format!("[\n{}\n]\n", rows.join(",\n")))
}

/// Schemas without a type.
fn orphans(root: &Path, files: &BTreeMap<PathBuf, String>) -> anyhow::Result<Vec<PathBuf>> {
    let folder = root.join(PROTOCOL);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut orphans = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))? {
        let name = Path::new(PROTOCOL).join(entry?.file_name());
        let schema = name.to_string_lossy().ends_with(SCHEMA_ENDING);
        if schema && !files.contains_key(&name) {
            orphans.push(name);
        }
    }
    Ok(orphans)
}
