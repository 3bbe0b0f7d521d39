//! The files that a patch changes, by what they are.

use countersign_shell::patch::{Patch, applied, patch, takes_patches};

use crate::call::Call;
use crate::command::scripts;
use crate::finding::{Code, Hazard};
use crate::paths::{is_credential, runs_later};
use crate::shown::shown;

pub(crate) fn hazards(call: &Call<'_>) -> Vec<Hazard> {
    patches(call)
        .into_iter()
        .filter_map(|(at, patch)| hazard(&at, &patch))
        .collect()
}

/// Each patch of a call with its place.
pub(crate) fn patches(call: &Call<'_>) -> Vec<(String, Patch)> {
    if takes_patches(call.tool) {
        let texts = call.leaves.iter();
        let texts = texts.filter_map(|leaf| Some((leaf.at.clone(), patch(leaf.text()?))));
        return texts.filter(|(_, of)| !of.targets.is_empty()).collect();
    }
    let mut found = Vec::new();
    for (_, at, script) in scripts(call) {
        let applied = script.commands.iter().filter_map(applied);
        found.extend(applied.map(|patch| (at.to_owned(), patch)));
    }
    found
}

/// One sentence for all of them.
fn hazard(at: &str, patch: &Patch) -> Option<Hazard> {
    let mut later = false;
    let named = patch.targets.iter().filter_map(|target| {
        let what = runs_later(target);
        later |= what.is_some();
        let what = what.or(is_credential(target).then_some("a credential file"))?;
        Some(format!("{}, {what}", shown(target)))
    });
    let named = named.collect::<Vec<_>>().join("; ");
    let (same, message) = (named.clone(), format!("It writes {named}."));
    match (named.is_empty(), later) {
        (true, _) => None,
        (false, true) => Some(Hazard::stop(Code::Persists, at, same, message)),
        (false, false) => Some(Hazard::look(Code::Persists, at, same, message)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::finding::Weight;
    use crate::{Finding, Past, examine};

    fn found(tool: &str, args: &Value) -> Vec<Finding> {
        examine(&Call::new(tool, args), &Past::default())
    }

    #[test]
    fn the_targets_of_a_patch_are_named() {
        let body = "*** Begin Patch\n*** Add File: notes.txt\n+rm -rf /\n*** Add File: .git/hooks/pre-commit\n+#!/bin/sh\n\
            *** Update File: .env\n@@\n+A=1\n*** End Patch\n";
        let message = "It writes .git/hooks/pre-commit, a git hook; .env, a credential file.";
        for (tool, command) in [
            ("apply_patch", body.to_owned()),
            ("shell", format!("apply_patch <<'EOF'\n{body}EOF")),
            ("Bash", format!("cd x && apply_patch <<'EOF'\n{body}EOF")),
        ] {
            let found = found(tool, &json!({ "command": command }));
            let [finding] = found.as_slice() else {
                panic!("{tool}: {found:?}");
            };
            assert_eq!(
                (finding.code, finding.weight),
                (Code::Persists, Weight::Stop)
            );
            assert_eq!(
                (finding.at.as_str(), finding.message.as_str()),
                ("/command", message)
            );
        }
        let moved =
            "*** Begin Patch\n*** Update File: a\n*** Move to: ~/.bashrc\n@@\n+x\n*** End Patch\n";
        let found_in = found("apply_patch", &json!({ "command": moved }));
        assert_eq!(found_in[0].code, Code::Persists);
        let plain = "*** Begin Patch\n*** Add File: notes.txt\n+hello\n*** End Patch\n";
        assert_eq!(found("apply_patch", &json!({ "command": plain })), []);
    }
}
