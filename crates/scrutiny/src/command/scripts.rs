//! The commands of a call, read.

use countersign_shell::{Script, Shell, from_words, read};
use serde_json::Value;

use crate::call::Call;
use crate::leaf::{Leaf, among};
use crate::role::is_command;

/// The commands of a call, read.
pub(crate) fn scripts<'l, 'a>(
    call: &'l Call<'a>,
) -> impl Iterator<Item = (&'l Leaf<'a>, &'l str, &'l Script)> {
    let read = call.scripts.get_or_init(|| of(call));
    read.iter()
        .map(|(leaf, at, script)| (&call.leaves[*leaf], at.as_str(), script))
}

fn of(call: &Call<'_>) -> Vec<(usize, String, Script)> {
    let shell = Shell::of_tool(call.tool);
    let mut found: Vec<(usize, String, Script)> = Vec::new();
    let mut lists: Vec<(String, Vec<&str>)> = Vec::new();
    for (number, leaf) in call.leaves.iter().enumerate() {
        let Value::String(text) = leaf.value.as_ref() else {
            continue;
        };
        let is_list = leaf.place.ends_with("/*");
        let argv = is_list && leaf.named("args argv arguments command cmd");
        if argv {
            let list = leaf.at.rsplit_once('/').map_or("", |(list, _)| list);
            match lists.last_mut().filter(|(at, _)| at == list) {
                Some((_, words)) => words.push(text),
                None => lists.push((list.to_owned(), vec![text])),
            }
        } else if let Some(shell) = script_in(leaf, call) {
            found.extend(
                shell
                    .into_iter()
                    .map(|text| (number, leaf.at.clone(), read(&text, Shell::of_tool("bash")))),
            );
        } else if is_command(leaf, call) && !text.trim().is_empty() {
            found.push((number, leaf.at.clone(), read(text, shell)));
        }
    }
    for (at, mut words) in lists {
        let Some(number) = call.leaves.iter().position(|leaf| leaf.at.starts_with(&at)) else {
            continue;
        };
        let leaf = &call.leaves[number];
        // `git` with `["push", "--force"]`: the program is the tool, or another argument.
        if leaf.named("args argv arguments") {
            let program = call
                .leaves
                .iter()
                .find(|leaf| leaf.named("program executable binary"))
                .and_then(Leaf::text);
            let of_tool = call
                .tool_words
                .iter()
                .map(String::as_str)
                .find(|word| among("git kubectl docker terraform aws helm", word));
            words.splice(0..0, program.or(of_tool));
        }
        // `["bash", "-c", "…"]` and a list of whole commands.
        if leaf.named("command cmd") && words.len() == 1 {
            found.push((number, leaf.at.clone(), read(words[0], shell)));
        } else {
            found.push((number, at, from_words(words)));
        }
    }
    found
}

/// The commands in a file that is written: a script as it is, of code the literals that it starts.
fn script_in(leaf: &Leaf<'_>, call: &Call<'_>) -> Option<Vec<String>> {
    const WRITTEN: &str = "content contents file_text new_string new_str text";
    const STARTS: [&str; 11] = [
        "os.system",
        "subprocess",
        "popen",
        "execSync",
        "exec(",
        "spawn",
        "shell_exec",
        "passthru",
        "system(",
        "exec.Command",
        "check_call",
    ];
    let text = leaf.text().filter(|_| leaf.named(WRITTEN))?;
    let path = call
        .leaves
        .iter()
        .filter(|of| of.has_word("path file filename"))
        .find_map(Leaf::text)?;
    let end = path.rsplit(['.', '/']).next().unwrap_or_default();
    if among("sh bash zsh", end)
        || text.starts_with("#!/bin/sh")
        || text.starts_with("#!/bin/bash")
        || text.starts_with("#!/usr/bin/env bash")
    {
        return Some(vec![text.to_owned()]);
    }
    if !among("py js mjs cjs ts tsx rb php go", end)
        || !STARTS.iter().any(|word| text.contains(word))
    {
        return None;
    }
    let lines = text
        .lines()
        .filter(|line| STARTS.iter().any(|word| line.contains(word)));
    let literals = lines
        .flat_map(literals)
        .filter(|literal| literal.contains(' '));
    Some(literals.take(20).collect()).filter(|of: &Vec<String>| !of.is_empty())
}

/// The quoted texts of a line.
pub(crate) fn literals(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find(['"', '\'', '`']) {
        let quote = &rest[at..=at];
        let after = &rest[at + 1..];
        let Some(end) = after.find(quote) else {
            break;
        };
        found.push(after[..end].to_owned());
        rest = &after[end + 1..];
    }
    found
}
