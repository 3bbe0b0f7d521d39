//! The largest circle of modules in a crate: modules that all reach each other by the names that they use.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::code::Module;

type Path = Vec<String>;

/// What a crate's modules name, as absolute paths inside of the crate.
#[derive(Default)]
struct Names {
    used: BTreeMap<Path, BTreeSet<Path>>,
    /// Names that a module hands on (`pub use`), and what they are.
    handed_on: BTreeMap<Path, BTreeMap<String, Path>>,
}

/// How many modules the largest circle has; 1 where there is none.
pub(super) fn largest(modules: &[&Module]) -> anyhow::Result<usize> {
    let known: BTreeSet<Path> = modules.iter().map(|module| module.path.clone()).collect();
    let names = read(modules, &known)?;
    let nodes: Vec<&Path> = known.iter().collect();
    let index: BTreeMap<&Path, usize> = nodes
        .iter()
        .enumerate()
        .map(|(at, path)| (*path, at))
        .collect();
    let arrows: Vec<BTreeSet<usize>> = nodes
        .iter()
        .map(|node| {
            let used = names.used.get(*node).into_iter().flatten();
            used.filter_map(|target| resolve(target, &known, &names, 0))
                .filter(|target| target != *node)
                .filter_map(|target| index.get(&target).copied())
                .collect()
        })
        .collect();
    let reach: Vec<BTreeSet<usize>> = (0..nodes.len())
        .map(|from| reached(from, &arrows))
        .collect();
    let circle = |at: usize| {
        reach[at]
            .iter()
            .filter(|other| reach[**other].contains(&at))
            .count()
    };
    Ok((0..nodes.len()).map(circle).max().unwrap_or(0).max(1))
}

fn reached(from: usize, arrows: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(at) = open.pop() {
        open.extend(arrows[at].iter().copied().filter(|next| seen.insert(*next)));
    }
    seen
}

fn read(modules: &[&Module], known: &BTreeSet<Path>) -> anyhow::Result<Names> {
    let uses = Regex::new(r"(?m)^\s*(pub(?:\([a-z ]+\))?\s+)?use\s+([^;]+);")?;
    let inline = Regex::new(r"\b((?:crate|super)(?:::\w+)+)")?;
    let mut names = Names::default();
    for module in modules {
        let used = names.used.entry(module.path.clone()).or_default();
        for found in uses.captures_iter(&module.text) {
            for one in expand(&found[2]) {
                let Some(target) = absolute(&module.path, &one, known) else {
                    continue;
                };
                if found.get(1).is_none() {
                    used.insert(target);
                } else if let Some(last) = target.last().cloned() {
                    let handed_on = names.handed_on.entry(module.path.clone()).or_default();
                    handed_on.insert(last, target);
                }
            }
        }
        let paths = inline.find_iter(&module.text);
        used.extend(paths.filter_map(|path| absolute(&module.path, path.as_str(), known)));
    }
    Ok(names)
}

/// `a::{b, c::{d, e}}` as `a::b`, `a::c::d`, `a::c::e`.
fn expand(names: &str) -> Vec<String> {
    let names = names.trim();
    let Some((before, inside)) = names.split_once('{') else {
        let plain = names.split(" as ").next().unwrap_or(names);
        return vec![plain.trim().to_owned()];
    };
    let inside = inside.trim_end().trim_end_matches('}');
    let (mut parts, mut depth, mut part) = (Vec::new(), 0_i32, String::new());
    for letter in inside.chars() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        if letter == ',' && depth == 0 {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(letter);
        }
    }
    parts.push(part);
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts
        .flat_map(|part| expand(part))
        .map(|part| format!("{before}{part}"))
        .collect()
}

fn absolute(module: &[String], path: &str, known: &BTreeSet<Path>) -> Option<Path> {
    let words: Vec<&str> = path
        .split("::")
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect();
    let ups = words.iter().take_while(|word| **word == "super").count();
    let (base, rest) = match words.first()? {
        &"crate" => (&[][..], &words[1..]),
        &"self" => (module, &words[1..]),
        &"super" => (module.get(..module.len().checked_sub(ups)?)?, &words[ups..]),
        first => {
            let mut child = module.to_vec();
            child.push((*first).to_owned());
            if !known.contains(&child) {
                return None;
            }
            (module, &words[..])
        }
    };
    Some(
        base.iter()
            .cloned()
            .chain(rest.iter().map(|word| (*word).to_owned()))
            .collect(),
    )
}

/// The module that a path is in, through what other modules hand on.
fn resolve(target: &[String], known: &BTreeSet<Path>, names: &Names, depth: usize) -> Option<Path> {
    let end = (0..=target.len())
        .rev()
        .find(|end| known.contains(&target[..*end]))?;
    let (module, rest) = target.split_at(end);
    let on = rest
        .first()
        .and_then(|first| names.handed_on.get(module)?.get(first));
    match on {
        Some(on) if on != target && depth < 8 => {
            let on: Path = on.iter().chain(&rest[1..]).cloned().collect();
            resolve(&on, known, names, depth + 1)
        }
        _ => Some(module.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tree::Source;
    use super::super::code;
    use super::*;

    fn circle(files: &[(&str, &str)]) -> usize {
        let sources: Vec<_> = files
            .iter()
            .map(|(name, text)| Source::new(&format!("crates/x/src/{name}.rs"), text))
            .collect();
        let modules = code::modules(&sources);
        largest(&modules.iter().collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn modules_that_name_each_other_are_a_circle() {
        let a = ("a", "use crate::b::B;");
        assert_eq!(
            circle(&[
                a,
                ("b", "use crate::c::{C, D as E};"),
                ("c", "fn f() { crate::a::f() }")
            ]),
            3
        );
        assert_eq!(circle(&[a, ("b", "use crate::c::C;"), ("c", "")]), 1);
    }

    #[test]
    fn a_name_that_is_handed_on_leads_to_its_module() {
        let lib = ("lib", "mod a;\nmod b;\npub use b::B;");
        assert_eq!(
            circle(&[lib, ("a", "use crate::B;"), ("b", "use super::a::A;")]),
            2
        );
    }

    #[test]
    fn groups_expand() {
        assert_eq!(
            expand("a::{b, c::{d, e as f}}"),
            ["a::b", "a::c::d", "a::c::e"]
        );
    }
}
