//! What became of each entry, for a person and as JSON.

use countersign_core::ops::rules::RulesChanged;
use countersign_core::policy::import::{Entry, Imported, NOT_CARRIED, ToolCount, per_tool};
use countersign_core::policy::{Effect, Rule};
use serde_json::{Value, json};

use crate::cli::args::ImportFrom;
use crate::cli::failure::{Failure, ids};
use crate::cli::output::{Output, doubtful, plain};
use crate::cli::rules::shown::toml_of;

pub(super) fn print(
    out: Output,
    from: ImportFrom,
    found: &Imported,
    done: Option<&RulesChanged>,
) -> Result<(), Failure> {
    if out.json {
        return Ok(out.json_line(&as_json(from, found, done))?);
    }
    if done.is_none() {
        out.line(&toml_of(&found.rules)?)?;
    }
    for of in &found.entries {
        let line = line_of(of);
        out.line(&if of.effect.is_none() || of.shadowed_by.is_some() {
            doubtful(&line)
        } else {
            line
        })?;
    }
    if from == ImportFrom::ClaudeCode {
        for ToolCount {
            tool,
            approved,
            ask,
            deny,
        } in per_tool(&found.entries)
        {
            let tool = plain(&tool);
            out.line(&format!(
                "{tool}: {approved} approved forms, {ask} that ask, {deny} that deny"
            ))?;
        }
        out.line(NOT_CARRIED)?;
    }
    let Some(done) = done else {
        return Ok(out.line(
            "nothing was changed; check the rules, then add them to the workspace's own with `--apply`",
        )?);
    };
    for (word, ids) in [("changed", &done.changed), ("removed", &done.removed)] {
        for id in ids {
            out.line(&format!("{word} {id}"))?;
        }
    }
    Ok(out.line(&format!(
        "{} rules added; {} were there already and are unchanged",
        done.added.len(),
        kept(found, done)
    ))?)
}

fn line_of(of: &Entry) -> String {
    let file = match of.file.as_str() {
        "" => String::new(),
        file => format!("{}: ", plain(file)),
    };
    let place = format!("{file}{} {}", of.place, plain(&of.entry));
    let why = of.why.as_deref().unwrap_or_default();
    let Some(effect) = of.effect else {
        return format!("{place}: not carried over: {why}");
    };
    let rule = of.rules.first().map_or("", String::as_str);
    let why = match why {
        "" => String::new(),
        why => format!(" ({why})"),
    };
    let shadow = of.shadowed_by.as_deref().map_or_else(String::new, |by| {
        format!("; shadowed: never applies, because of {}", plain(by))
    });
    format!("{place}: {effect} by {rule}{why}{shadow}")
}

fn kept(found: &Imported, done: &RulesChanged) -> usize {
    let touched = |id: &String| done.added.contains(id) || done.changed.contains(id);
    found.rules.iter().filter(|rule| !touched(&rule.id)).count()
}

fn as_json(from: ImportFrom, found: &Imported, done: Option<&RulesChanged>) -> Value {
    let carried: Vec<Value> = found
        .carried()
        .map(|of| {
            json!({
                "place": of.place, "entry": of.entry, "rules": of.rules,
                "effect": of.effect.map(Effect::as_str), "note": of.why,
            })
        })
        .collect();
    let left_out: Vec<Value> = found
        .left_out()
        .map(|of| json!({ "place": of.place, "entry": of.entry, "reason": of.why }))
        .collect();
    let rules: Vec<Value> = found.rules.iter().map(Rule::to_json).collect();
    let mut whole = json!({
        "from": from.word(), "rules": rules, "carried": carried, "left_out": left_out,
        "entries": found.entries.iter().map(entry).collect::<Vec<_>>(),
        "applied": done.is_some(), "revision": done.map(|done| done.revision),
        "added": done.map(|done| &done.added),
        "changed": done.map(|done| &done.changed),
        "removed": done.map(|done| &done.removed),
        "decides_waiting": done.map(|done| ids(&done.decides_waiting)),
        "kept": done.map(|done| kept(found, done)),
    });
    if from == ImportFrom::ClaudeCode {
        let tools: Vec<Value> = per_tool(&found.entries)
            .into_iter()
            .map(|of| {
                json!({ "tool": of.tool, "approved": of.approved, "ask": of.ask, "deny": of.deny })
            })
            .collect();
        whole["tools"] = json!(tools);
        whole["not_carried_over"] = json!(NOT_CARRIED);
    }
    whole
}

fn entry(of: &Entry) -> Value {
    let mut reported = json!({
        "file": of.file, "place": of.place, "list": of.list(), "entry": of.entry,
        "effect": of.effect.map_or("left_out", Effect::as_str),
        "rule_id": of.rules.first(), "rules": of.rules, "why": of.why,
    });
    if let Some(by) = &of.shadowed_by {
        reported["shadowed_by"] = json!(by);
    }
    reported
}
