//! Entries of Claude Code about files: `Edit`, `Write`, `Read(path)`, `Edit(path)`.

use std::collections::BTreeMap;

use super::{Desk, Parts};
use crate::commands::PathPattern;
use crate::rule::Effect;

/// Tools that write the file at `/file_path`.
const WRITERS: [&str; 3] = ["Edit", "Write", "MultiEdit"];
/// Tools that name a folder, or none: what they read of it is not in their arguments.
const SEARCHERS: [&str; 3] = ["Grep", "Glob", "LS"];

/// Where an editing tool names its file; none for another tool.
fn pointer_of(tool: &str) -> Option<&'static str> {
    match tool {
        "NotebookEdit" => Some("/notebook_path"),
        _ => WRITERS.contains(&tool).then_some("/file_path"),
    }
}

/// A bare editing tool under allow: every file but the protected ones, which a pattern of paths leaves out.
pub(super) fn all_but_protected(tool: &str) -> Option<Parts> {
    Some(on(&[tool], pointer_of(tool)?, &["/**".to_owned()]))
}

/// A path that is denied or asks: for the tools that read or write it, and for commands that name it. None where
/// its pattern cannot be read here.
pub(super) fn refuse(
    desk: &mut Desk<'_>,
    at: (&str, &str),
    (tool, specifier): (&str, &str),
    effect: Effect,
) -> Option<Result<(), String>> {
    let reads = tool == "Read";
    if !reads && pointer_of(tool).is_none() {
        return None;
    }
    let paths = patterns(specifier)?;
    let files: &[&str] = match reads {
        true => &["Read", "Edit", "Write", "MultiEdit"],
        false => &WRITERS,
    };
    let notebooks: &[&str] = match reads {
        true => &["NotebookRead", "NotebookEdit"],
        false => &["NotebookEdit"],
    };
    // A command may only read what may not be written.
    let command = if reads { effect } else { Effect::Ask };
    let mut rules = vec![
        (effect, on(files, "/file_path", &paths)),
        (effect, on(notebooks, "/notebook_path", &paths)),
        (command, on(&["Bash"], "/command", &paths)),
    ];
    if reads {
        let tools = SEARCHERS.map(str::to_owned).to_vec();
        let searches = Parts {
            tools,
            ..Parts::default()
        };
        rules.push((Effect::Ask, searches));
    }
    let note = "a command that names the path too; every call of Grep, Glob and LS asks";
    let note = if reads {
        note
    } else {
        "a command that names the path asks"
    };
    Some(desk.carry(at, rules, Some(note)))
}

fn on(tools: &[&str], pointer: &'static str, paths: &[String]) -> Parts {
    Parts {
        tools: tools.iter().map(|&tool| tool.to_owned()).collect(),
        path: BTreeMap::from([(pointer, paths.to_vec())]),
        message: Some("Denied by the imported permissions.".to_owned()),
        ..Parts::default()
    }
}

/// The path and what is below it: `//x` is absolute, `/x`, `./x` and `x` are at any depth, as the folder of the
/// settings is not known here.
fn patterns(specifier: &str) -> Option<Vec<String>> {
    if specifier.contains(['?', '[', '!', '{']) {
        return None;
    }
    let path = match specifier.strip_prefix("//") {
        Some(absolute) => format!("/{absolute}"),
        None => specifier
            .trim_start_matches("./")
            .trim_start_matches('/')
            .to_owned(),
    };
    let path = path.trim_end_matches('/').to_owned();
    let list = match path.ends_with("/**") {
        true => vec![path],
        false => vec![format!("{path}/**"), path],
    };
    list.iter()
        .all(|of| PathPattern::new(of).is_ok())
        .then_some(list)
}
