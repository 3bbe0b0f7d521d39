//! Proportional set size of a process and what it started, from `/proc`.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Context;

/// MiB of a process and of everything below it.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The process itself.
    pub(super) program: f64,
    /// Its nats-server.
    pub(super) server: f64,
    /// Everything else below it: the page's processes.
    pub(super) web: f64,
}

pub(super) fn tree(root: u32) -> anyhow::Result<Tree> {
    let mut children: BTreeMap<u32, Vec<(u32, String)>> = BTreeMap::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // A process may end while it is looked at.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        if let Some((parent, name)) = parent_and_name(&stat) {
            children.entry(parent).or_default().push((pid, name));
        }
    }
    let mut sum = Tree {
        program: pss(root)?,
        ..Tree::default()
    };
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for (pid, name) in children.remove(&parent).unwrap_or_default() {
            let part = if name == "nats-server" {
                &mut sum.server
            } else {
                &mut sum.web
            };
            *part += pss(pid).unwrap_or_default();
            open.push(pid);
        }
    }
    Ok(sum)
}

/// From `pid (name) state ppid …`; the name may hold blanks and brackets.
fn parent_and_name(stat: &str) -> Option<(u32, String)> {
    let (head, tail) = stat.rsplit_once(") ")?;
    let name = head.split_once('(')?.1;
    Some((tail.split(' ').nth(1)?.parse().ok()?, name.to_owned()))
}

fn pss(pid: u32) -> anyhow::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Pss:"))
        .context("no Pss")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_hide_the_parent() {
        assert_eq!(
            parent_and_name("7 (a) (b) S 3 7"),
            Some((3, "a) (b".to_owned()))
        );
    }

    #[test]
    fn this_process_has_a_size() {
        assert!(tree(std::process::id()).unwrap().program > 0.1);
    }
}
