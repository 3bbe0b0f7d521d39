//! Rules from the policies of other systems.
//!
//! Refuses to let anything run that the other system would have asked for: what has no exact counterpart is
//! left out where it allows, asks where it denies, and is told of either way. A file with a deny that cannot
//! even ask gives nothing.

mod claude_code;
mod claude_files;
mod selectools;
mod strict;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use serde_json::{Value, json};

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

/// An entry that became a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// Where it stands, such as `deny[0]`.
    pub place: String,
    /// The entry as it is written there.
    pub entry: String,
    /// Ids of its rules.
    pub rules: Vec<String>,
    /// What they do.
    pub effect: Effect,
    /// In what they are narrower or ask more often; none where they say the same.
    pub note: Option<String>,
}

/// An entry that did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it stands.
    pub place: String,
    /// The entry as it is written there.
    pub entry: String,
    /// Why.
    pub why: String,
}

/// What a file gives.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    /// In the order of the file.
    pub rules: Vec<Rule>,
    /// In the order of the file.
    pub carried: Vec<Carried>,
    /// In the order of the file.
    pub left_out: Vec<LeftOut>,
}

/// Reads a policy. `agents` narrows every rule to agents of these names; empty: to none.
///
/// # Errors
/// Why the file is none of the source, for a person; for Claude Code every fault with its JSON pointer.
pub fn import(
    source: Source,
    file: &Value,
    agents: &[Glob],
    now: Timestamp,
) -> Result<Imported, String> {
    let mut desk = Desk {
        source,
        agents,
        expires_at: now.plus_ms(APPROVES_DAYS * Timestamp::DAY_MS),
        found: Imported::default(),
    };
    match source {
        Source::Selectools => selectools::read(&mut desk, file)?,
        Source::ClaudeCode => claude_code::read(&mut desk, file)?,
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
    /// They are PowerShell.
    powershell: bool,
    /// Patterns of paths by pointer.
    path: BTreeMap<&'static str, Vec<String>>,
    message: Option<String>,
}

struct Desk<'a> {
    source: Source,
    agents: &'a [Glob],
    expires_at: Timestamp,
    found: Imported,
}

impl Desk<'_> {
    fn leave(&mut self, place: &str, entry: &str, why: impl Into<String>) {
        self.found.left_out.push(LeftOut {
            place: place.to_owned(),
            entry: entry.to_owned(),
            why: why.into(),
        });
    }

    /// Makes one entry's rules, or tells why an allow has none. What denies or asks and does not fit into a
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
                Source::Selectools => format!("{place}: {why}; mend it first"),
            })?;
            // An ask for every call of the tools says what a narrower one does.
            made.retain(|rule| rule.effect == Effect::Deny);
            made.push(whole);
            note = Some(TOO_LONG);
        }
        let strongest = made.iter().map(|rule| rule.effect).max();
        self.found.carried.push(Carried {
            place: place.to_owned(),
            entry: entry.to_owned(),
            rules: made.iter().map(|rule| rule.id.clone()).collect(),
            effect: strongest.unwrap_or(Effect::Ask),
            note: note.map(str::to_owned),
        });
        // The same entry twice gives the same rule.
        made.retain(|rule| !self.found.rules.iter().any(|known| known.id == rule.id));
        self.found.rules.extend(made);
        Ok(())
    }

    /// Makes one approve of what several entries allow: a command may need more than one of them.
    fn carry_together(
        &mut self,
        entries: &[(String, String)],
        parts: Parts,
        note: &str,
    ) -> Result<(), String> {
        let all: Vec<&str> = entries.iter().map(|(_, entry)| entry.as_str()).collect();
        let rule = self.rule(("allow", &all.join(", ")), Effect::Approve, parts)?;
        let carried = entries.iter().map(|(place, entry)| Carried {
            place: place.clone(),
            entry: entry.clone(),
            rules: vec![rule.id.clone()],
            effect: Effect::Approve,
            note: Some(note.to_owned()),
        });
        self.found.carried.extend(carried);
        self.found.rules.push(rule);
        Ok(())
    }

    /// Read by the same check as a rule file.
    fn rule(
        &self,
        (place, entry): (&str, &str),
        effect: Effect,
        parts: Parts,
    ) -> Result<Rule, String> {
        let (word, list) = match self.source {
            Source::Selectools => ("selectools", place),
            Source::ClaudeCode => ("claude-code", place),
        };
        let list = list.split('[').next().unwrap_or_default();
        let what = format!("{word}\n{list}\n{entry}\n{}", effect.as_str());
        let digest = countersign_wire::Sha256Digest::of_bytes(what.as_bytes()).to_string();
        let tail: String = digest.chars().skip("sha256:".len()).take(8).collect();
        let name: String = format!("{word} {list}: {entry}")
            .chars()
            .take(200)
            .collect();
        let mut rule = json!({
            "id": format!("{word}-{}-{tail}", effect.as_str()),
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
            if parts.powershell {
                rule["shell"] = json!(crate::commands::POWERSHELL);
            }
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
