//! The shape of the upper floors, as a ratchet: a figure here may sink, never rise.
//!
//! A figure that sank is a finding too, so that the limit follows it.

mod circles;
mod code;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use cargo_metadata::{DependencyKind, MetadataCommand};
use regex::Regex;

use self::code::Module;
use super::Finding;
use super::tree::Source;

/// Which crates of ours a crate may depend on, by the names of their folders; a crate without a row knows none.
const KNOWS: [(&str, &[&str]); 24] = [
    ("bridge", &["sdk"]),
    ("bus", &["domain", "keys", "wire"]),
    (
        "core",
        &[
            "bus",
            "domain",
            "keys",
            "practice",
            "realm",
            "redaction",
            "rules",
            "scrutiny",
            "store",
            "wire",
        ],
    ),
    ("domain", &["wire"]),
    ("feeds", &["domain", "post", "store", "wire"]),
    ("gateway", &["post", "sdk", "wire"]),
    ("hooks", &["sdk", "wire"]),
    ("keys", &["domain", "redaction", "wire"]),
    ("mcp", &["redaction", "sdk", "wire"]),
    ("metrics", &["domain", "wire"]),
    ("otlp", &["wire"]),
    ("post", &[]),
    ("practice", &["scrutiny"]),
    ("reader", &["domain", "post", "wire"]),
    (
        "realm",
        &["bus", "domain", "keys", "rules", "store", "wire"],
    ),
    ("redaction", &["wire"]),
    ("rules", &["domain", "redaction", "shell", "wire"]),
    ("scrutiny", &["domain", "redaction", "shell", "wire"]),
    ("sdk", &["wire"]),
    ("shell", &[]),
    ("store", &["domain", "wire"]),
    ("testkit", &["core", "wire"]),
    (
        "view",
        &["domain", "redaction", "rules", "scrutiny", "shell", "wire"],
    ),
    ("wire", &[]),
];

/// Not part of the product's floors: the program joins all, the tasks read what they generate from.
const ABOVE: [&str; 2] = ["countersign", "xtask"];

/// Modules in the largest circle of a crate, where they are more than [`CIRCLE`].
const CIRCLES: [(&str, usize); 1] = [("crates/core", 44)];
const CIRCLE: usize = 4;

/// Crates whose structs, enums and handle are measured.
const UPPER: [&str; 5] = ["core", "realm", "desk", "care", "app"];
/// Fields of the largest struct of the upper floors.
const FIELDS: usize = 35;
/// Variants of the largest enum of the upper floors.
const VARIANTS: usize = 12;
/// Methods of `App`, and the files that have some.
const METHODS: usize = 240;
const METHOD_FILES: usize = 62;

/// # Errors
/// When `cargo metadata` fails.
pub(super) fn check(root: &Path, sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let modules = code::modules(sources);
    let mut findings = directions(root)?;
    findings.extend(circle_findings(&modules)?);
    findings.extend(upper_findings(&modules)?);
    Ok(findings)
}

fn directions(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let metadata = MetadataCommand::new()
        .current_dir(root)
        .no_deps()
        .exec()
        .context("cargo metadata does not run")?;
    let mut findings = Vec::new();
    for package in &metadata.packages {
        let known = KNOWS.iter().find(|(name, _)| *name == short(&package.name));
        let in_floors = package.manifest_path.starts_with(root.join("crates"))
            || package.manifest_path.starts_with(root.join("sdk"));
        if !in_floors || ABOVE.contains(&package.name.as_str()) {
            continue;
        }
        let allowed = known.map_or(&[][..], |(_, allowed)| *allowed);
        for dependency in &package.dependencies {
            let ours = dependency.name.strip_prefix("countersign-");
            if let Some(ours) = ours
                && dependency.kind == DependencyKind::Normal
                && !allowed.contains(&ours)
            {
                findings.push(Finding::new(
                    package.name.to_string(),
                    format!("depends on `{}`: not in its row of KNOWS", dependency.name),
                ));
            }
        }
    }
    Ok(findings)
}

fn short(package: &str) -> &str {
    package.strip_prefix("countersign-").unwrap_or(package)
}

fn circle_findings(modules: &[Module]) -> anyhow::Result<Vec<Finding>> {
    let mut by_crate: BTreeMap<&str, Vec<&Module>> = BTreeMap::new();
    for module in modules {
        by_crate.entry(&module.folder).or_default().push(module);
    }
    let mut findings = Vec::new();
    for (folder, modules) in by_crate {
        let found = circles::largest(&modules)?;
        let limit = CIRCLES.iter().find(|(name, _)| *name == folder);
        let finding = match limit {
            Some((_, limit)) => ratchet(folder, "modules in the largest circle", found, *limit),
            None if found > CIRCLE => {
                ratchet(folder, "modules in the largest circle", found, CIRCLE)
            }
            None => None,
        };
        findings.extend(finding);
    }
    Ok(findings)
}

fn upper_findings(modules: &[Module]) -> anyhow::Result<Vec<Finding>> {
    let upper: Vec<_> = modules
        .iter()
        .filter(|module| {
            let name = module.folder.strip_prefix("crates/");
            name.is_some_and(|name| UPPER.contains(&name))
        })
        .collect();
    let fields = largest(
        &upper,
        r"(?ms)^(?:pub(?:\([a-z ]+\))? )?struct (\w+)(?:<[^>]*>)? \{\n(.*?)^\}",
        r"(?m)^    (?:pub(?:\([a-z ]+\))? )?\w+:",
    )?;
    let variants = largest(
        &upper,
        r"(?ms)^(?:pub(?:\([a-z: ]+\))? )?enum (\w+)[^{]*\{\n(.*?)^\}",
        r"(?m)^    [A-Z]\w*\s*[,({]",
    )?;
    let body = Regex::new(
        r"(?ms)^impl(?:<[^>]*>)? (?:\w+(?:<[^>]*>)? for )?(?:\w+::)*App\b[^{]*\{\n(.*?)^\}",
    )?;
    let method = Regex::new(r"(?m)^    (?:pub(?:\([a-z ]+\))? )?(?:const )?(?:async )?fn \w+")?;
    let (mut methods, mut files) = (0, 0);
    for module in &upper {
        let found: Vec<_> = body.captures_iter(&module.text).collect();
        files += usize::from(!found.is_empty());
        methods += found
            .iter()
            .map(|body| method.find_iter(&body[1]).count())
            .sum::<usize>();
    }
    let figures = [
        (fields.1, "fields", fields.0, FIELDS),
        (variants.1, "variants", variants.0, VARIANTS),
        ("App".to_owned(), "methods", methods, METHODS),
        ("App".to_owned(), "files with methods", files, METHOD_FILES),
    ];
    let findings = figures
        .into_iter()
        .filter_map(|(place, what, found, limit)| ratchet(&place, what, found, limit));
    Ok(findings.collect())
}

/// The item whose body has the most matches of `part`, with its name.
fn largest(modules: &[&Module], item: &str, part: &str) -> anyhow::Result<(usize, String)> {
    let (item, part) = (Regex::new(item)?, Regex::new(part)?);
    let found = modules
        .iter()
        .flat_map(|module| item.captures_iter(&module.text));
    let counted = found.map(|item| (part.find_iter(&item[2]).count(), item[1].to_owned()));
    Ok(counted.max().unwrap_or_default())
}

fn ratchet(place: &str, what: &str, found: usize, limit: usize) -> Option<Finding> {
    let message = match found.cmp(&limit) {
        std::cmp::Ordering::Equal => return None,
        std::cmp::Ordering::Greater => {
            format!("{found} {what}, {limit} before: the shape may shrink, never grow")
        }
        std::cmp::Ordering::Less => {
            format!("{found} {what}, fewer than {limit}: lower the limit in tidy/shape.rs")
        }
    };
    Some(Finding::new(place, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_differs_from_its_limit_is_found_in_both_directions() {
        assert_eq!(ratchet("App", "methods", 250, 250), None);
        assert!(
            ratchet("App", "methods", 251, 250).is_some_and(|f| f.message.contains("never grow"))
        );
        assert!(ratchet("App", "methods", 249, 250).is_some_and(|f| f.message.contains("lower")));
    }

    #[test]
    fn methods_fields_and_variants_are_counted() {
        let text = "pub struct S {\n    pub a: u8,\n    b: u8,\n}\npub(crate) enum E {\n    A,\n    B(u8),\n    C { x: u8 },\n}\n\
                    impl App {\n    pub async fn one(&self) {\n    }\n    fn two() {}\n}\n";
        let modules = code::modules(&[Source::new("crates/core/src/a.rs", text)]);
        let findings = upper_findings(&modules).unwrap();
        let said: Vec<_> = findings.iter().map(ToString::to_string).collect();
        for part in [
            "S: 2 fields",
            "E: 3 variants",
            "App: 2 methods",
            "App: 1 files with methods",
        ] {
            assert!(
                said.iter().any(|line| line.starts_with(part)),
                "{part} in {said:?}"
            );
        }
    }
}
