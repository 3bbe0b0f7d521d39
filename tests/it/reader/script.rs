//! A second reader for tests: a shell script.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::desk::{Desk, eventually};

/// A reader that keeps each card, then does what a line of shell says.
pub(super) struct Script {
    folder: PathBuf,
}

impl Script {
    pub(super) fn new(desk: &Desk, does: &str) -> Self {
        let folder = desk.path().join("script");
        fs::create_dir(&folder).unwrap();
        let script = Self { folder };
        script.does(does);
        let (cards, line) = (script.file("cards"), script.file("line"));
        let text = format!(
            "#!/bin/sh\n[ -n \"$(ls -A)\" ] && exit 9\ncat >> {0}; echo >> {0}\n. {1}\n",
            cards.display(),
            line.display()
        );
        fs::write(script.file("reader"), text).unwrap();
        fs::set_permissions(script.file("reader"), fs::Permissions::from_mode(0o700)).unwrap();
        script
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn does(&self, line: &str) {
        fs::write(self.file("line"), line).unwrap();
    }

    pub(super) fn cards(&self) -> Vec<Value> {
        let cards = fs::read_to_string(self.file("cards")).unwrap_or_default();
        let lines = cards.lines().filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Switches it on with more lines of settings.
    pub(super) fn switch_on(&self, desk: &Desk, more: &str) {
        let program = self.file("reader");
        let section = format!(
            "[reader]\nworkspaces = [\"default\"]\ncommand = [{:?}]\n{more}\n",
            program.display().to_string()
        );
        fs::write(desk.path().join("config.toml"), section).unwrap();
    }

    /// How many of its processes there are, the guard among them.
    pub(super) fn processes(&self) -> usize {
        let own = self.file("reader").display().to_string();
        let all = fs::read_dir("/proc").unwrap().flatten();
        let words = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        let named = |words: &Vec<u8>| String::from_utf8_lossy(words).contains(&own);
        words.filter(named).count()
    }

    pub(super) fn has_ended(&self) {
        eventually(|| match self.processes() {
            0 => Ok(()),
            left => Err(left),
        });
    }
}
