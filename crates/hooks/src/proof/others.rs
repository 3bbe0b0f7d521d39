//! The other hooks of the event: whether one sets the input of a call, which may then run in the place of the approved
//! one.

use std::path::Path;

use serde_json::{Value, json};

use super::configured::{Configured, Kind};
use super::rules::fits;
use super::run::{self, Ended, Sample};
use crate::program::Program;

/// Where programs read another input.
const INPUTS: &str = "updatedInput updated_input modifiedArgs tool_input";

/// Why a gate does not hold, and what to do.
pub(super) type Weakness = (String, String);

/// Runs a hook with the samples, and says what is wrong with it.
pub(super) async fn weakness(
    program: Program,
    hook: &Configured,
    folder: &Path,
) -> Option<Weakness> {
    let file = hook.file.display();
    let named = format!("`{}` in {file}", hook.command);
    let untried = |why: &str| {
        let why = format!("another hook cannot be tried, and may change what runs: {named}{why}");
        Some((why, format!("remove it from {file}, or turn it off")))
    };
    let samples = match hook.kind {
        Kind::Command if hook.background => return None,
        Kind::Command => samples(program, hook.matcher.as_deref(), folder),
        Kind::OnlyDenies => return None,
        Kind::MayRewrite => return untried(""),
    };
    if samples.is_empty() {
        return untried(" is for other tools");
    }
    for sample in samples {
        match run::run(program, hook, folder, &sample).await {
            Ended::Exited { code, out, .. } if code == Some(0) && sets_input(&out) => {
                let why = format!(
                    "another hook sets the input of calls, and that may run in the place of what was approved: {named}"
                );
                let fix = format!(
                    "remove it from {file}; one that must stay has to end before the person answers, because the last to end decides"
                );
                return Some((why, fix));
            }
            Ended::Exited { .. } => {}
            _ => return untried(" did not end in time"),
        }
    }
    None
}

/// Whether an answer of a hook holds an input, in any program's words.
fn sets_input(out: &str) -> bool {
    let Ok(answer) = serde_json::from_str::<Value>(out) else {
        return false;
    };
    let own = &answer["hookSpecificOutput"];
    let places = [&answer, own, &own["decision"]];
    let mut inputs = places
        .iter()
        .flat_map(|of| INPUTS.split(' ').map(|name| &of[name]));
    inputs.any(|input| !input.is_null())
}

/// The samples that a hook with this matcher is asked about; else a call of the first tool that it names.
fn samples(program: Program, matcher: Option<&str>, folder: &Path) -> Vec<Sample> {
    let (shell, writes) = program.tools();
    let file = folder.join("countersign-sample.txt").display().to_string();
    let patch = format!("*** Begin Patch\n*** Add File: {file}\n+sample\n*** End Patch\n");
    let write = match program {
        Program::Codex => json!({ "command": patch }),
        Program::Copilot => json!({ "path": file, "file_text": "sample\n" }),
        _ => json!({ "file_path": file, "content": "sample\n" }),
    };
    let mut all = vec![(writes.to_owned(), write.clone())];
    for command in ["git status", "ls -la", "npm test"] {
        all.push((shell.to_owned(), json!({ "command": command })));
    }
    all.retain(|(name, _)| fits(matcher, name));
    let first = matcher.and_then(|matcher| matcher.split('|').next());
    let first = first.map(|name| name.trim_matches(['^', '$']).replace(".*", "x"));
    match first.filter(|name| all.is_empty() && fits(matcher, name)) {
        Some(name) => vec![(name, write)],
        None => all,
    }
}
