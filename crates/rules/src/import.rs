//! Rules from the policies of other systems.
//!
//! Refuses to let anything run that the other system would have asked for: what has no exact counterpart is
//! left out where it allows, asks where it denies, and is informed of either way. A file with a deny that cannot
//! even ask gives nothing.

mod again;
mod claude_code;
mod claude_commands;
mod claude_files;
mod report;
mod selectools;
mod strict;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub use self::again::{FILES_MAX, with_earlier_replaced};
use self::again::{joined_id, mark_of};
pub use self::report::{NOT_CARRIED, ToolCount, per_tool};
pub use self::strict::read_json;
use super::glob::Glob;
use super::read::read_set;
use super::rule::{Effect, Rule};
use crate::domain::Timestamp;

/// Rules that one file gives at most.
const ENTRIES_MAX: usize = 1_000;
const TOO_LONG: &str = "too long for a condition: every call of the tool asks";
/// How long an imported approve lasts, days; as long as "always" (rules, "Grants").
pub const APPROVES_DAYS: i64 = 90;

/// Where rules come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A policy of selectools: `allow`, `review`, `deny`, `deny_when`.
    Selectools,
    /// `permissions` of a settings file of Claude Code: `allow`, `ask`, `deny`.
    ClaudeCode,
}

/// A file to read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SourceFile {
    /// What a person calls it; is before each of its faults. May be empty.
    pub label: String,
    /// Where it is: the same path is the same file when it is imported again.
    pub path: String,
    /// What a path that begins with one `/` is below; none where nobody knows. `~/.claude` or absolute.
    pub folder: Option<String>,
    /// What is in it.
    pub value: Value,
}

/// What became of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The label of its file.
    pub file: String,
    /// Where it is, such as `deny[0]`.
    pub place: String,
    /// The entry as it is written there.
    pub entry: String,
    /// What its rules do; none for an entry that is left out.
    pub effect: Option<Effect>,
    /// Ids of its rules, one with that effect first.
    pub rules: Vec<String>,
    /// Why it is left out, or in what its rules are narrower or ask more often; none where they say the same.
    pub why: Option<String>,
    /// Of an approve: the entry that denies or asks for everything that it allows.
    pub shadowed_by: Option<String>,
}

impl Entry {
    /// The list that it is in, such as `deny`.
    #[must_use]
    pub fn list(&self) -> &str {
        self.place.split('[').next().unwrap_or_default()
    }
}

/// What files give.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    /// In the order of the files.
    pub rules: Vec<Rule>,
    /// In the order of the files.
    pub entries: Vec<Entry>,
}

impl Imported {
    /// Entries that became rules.
    pub fn carried(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|of| of.effect.is_some())
    }

    /// Entries that did not.
    pub fn left_out(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|of| of.effect.is_none())
    }
}

/// Reads policies that count together. `agents` narrows every rule to agents of these names; empty: to none.
///
/// # Errors
/// Every fault for which the files are none of the source, for a person; for Claude Code with its JSON pointer.
pub fn import(
    source: Source,
    files: &[SourceFile],
    agents: &[Glob],
    now: Timestamp,
) -> Result<Imported, Vec<String>> {
    let mut desk = Desk {
        source,
        agents,
        expires_at: now.plus_ms(APPROVES_DAYS * Timestamp::DAY_MS),
        label: String::new(),
        mark: String::new(),
        found: Imported::default(),
    };
    match source {
        Source::Selectools => {
            for file in files {
                selectools::read(&mut desk, &file.value).map_err(|why| vec![why])?;
            }
        }
        Source::ClaudeCode => {
            claude_code::read(&mut desk, files)?;
            report::find_shadowed(&mut desk.found, now);
        }
    }
    Ok(desk.found)
}

/// What a rule is made of.
#[derive(Debug, Clone, Default)]
struct Parts {
    /// Globs or whole names; none: every tool.
    tools: Vec<String>,
    when: Option<String>,
    /// Patterns of commands at `/command`.
    command: Vec<String>,
    /// Their language, where it is not POSIX.
    shell: Option<&'static str>,
    /// Patterns of paths by pointer.
    path: BTreeMap<&'static str, Vec<String>>,
    message: Option<String>,
}

struct Desk<'a> {
    source: Source,
    agents: &'a [Glob],
    expires_at: Timestamp,
    /// Of the file that is read: its label, and what its rules' ids have.
    label: String,
    mark: String,
    found: Imported,
}

impl Desk<'_> {
    fn begin(&mut self, file: &SourceFile) {
        (self.label, self.mark) = (file.label.clone(), mark_of(&file.path));
    }

    fn enter(
        &mut self,
        (place, entry): (&str, &str),
        (effect, rules): (Option<Effect>, Vec<String>),
        why: Option<String>,
    ) {
        self.found.entries.push(Entry {
            file: self.label.clone(),
            place: place.to_owned(),
            entry: entry.to_owned(),
            effect,
            rules,
            why,
            shadowed_by: None,
        });
    }

    fn leave(&mut self, place: &str, entry: &str, why: impl Into<String>) {
        self.enter((place, entry), (None, Vec::new()), Some(why.into()));
    }

    /// Makes one entry's rules, or says why an allow has none. What denies or asks and does not fit into a
    /// rule makes every call of its tools ask.
    ///
    /// # Errors
    /// What denies or asks and does not fit even so: without it, what is allowed beside it would run.
    fn carry(
        &mut self,
        (place, entry): (&str, &str),
        rules: Vec<(Effect, Parts)>,
        note: Option<&str>,
    ) -> Result<(), String> {
        let (mut made, mut note) = (Vec::with_capacity(rules.len()), note);
        let mut unfit: Option<Vec<String>> = None;
        for (effect, parts) in rules {
            let tools = parts.tools.clone();
            match self.rule((place, entry), effect, parts) {
                Ok(rule) => made.push(rule),
                Err(why) if effect == Effect::Approve => {
                    self.leave(place, entry, why);
                    return Ok(());
                }
                Err(_) => unfit = Some(tools),
            }
        }
        if let Some(tools) = unfit {
            let parts = Parts {
                tools,
                ..Parts::default()
            };
            let whole = self.rule((place, entry), Effect::Ask, parts);
            let whole = whole.map_err(|why| match self.source {
                Source::ClaudeCode => format!("{}: {why}", claude_code::pointer(place)),
                Source::Selectools => format!("{place}: {why}; fix it first"),
            })?;
            // An ask for every call of the tools says what a narrower one does.
            made.retain(|rule| rule.effect == Effect::Deny);
            made.push(whole);
            note = Some(TOO_LONG);
        }
        // Stable: of equal ones the first is the entry's own.
        made.sort_by_key(|rule| std::cmp::Reverse(rule.effect));
        let strongest = made.first().map_or(Effect::Ask, |rule| rule.effect);
        let ids = made.iter().map(|rule| rule.id.clone()).collect();
        self.enter(
            (place, entry),
            (Some(strongest), ids),
            note.map(str::to_owned),
        );
        // The same entry twice gives the same rule.
        made.retain(|rule| !self.found.rules.iter().any(|known| known.id == rule.id));
        self.found.rules.extend(made);
        Ok(())
    }

    /// Read by the same check as a rule file.
    fn rule(
        &self,
        (place, entry): (&str, &str),
        effect: Effect,
        parts: Parts,
    ) -> Result<Rule, String> {
        let list = place.split('[').next().unwrap_or_default();
        let word = match self.source {
            Source::Selectools => "selectools",
            Source::ClaudeCode => "claude-code",
        };
        let what = format!("{word}\n{list}\n{entry}\n{}", effect.as_str());
        let (prefix, what) = match self.source {
            Source::Selectools => (word.to_owned(), what),
            // One entry gives several rules of one effect.
            Source::ClaudeCode => {
                let mut about: Vec<&str> = parts.path.keys().copied().collect();
                about.extend((!parts.command.is_empty()).then_some("command"));
                about.extend(parts.when.is_some().then_some("when"));
                let about = format!("{}\n{}", parts.tools.join(","), about.join(","));
                (format!("{word}-{}", self.mark), format!("{what}\n{about}"))
            }
        };
        let digest = countersign_wire::Sha256Digest::of_bytes(what.as_bytes()).to_string();
        let tail: String = digest.chars().skip("sha256:".len()).take(8).collect();
        let id = format!("{prefix}-{}-{tail}", effect.as_str());
        self.with_id(id, (word, list, entry), effect, parts)
    }

    /// The same with an id of its own.
    fn with_id(
        &self,
        id: String,
        (word, list, entry): (&str, &str, &str),
        effect: Effect,
        parts: Parts,
    ) -> Result<Rule, String> {
        let name: String = format!("{word} {list}: {entry}")
            .chars()
            .take(200)
            .collect();
        let mut rule = json!({
            "id": id,
            "name": name,
            "effect": effect.as_str(),
        });
        if effect == Effect::Approve {
            rule["expires_at"] = json!(self.expires_at.rfc3339());
        }
        if !parts.tools.is_empty() {
            rule["tool"] = json!(parts.tools);
        }
        if !self.agents.is_empty() {
            let agents: Vec<&str> = self.agents.iter().map(Glob::as_str).collect();
            rule["agent"] = json!(agents);
        }
        if !parts.command.is_empty() {
            rule["command"] = json!({ "/command": parts.command });
        }
        if let Some(shell) = parts.shell {
            rule["shell"] = json!(shell);
        }
        if !parts.path.is_empty() {
            rule["path"] = json!(parts.path);
        }
        if let Some(when) = parts.when {
            rule["when"] = json!(when);
        }
        if let (Some(message), Effect::Deny) = (parts.message, effect) {
            rule["message"] = json!(message);
        }
        let set = json!({ "schema": super::read::SCHEMA, "rules": [rule] });
        let read = read_set(&set, "rules").map_err(|problems| {
            let first = problems.first();
            first.map_or(String::new(), |of| of.message.clone())
        })?;
        read.into_iter()
            .next()
            .ok_or_else(|| "it gives no rule".to_owned())
    }
}
