//! Writes to what runs later on its own.

use crate::call::Call;
use crate::edit::{self, Edit};
use crate::finding::{Code, Hazard};
use crate::leaf::among;
use crate::paths::runs_later;
use crate::role::{Role, role};
use crate::shown::shown;

/// Tools whose purpose is to let something run later.
pub(crate) fn is_scheduler(call: &Call<'_>) -> bool {
    call.tool_is("cron crontab schedule scheduler timer job jobs")
}

/// Whether a tool changes the file that it names.
fn writes(call: &Call<'_>) -> bool {
    const WORDS: &str =
        "write edit create update append put patch save replace insert modify upload add copy move";
    const CONTENT: &str = "content contents new_string new_str text data patch diff file_text";
    call.tool_is(WORDS)
        || (!call.only_reads() && call.leaves.iter().any(|leaf| leaf.named(CONTENT)))
}

pub(crate) fn hazards(call: &Call<'_>) -> Vec<Hazard> {
    if is_scheduler(call) || !writes(call) {
        return Vec::new();
    }
    let edits = edit::of(call);
    let mut found: Vec<Hazard> = edits.iter().filter_map(of_edit).collect();
    for leaf in &call.leaves {
        let Some(text) = leaf.text() else {
            continue;
        };
        let named = matches!(role(leaf, call), Some(Role::Path(_)))
            || leaf.has_word("path file filename target dest");
        let what = runs_later(text).filter(|_| named && !leaf.named("source src"));
        // Of an edit, and of lines that are only added, what they do is known.
        if let Some(what) = what.filter(|_| edits.is_empty() && !is_harmless(call)) {
            found.push(hazard(&leaf.at, text, what));
            continue;
        }
        if leaf.named("patch diff input") {
            let changed = patched(text).find_map(|path| Some((path, runs_later(path)?)));
            found.extend(changed.map(|(path, what)| hazard(&leaf.at, path, what)));
        }
    }
    found
}

pub(crate) fn hazard(at: &str, path: &str, what: &str) -> Hazard {
    let message = format!("It writes {}, {what}.", shown(path));
    Hazard::stop(Code::Persists, at, path, message)
}

/// Lines that name, count or say something, and run nothing.
fn runs_nothing(line: &str) -> bool {
    const LOADED: [&str; 5] = ["PATH=", "LD_PRELOAD=", "PROMPT_COMMAND=", "BASH_ENV=", "$("];
    let name = line
        .strip_prefix("export ")
        .unwrap_or(line)
        .split('=')
        .next()
        .unwrap_or_default();
    let sets = line.contains('=')
        && name
            .chars()
            .all(|at| at.is_ascii_alphanumeric() || at == '_');
    let loads = LOADED.iter().any(|part| line.contains(part)) || line.contains('`');
    line.is_empty() || line.starts_with('#') || line.starts_with("alias ") || (sets && !loads)
}

fn is_harmless(call: &Call<'_>) -> bool {
    let content = call
        .leaves
        .iter()
        .find(|leaf| leaf.named("content contents text data lines"));
    let text = content
        .and_then(|leaf| leaf.text())
        .filter(|text| !text.trim().is_empty());
    call.tool_is("append add")
        && text.is_some_and(|text| text.lines().all(|line| runs_nothing(line.trim())))
}

/// What the new lines of an edit let run, when and with which rights.
fn of_edit(edit: &Edit<'_>) -> Option<Hazard> {
    const SCRIPTS: [&str; 6] = [
        "preinstall",
        "install",
        "postinstall",
        "prepare",
        "prepublish",
        "prepack",
    ];
    let (removed, added) = (edit.removed(), edit.added());
    let name = edit.path.rsplit('/').next().unwrap_or_default();
    let old = removed.join("\n");
    let said = |what: String| {
        Some(Hazard::stop(
            Code::Persists,
            edit.at,
            format!("{} {what}", edit.path),
            format!("{what}: {}.", shown(edit.path)),
        ))
    };
    if name == "package.json" {
        let script = added.iter().find_map(|line| {
            SCRIPTS.iter().find(|script| {
                line.starts_with(&format!("\"{script}\":")) && !old.contains(**script)
            })
        })?;
        return said(format!(
            "A script that runs at each install is new, {script}"
        ));
    }
    let later = runs_later(edit.path)?;
    for line in added.iter().filter(|line| !runs_nothing(line)) {
        for trigger in ["pull_request_target", "workflow_run", "repository_dispatch"] {
            if line.contains(trigger) && !old.contains(trigger) {
                return said(format!(
                    "The new trigger {trigger} runs code of strangers with the repository's rights"
                ));
            }
        }
        let writes = line.ends_with(": write") || line.contains("write-all");
        if writes && !old.contains(line) {
            return said(format!("It gets more rights, {}", shown(line)));
        }
        if let Some(secret) = line
            .split("secrets.")
            .nth(1)
            .filter(|_| line.contains("secrets."))
        {
            let secret: String = secret
                .chars()
                .take_while(|at| at.is_alphanumeric() || *at == '_')
                .collect();
            if !old.contains(&secret) {
                return said(format!("The secret {secret} is new there"));
            }
        }
        let key = line.trim_start_matches("- ");
        if let Some(action) = key.strip_prefix("uses:") {
            let owner = |text: &str| text.trim().split('/').next().unwrap_or_default().to_owned();
            let known = removed
                .iter()
                .filter_map(|line| line.trim_start_matches("- ").strip_prefix("uses:"))
                .any(|of| owner(of) == owner(action));
            if !known && !among("actions docker github", &owner(action)) {
                return said(format!("The action {} is new", shown(action.trim())));
            }
            continue;
        }
        let ci = later == "a CI file";
        let command = match ci {
            true => key
                .strip_prefix("run:")
                .or_else(|| key.strip_prefix("script:")),
            false => Some(key),
        };
        // In lists and blocks of a CI file a line with a pipe to a shell runs as well.
        let command = command
            .or_else(|| Some(key).filter(|key| ci && key.contains("| ") && key.contains("sh")));
        let program = command.map(|command| {
            command
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned()
        });
        if let Some(program) =
            program.filter(|program| !program.is_empty() && !old.contains(program.as_str()))
            && !among(
                "if then else fi done do esac } { set cd echo true exit | > |- >-",
                &program,
            )
        {
            return said(format!("It runs {} in {later}", shown(&program)));
        }
    }
    None
}

/// The files that a patch changes.
fn patched(text: &str) -> impl Iterator<Item = &str> {
    const HEADS: [&str; 4] = ["+++ b/", "+++ ", "*** Update File: ", "*** Add File: "];
    text.lines()
        .filter_map(|line| HEADS.iter().find_map(|head| line.strip_prefix(head)))
}
