//! Writes to what runs later on its own.

use crate::call::Call;
use crate::finding::{Code, Hazard};
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
    let mut found = Vec::new();
    for leaf in &call.leaves {
        let Some(text) = leaf.text() else {
            continue;
        };
        let named = matches!(role(leaf, call), Some(Role::Path(_)))
            || leaf.has_word("path file filename target dest");
        if let Some(what) = runs_later(text).filter(|_| named && !leaf.named("source src")) {
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

/// The files that a patch changes.
fn patched(text: &str) -> impl Iterator<Item = &str> {
    const HEADS: [&str; 4] = ["+++ b/", "+++ ", "*** Update File: ", "*** Add File: "];
    text.lines()
        .filter_map(|line| HEADS.iter().find_map(|head| line.strip_prefix(head)))
}
