//! Policies of selectools: `allow`, `review` and `deny` are lists of globs over tool names, `deny_when` a
//! list of `{tool, arg, pattern}`; without a match it reviews.

use serde_json::{Map, Value};

use super::text::matches;
use super::{Desk, ENTRIES_MAX, Parts};
use crate::rule::Effect;

const LISTS: [(&str, Effect); 3] = [
    ("deny", Effect::Deny),
    ("review", Effect::Ask),
    ("allow", Effect::Approve),
];

pub(super) fn read(desk: &mut Desk<'_>, file: &Value) -> Result<(), String> {
    let empty = Map::new();
    let map = match file {
        Value::Null => &empty,
        Value::Object(map) => map,
        _ => return Err("a policy is a mapping with allow, review, deny and deny_when".to_owned()),
    };
    let entries = list(map, "deny_when")?;
    for (number, entry) in entries.iter().enumerate() {
        let place = format!("deny_when[{number}]");
        let Value::Object(entry) = entry else {
            return Err(format!(
                "{place} must be a mapping of tool, arg and pattern"
            ));
        };
        deny_when(desk, &place, entry)?;
    }
    for (name, effect) in LISTS {
        for (number, entry) in list(map, name)?.iter().enumerate() {
            let place = format!("{name}[{number}]");
            let pattern = entry
                .as_str()
                .ok_or_else(|| format!("{place} must be a text"))?;
            by_name(desk, &place, pattern, effect)?;
        }
    }
    let known = ["allow", "review", "deny", "deny_when"];
    for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
        desk.leave(key, "", "selectools reads no such list");
    }
    Ok(())
}

fn list<'v>(map: &'v Map<String, Value>, name: &str) -> Result<&'v [Value], String> {
    match map.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) if list.len() <= ENTRIES_MAX => Ok(list),
        Some(Value::Array(_)) => Err(format!("{name} has more than {ENTRIES_MAX} entries")),
        Some(_) => Err(format!("{name} must be a list")),
    }
}

fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '['])
}

fn by_name(desk: &mut Desk<'_>, place: &str, pattern: &str, effect: Effect) -> Result<(), String> {
    let at = (place, pattern);
    if effect == Effect::Approve {
        if pattern.contains('[') {
            let why = "sets of characters ([…]) are not known in a rule; name the tools";
            desk.leave(place, pattern, why);
            return Ok(());
        }
        // Within one name only: `.`, `/` and `:` divide names here and not there.
        let mut glob = pattern.to_owned();
        while glob.contains("**") {
            glob = glob.replace("**", "*");
        }
        let divided = glob.contains(['*', '?']);
        let note = "a wildcard stays within one name (`.`, `/` and `:` divide names); lasts 90 days; critical calls and tools that change ask, and a tool with requires_approval needs an ask rule of its own";
        let exact = "lasts 90 days; critical calls and a tool that changes ask, and one with requires_approval needs an ask rule of its own";
        let parts = Parts {
            tools: vec![glob],
            ..Parts::default()
        };
        let note = if divided { note } else { exact };
        return desk.carry(at, vec![(Effect::Approve, parts)], Some(note));
    }
    let message = Some(format!("Denied by the imported policy ({pattern})."));
    if is_literal(pattern) {
        let tools = vec![pattern.to_owned()];
        let parts = Parts {
            tools,
            message,
            ..Parts::default()
        };
        return desk.carry(at, vec![(effect, parts)], None);
    }
    let held = matches("tool", pattern);
    let parts = Parts {
        when: Some(held.condition),
        message,
        ..Parts::default()
    };
    match (effect, held.exact) {
        (effect, true) => desk.carry(at, vec![(effect, parts)], None),
        (_, false) => {
            let note = "the pattern has no exact counterpart: every call that may be meant asks";
            desk.carry(at, vec![(Effect::Ask, parts)], Some(note))
        }
    }
}

fn deny_when(desk: &mut Desk<'_>, place: &str, entry: &Map<String, Value>) -> Result<(), String> {
    let text = |name: &str, otherwise: &str| match entry.get(name) {
        None => Ok(otherwise.to_owned()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(format!("{place}.{name} must be a text")),
    };
    let (tool, arg, pattern) = (text("tool", "*")?, text("arg", "")?, text("pattern", "")?);
    let reported = format!("{tool}: {arg} = {pattern}");
    if entry.get("arg").is_none() {
        desk.leave(
            place,
            &reported,
            "it names no argument, so it never denies anything",
        );
        return Ok(());
    }
    let name = super::text::quoted(&arg);
    let value = matches(&format!("args[{name}]"), &pattern);
    let mut condition = format!("{name} in args && {}", value.condition);
    let mut exact = value.exact;
    let mut tools = Vec::new();
    if is_literal(&tool) {
        tools.push(tool);
    } else if tool != "*" {
        let name = matches("tool", &tool);
        exact &= name.exact;
        condition = format!("{} && {condition}", name.condition);
    }
    let parts = Parts {
        tools,
        when: Some(condition),
        message: Some(format!(
            "The argument {arg} is denied by the imported policy."
        )),
        ..Parts::default()
    };
    let (effect, note) = match exact {
        true => (
            Effect::Deny,
            "an argument that is no text asks: selectools compares how Python writes it",
        ),
        false => (
            Effect::Ask,
            "the pattern has no exact counterpart: every call that may be meant asks",
        ),
    };
    desk.carry((place, &reported), vec![(effect, parts)], Some(note))
}
