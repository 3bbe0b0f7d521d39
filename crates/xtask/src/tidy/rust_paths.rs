//! Which modules of the core name which others.
//!
//! Reads every path of the syntax tree, so text in comments and strings never counts.
//! Refuses to guess: a file that does not parse is a finding.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};

use super::Finding;
use super::tree::Source;

const CORE: &str = "crates/core/src/";
/// Roots of a path that the domain may name, beside its own modules.
const DOMAIN_ROOTS: [&str; 9] = [
    "std",
    "core",
    "alloc",
    "serde",
    "time",
    "thiserror",
    "countersign_wire",
    "crate",
    "self",
];
/// Parts of `std` that reach outside the process or read a clock.
const IMPURE: [&str; 8] = [
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

pub(super) fn check(sources: &[Source]) -> anyhow::Result<Vec<Finding>> {
    let dependencies = dependencies_of_core(sources)?;
    let mut findings = Vec::new();
    for source in sources {
        let Some(inside) = source
            .path
            .strip_prefix(CORE)
            .and_then(|path| path.strip_suffix(".rs"))
        else {
            continue;
        };
        let module: Vec<&str> = inside
            .split('/')
            .filter(|part| !matches!(*part, "mod" | "lib"))
            .collect();
        // Test modules may use whatever a test needs.
        if module.iter().any(|part| matches!(*part, "tests" | "test")) {
            continue;
        }
        let file = match syn::parse_file(&source.text) {
            Ok(file) => file,
            Err(error) => {
                findings.push(Finding::new(
                    &source.path,
                    format!("does not parse: {error}"),
                ));
                continue;
            }
        };
        let mut paths = Paths {
            module: &module,
            found: BTreeSet::new(),
        };
        paths.visit_file(&file);
        for path in &paths.found {
            if let Some(why) = refusal(module.first().copied(), path, &dependencies) {
                findings.push(Finding::new(&source.path, format!("names `{path}`: {why}")));
            }
        }
    }
    Ok(findings)
}

fn refusal(
    area: Option<&str>,
    path: &str,
    dependencies: &BTreeSet<String>,
) -> Option<&'static str> {
    let below = |prefix: &str| {
        path == prefix
            || path
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with("::"))
    };
    match area? {
        "store" if below("crate::bus") => Some("the store does not know the bus; `ops` joins them"),
        "bus" if below("crate::store") => Some("the bus does not know the store; `ops` joins them"),
        "store" | "bus" | "policy" | "identity"
            if below("crate::ops") || below("crate::runtime") =>
        {
            Some("what is below does not know who uses it")
        }
        "domain" if IMPURE.iter().any(|prefix| below(prefix)) => {
            Some("the domain is pure: no I/O and no clock")
        }
        "domain" if below("crate") && !below("crate::domain") && path != "crate" => {
            Some("the domain names no other part of the core")
        }
        "domain" => {
            let root = path.split("::").next()?;
            (dependencies.contains(root) && !DOMAIN_ROOTS.contains(&root))
                .then_some("the domain imports only std, serde, time, thiserror and the wire types")
        }
        _ => None,
    }
}

/// The crates that the core depends on, as paths spell them.
fn dependencies_of_core(sources: &[Source]) -> anyhow::Result<BTreeSet<String>> {
    let Some(manifest) = sources
        .iter()
        .find(|source| source.path == "crates/core/Cargo.toml")
    else {
        return Ok(BTreeSet::new());
    };
    let manifest: toml::Table = toml::from_str(&manifest.text)?;
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
    Ok(dependencies
        .into_iter()
        .flat_map(|table| table.keys())
        .map(|name| name.replace('-', "_"))
        .collect())
}

/// Collects every path, with `self` and `super` resolved against the module of the file.
struct Paths<'a> {
    module: &'a [&'a str],
    found: BTreeSet<String>,
}

impl Paths<'_> {
    fn add(&mut self, segments: &[String]) {
        let mut base = self.module.len();
        let mut relative = false;
        let mut rest = segments;
        while let Some((first, tail)) = rest.split_first() {
            match first.as_str() {
                "super" => base = base.saturating_sub(1),
                "self" => {}
                _ => break,
            }
            relative = true;
            rest = tail;
        }
        let mut whole: Vec<&str> = Vec::new();
        if relative {
            whole.push("crate");
            whole.extend(&self.module[..base]);
        }
        whole.extend(rest.iter().map(String::as_str));
        self.found.insert(whole.join("::"));
    }

    fn add_use(&mut self, tree: &syn::UseTree, before: &mut Vec<String>) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.add_use(&path.tree, before);
                before.pop();
            }
            syn::UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|item| self.add_use(item, before)),
            syn::UseTree::Name(name) if name.ident == "self" => self.add(before),
            syn::UseTree::Name(name) => self.add_last(before, &name.ident),
            syn::UseTree::Rename(rename) => self.add_last(before, &rename.ident),
            syn::UseTree::Glob(_) => self.add(before),
        }
    }

    fn add_last(&mut self, before: &[String], last: &syn::Ident) {
        let mut whole = before.to_vec();
        whole.push(last.to_string());
        self.add(&whole);
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_use(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        self.add(&segments);
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let only_tests = item.attrs.iter().any(|attribute| {
            attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Ident>()
                    .is_ok_and(|flag| flag == "test")
        });
        if !only_tests {
            visit::visit_item_mod(self, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<Finding> {
        let manifest = "[dependencies]\nserde = \"1\"\ntokio = \"1\"\nasync-nats = \"1\"\n";
        check(&[
            Source::new("crates/core/Cargo.toml", manifest),
            Source::new(path, text),
        ])
        .unwrap()
    }

    #[test]
    fn the_domain_may_name_itself_and_pure_parts() {
        let text = "use std::collections::BTreeMap; use serde::Serialize; use time::OffsetDateTime;
            use countersign_wire::RequestId; use super::verdict::Verdict; use crate::domain::state::{self, State};
            /// Not a path: crate::store.
            fn f(s: State) -> Verdict { match s { State::Pending => Verdict::Approve } }
            #[cfg(test)] mod tests { use tokio::time; }";
        assert_eq!(findings("crates/core/src/domain/life.rs", text), []);
    }

    #[test]
    fn the_domain_may_not_do_io_read_a_clock_or_name_other_parts() {
        for text in [
            "use tokio::sync::Mutex;",
            "use async_nats as bus;",
            "use std::{fs, fmt};",
            "fn f() { std::time::SystemTime::now(); }",
            "use std::time::{Duration, Instant};",
            "use crate::store::Row;",
            "use crate::{bus as b};",
            "use super::super::ops::decide;",
            "fn f() { tokio::spawn(async {}); }",
        ] {
            assert_eq!(
                findings("crates/core/src/domain/life.rs", text).len(),
                1,
                "{text}"
            );
        }
    }

    #[test]
    fn store_and_bus_may_not_name_each_other() {
        assert_eq!(
            findings(
                "crates/core/src/store/outbox.rs",
                "use crate::{error::Error, bus::{self, Publish}};"
            )
            .len(),
            2
        );
        assert_eq!(
            findings(
                "crates/core/src/store/outbox.rs",
                "fn f() { super::super::bus::publish() }"
            )
            .len(),
            1
        );
        assert_eq!(
            findings("crates/core/src/bus/mod.rs", "use super::store;").len(),
            1
        );
        assert_eq!(
            findings("crates/core/src/ops/decide.rs", "use crate::{store, bus};"),
            []
        );
        assert_eq!(
            findings("crates/core/src/store/mod.rs", "use crate::business;"),
            []
        );
    }

    #[test]
    fn what_is_below_may_not_name_who_uses_it() {
        for area in ["store", "bus", "policy", "identity"] {
            for text in [
                "fn f() { crate::ops::audit_verify::has_digest() }",
                "use crate::runtime::App;",
                "use super::super::ops;",
            ] {
                let path = format!("crates/core/src/{area}/a.rs");
                assert_eq!(findings(&path, text).len(), 1, "{area}: {text}");
            }
        }
        assert_eq!(
            findings("crates/core/src/ops/a.rs", "use crate::runtime::App;"),
            []
        );
    }

    #[test]
    fn a_file_that_does_not_parse_is_found() {
        assert_eq!(findings("crates/core/src/store/a.rs", "fn {").len(), 1);
    }
}
