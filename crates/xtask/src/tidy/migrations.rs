//! Migrations are append-only: a database out there has run them.
//!
//! A recorded checksum is never changed: recording only ever adds lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use regex::Regex;
use sha2::{Digest, Sha256};

use super::Finding;

const FOLDER: &str = "migrations";
const LIST: &str = "crates/xtask/migrations.sha256";

pub(super) fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    compare(&files(root)?, &recorded(root)?)
}

/// Adds every migration that is not on the list yet and returns their names.
pub(super) fn record(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut list = recorded(root)?;
    let mut added = Vec::new();
    for (name, checksum) in files(root)? {
        if !list.contains_key(&name) {
            list.insert(name.clone(), checksum);
            added.push(name);
        }
    }
    let text = list
        .iter()
        .fold(String::new(), |mut text, (name, checksum)| {
            let _ = writeln!(text, "{checksum}  {name}");
            text
        });
    std::fs::write(root.join(LIST), text).with_context(|| format!("cannot write {LIST}"))?;
    Ok(added)
}

type Checksums = BTreeMap<String, String>;

fn compare(files: &Checksums, recorded: &Checksums) -> anyhow::Result<Vec<Finding>> {
    let well_named = Regex::new(r"^\d{14}_[a-z][a-z0-9]*(_[a-z0-9]+)+\.sql$")?;
    let newest_recorded = recorded.keys().next_back();
    let mut findings = Vec::new();
    for (name, checksum) in files {
        let place = format!("{FOLDER}/{name}");
        if !well_named.is_match(name) {
            findings.push(Finding::new(&place, "name it YYYYMMDDhhmmss_verb_noun.sql"));
        }
        match recorded.get(name) {
            Some(known) if known == checksum => {}
            Some(_) => findings.push(Finding::new(
                &place,
                "changed since it was recorded: undo that and add a new migration",
            )),
            None if newest_recorded.is_some_and(|newest| name < newest) => {
                findings.push(Finding::new(
                    &place,
                    "older than a recorded one: give it a later time",
                ));
            }
            None => findings.push(Finding::new(
                &place,
                "not recorded yet: run `cargo xtask tidy --record-migrations`",
            )),
        }
    }
    for name in recorded.keys().filter(|name| !files.contains_key(*name)) {
        findings.push(Finding::new(
            format!("{FOLDER}/{name}"),
            "recorded but gone: restore it",
        ));
    }
    Ok(findings)
}

fn files(root: &Path) -> anyhow::Result<Checksums> {
    let mut files = Checksums::new();
    for entry in
        std::fs::read_dir(root.join(FOLDER)).with_context(|| format!("cannot read {FOLDER}"))?
    {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".sql") {
            let digest = Sha256::digest(std::fs::read(entry.path())?);
            files.insert(
                name,
                digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            );
        }
    }
    Ok(files)
}

fn recorded(root: &Path) -> anyhow::Result<Checksums> {
    let path = root.join(LIST);
    if !path.exists() {
        return Ok(Checksums::new());
    }
    std::fs::read_to_string(path)?
        .lines()
        .map(|line| {
            let (checksum, name) = line
                .split_once("  ")
                .with_context(|| format!("{LIST}: a line has no checksum"))?;
            Ok((name.to_owned(), checksum.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "20261121000000_create_requests.sql";
    const SECOND: &str = "20261122000000_add_rules.sql";

    fn list(entries: &[(&str, &str)]) -> Checksums {
        entries
            .iter()
            .map(|(name, checksum)| ((*name).to_owned(), (*checksum).to_owned()))
            .collect()
    }

    #[test]
    fn a_recorded_and_unchanged_list_passes() {
        let all = list(&[(FIRST, "1"), (SECOND, "2")]);
        assert_eq!(compare(&all, &all).unwrap(), []);
    }

    #[test]
    fn changed_missing_unrecorded_older_and_badly_named_ones_are_found() {
        let both = list(&[(FIRST, "1"), (SECOND, "2")]);
        for (files, recorded, says) in [
            (
                list(&[(FIRST, "9")]),
                list(&[(FIRST, "1")]),
                "changed since",
            ),
            (list(&[]), list(&[(FIRST, "1")]), "recorded but gone"),
            (both.clone(), list(&[(FIRST, "1")]), "not recorded yet"),
            (both, list(&[(SECOND, "2")]), "older than"),
            (
                list(&[("1_x.sql", "1")]),
                list(&[("1_x.sql", "1")]),
                "name it",
            ),
        ] {
            let found = compare(&files, &recorded).unwrap();
            assert_eq!(found.len(), 1, "{says}");
            assert!(found[0].message.contains(says), "{found:?}");
        }
    }

    #[test]
    fn recording_adds_lines_and_never_changes_one() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join(FOLDER)).unwrap();
        std::fs::create_dir_all(root.path().join("crates/xtask")).unwrap();
        std::fs::write(root.path().join(FOLDER).join(FIRST), "create table a;").unwrap();
        assert_eq!(record(root.path()).unwrap(), [FIRST]);
        assert_eq!(check(root.path()).unwrap(), []);
        std::fs::write(root.path().join(FOLDER).join(FIRST), "create table b;").unwrap();
        assert!(record(root.path()).unwrap().is_empty());
        assert_eq!(check(root.path()).unwrap().len(), 1);
    }
}
