//! Entries of Claude Code about files: `Edit`, `Write`, `Read(path)`, `Edit(path)`.

use std::collections::BTreeMap;

use super::Parts;
use super::claude_code::DENIED;
use crate::commands::PathPattern;
use crate::rule::Effect;

/// Tools that write the file at `/file_path`.
const WRITERS: [&str; 3] = ["Edit", "Write", "MultiEdit"];
/// Writes the files of a patch.
const PATCHER: [&str; 1] = ["apply_patch"];
/// Tools that name a folder, or none: what they read of it is not in their arguments.
const SEARCHERS: [&str; 3] = ["Grep", "Glob", "LS"];
/// Commands in which Claude Code looks for the files that its rules name, and others that read and write files.
const COMMANDS: &str = "awk base64 bat cat chmod chown column cp cut dd diff egrep fgrep file find gawk grep head hexdump \
    install jq less ln ls md5sum mkdir more mv nl od paste patch rg rm rmdir rsync sed sha1sum sha256sum shred sort \
    source split stat strings tac tail tar tee touch tr truncate uniq unlink wc xxd zip";
const GIT_COMMANDS: [&str; 2] = ["git diff", "git grep"];

type Rules = Vec<(Effect, Parts)>;

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

/// A path that is allowed, or why there is no such rule.
pub(super) fn allow(
    (tool, specifier): (&str, &str),
    folder: Option<&str>,
) -> Result<(Vec<Parts>, &'static str), &'static str> {
    match tool {
        "Read" => {
            let paths = allowed(specifier, folder)?;
            let rules = vec![
                on(&["Read"], "/file_path", &paths),
                on(&["NotebookRead"], "/notebook_path", &paths),
            ];
            Ok((
                rules,
                "Grep, Glob, LS, protected paths and relative paths of a call that names no folder ask; lasts 90 days",
            ))
        }
        "Edit" => {
            let paths = allowed(specifier, folder)?;
            let rules = vec![
                on(&WRITERS, "/file_path", &paths),
                on(&["NotebookEdit"], "/notebook_path", &paths),
                on(&PATCHER, "/command", &paths),
            ];
            Ok((
                rules,
                "every editing tool; protected paths and relative paths of a call that names no folder ask; lasts 90 days",
            ))
        }
        _ if pointer_of(tool).is_some() => Err(
            "Claude Code reads paths under allow only in Edit(…), which is for every editing tool",
        ),
        _ => Err("this specifier has no counterpart"),
    }
}

/// The patterns of an allowed path: never more than the entry says.
fn allowed(specifier: &str, folder: Option<&str>) -> Result<Vec<String>, &'static str> {
    if specifier.contains(['?', '[', '!', '{', '\\']) {
        return Err(
            "its pattern has more than `*` and `**`, which is all that a rule of paths knows",
        );
    }
    let below = |rest: &str| match folder {
        Some(folder) => Ok(format!("{folder}/{rest}")),
        None => {
            Err("it is below the folder that holds .claude, and this file is in no such folder")
        }
    };
    let path = match (specifier.strip_prefix("//"), specifier.strip_prefix('/')) {
        (Some(rest), _) => format!("/{rest}"),
        (None, Some(rest)) => below(rest)?,
        (None, None) => specifier.trim_start_matches("./").to_owned(),
    };
    let list = readable(path, |last| !last.contains('*')).ok_or("its path cannot be read")?;
    let protected = |of: &String| PathPattern::new(of).is_ok_and(|of| of.is_protected());
    match list.iter().any(protected) {
        true => Err("it names a protected place; write such a rule by hand if you mean it"),
        false => Ok(list),
    }
}

/// The path, and what is below it where that is meant. None where it is not a pattern.
fn readable(path: String, with_below: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    // Within a name several stars are one.
    let part = |part: &str| match part {
        "**" => part.to_owned(),
        _ => part.split("**").collect::<Vec<_>>().join("*"),
    };
    let parts: Vec<String> = path.split('/').map(part).collect();
    let path = parts.join("/");
    let (path, is_folder) = match path.strip_suffix('/') {
        Some(folder) => (folder.to_owned(), true),
        None => (path, false),
    };
    let last = path.rsplit('/').next().unwrap_or_default();
    let list = match last {
        "**" => vec![path],
        _ if is_folder => vec![format!("{path}/**")],
        _ if with_below(last) => vec![format!("{path}/**"), path],
        _ => vec![path],
    };
    let is_read = |of: &String| PathPattern::new(of).is_ok();
    list.iter().all(is_read).then_some(list)
}

/// A path that is denied or asks: for the tools that read or write it, and for commands that name it. None where
/// its pattern cannot be read here.
pub(super) fn refuse(
    (tool, specifier): (&str, &str),
    folder: Option<&str>,
    effect: Effect,
) -> Option<(Rules, &'static str)> {
    let reads = tool == "Read";
    if !reads && pointer_of(tool).is_none() {
        return None;
    }
    let (paths, exact) = refused(specifier, folder)?;
    let effect = if exact { effect } else { Effect::Ask };
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
        (effect, on(&PATCHER, "/command", &paths)),
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
    let note = match (reads, exact) {
        (true, true) => "a command that names the path too; every call of Grep, Glob and LS asks",
        (false, true) => "a command that names the path asks",
        (_, false) => "its pattern has more than `*` and `**`: calls that may be meant ask",
    };
    Some((rules, note))
}

/// The patterns of a refused path, never less than the entry says, and whether they are exactly that.
fn refused(specifier: &str, folder: Option<&str>) -> Option<(Vec<String>, bool)> {
    let mut widened = String::new();
    let mut rest = specifier.trim_start_matches('!');
    while let Some(at) = rest.find(['?', '[', '{']) {
        widened.push_str(&rest[..at]);
        widened.push('*');
        let behind = &rest[at + 1..];
        let end = match rest[at..].chars().next() {
            Some('[') => behind.find(']').map_or(behind.len(), |end| end + 1),
            Some('{') => behind.find('}').map_or(behind.len(), |end| end + 1),
            _ => 0,
        };
        rest = &behind[end..];
    }
    widened.push_str(rest);
    let path = match (widened.strip_prefix("//"), widened.strip_prefix('/')) {
        (Some(rest), _) => format!("/{rest}"),
        // At any depth where the folder is not known.
        (None, Some(rest)) => match folder {
            Some(folder) => format!("{folder}/{rest}"),
            None => rest.to_owned(),
        },
        (None, None) => widened.trim_start_matches("./").to_owned(),
    };
    Some((readable(path, |_| true)?, widened == specifier))
}

/// Commands that read or write files, whichever those are.
pub(super) fn commands() -> Parts {
    let programs = COMMANDS.split_whitespace().chain(GIT_COMMANDS);
    Parts {
        tools: vec!["Bash".to_owned()],
        command: programs.map(|program| format!("{program} *")).collect(),
        ..Parts::default()
    }
}

fn on(tools: &[&str], pointer: &'static str, paths: &[String]) -> Parts {
    Parts {
        tools: tools.iter().map(|&tool| tool.to_owned()).collect(),
        path: BTreeMap::from([(pointer, paths.to_vec())]),
        message: Some(DENIED.to_owned()),
        ..Parts::default()
    }
}
