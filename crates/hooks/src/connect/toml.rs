//! Hooks of Codex, in `config.toml`.

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::{Wanted, is_ours, shell};
use crate::program::Program;

const FOR_A_REPORT: i64 = 60;

pub(super) fn connect(text: &str, wanted: &Wanted) -> Result<String, String> {
    let mut settings = read(text)?;
    let ask = i64::try_from(wanted.timeout).unwrap_or(i64::MAX);
    let command = |phase| shell(&wanted.command, phase);
    let entries = [
        ("PreToolUse", command("before"), ask),
        ("PostToolUse", command("after"), FOR_A_REPORT),
    ];
    let same = entries.each_ref();
    let same = same.map(|(event, command, timeout)| (*event, command.as_str(), Some(*timeout)));
    // Codex writes its trust behind our entries: put in anew they would change places with it.
    if ours(&settings) == same {
        return Ok(text.to_owned());
    }
    remove(&mut settings)?;
    for (event, command, timeout) in entries {
        let mut hook = Table::new();
        hook.insert("type", value("command"));
        hook.insert("command", value(command));
        hook.insert("timeout", value(timeout));
        let mut hooks = ArrayOfTables::new();
        hooks.push(hook);
        let mut entry = Table::new();
        entry.insert("hooks", Item::ArrayOfTables(hooks));
        let all = settings
            .entry("hooks")
            .or_insert_with(|| {
                let mut table = Table::new();
                table.set_implicit(true);
                Item::Table(table)
            })
            .as_table_mut()
            .ok_or("hooks is not a table")?;
        all.entry(event)
            .or_insert(Item::ArrayOfTables(ArrayOfTables::new()))
            .as_array_of_tables_mut()
            .ok_or_else(|| format!("hooks.{event} is not a list of tables"))?
            .push(entry);
    }
    Ok(settings.to_string())
}

pub(super) fn disconnect(text: &str) -> Result<String, String> {
    let mut settings = read(text)?;
    remove(&mut settings)?;
    Ok(settings.to_string())
}

fn read(text: &str) -> Result<DocumentMut, String> {
    // Its message quotes the line, where a secret may be.
    text.parse::<DocumentMut>()
        .map_err(|error| error.message().to_owned())
}

/// Our hooks as they are there: event, command, timeout.
fn ours(settings: &DocumentMut) -> Vec<(&str, &str, Option<i64>)> {
    let hooks = settings.get("hooks").and_then(Item::as_table);
    let mut found = Vec::new();
    for (event, entries) in hooks.into_iter().flatten() {
        let entries = entries.as_array_of_tables().into_iter().flatten();
        let tables = entries.filter(|entry| is_entry(entry));
        let hooks = tables.filter_map(|entry| entry.get("hooks")?.as_array_of_tables());
        found.extend(hooks.flatten().filter_map(|hook| {
            let timeout = hook.get("timeout").and_then(Item::as_integer);
            Some((event, hook.get("command")?.as_str()?, timeout))
        }));
    }
    found
}

fn remove(settings: &mut DocumentMut) -> Result<(), String> {
    let Some(hooks) = settings.get_mut("hooks") else {
        return Ok(());
    };
    let hooks = hooks.as_table_mut().ok_or("hooks is not a table")?;
    let mut empty = Vec::new();
    for (event, entries) in hooks.iter_mut() {
        if let Some(entries) = entries.as_array_of_tables_mut() {
            let before = entries.len();
            entries.retain(|entry| !is_entry(entry));
            if entries.is_empty() && before > 0 {
                empty.push(event.to_string());
            }
        }
    }
    for event in empty {
        hooks.remove(&event);
    }
    if hooks.is_empty() {
        settings.remove("hooks");
    }
    Ok(())
}

fn is_entry(entry: &Table) -> bool {
    let hooks = entry.get("hooks").and_then(Item::as_array_of_tables);
    hooks.is_some_and(|hooks| {
        hooks.iter().all(|hook| {
            let command = hook.get("command").and_then(Item::as_str);
            command.is_some_and(|command| is_ours(command, Program::Codex))
        })
    })
}
