//! Patches under rules of paths: the files that they change count, and not their text.

use countersign_shell::folders::Folder;
use countersign_shell::patch::{Patch, applied, patch};

use super::paths::{PathPattern, any};
use super::reading::{Read, WorkingFolder};
use crate::rule::Effect;
use crate::unsure::Unsure;

/// Whether the patch of a call is one of a rule's: of an approve all its files, of others any.
pub(super) fn holds(
    effect: Effect,
    patterns: &[PathPattern],
    text: &str,
    place: &WorkingFolder,
) -> Result<bool, Unsure> {
    let patch = patch(text);
    if effect != Effect::Approve {
        return names(&patch, patterns, &Folder::Same, place);
    }
    let covered = |target: &String| {
        // No shell reads it: a `~` is a letter.
        let path = match target.starts_with('/') {
            true => target.clone(),
            false => format!("./{target}"),
        };
        patterns.iter().any(|of| of.approves(&path, place))
    };
    match patch.whole {
        true => Ok(patch.targets.iter().all(covered)),
        false => Err(Unsure::Unreadable),
    }
}

/// Whether a command of a text applies a patch to a file of a deny or an ask.
pub(super) fn named(
    read: &Read,
    patterns: &[PathPattern],
    place: &WorkingFolder,
) -> Result<bool, Unsure> {
    let commands = read.script.commands.iter().zip(&read.folders);
    any(commands
        .filter_map(|(command, folder)| Some(names(&applied(command)?, patterns, folder, place))))
}

fn names(
    patch: &Patch,
    patterns: &[PathPattern],
    folder: &Folder,
    place: &WorkingFolder,
) -> Result<bool, Unsure> {
    let here = match folder {
        Folder::Unknown(_) => &WorkingFolder::default(),
        _ => place,
    };
    let path = |target: &String| match folder {
        Folder::To(folder) if !target.starts_with(['/', '~']) => format!("{folder}/{target}"),
        _ => target.clone(),
    };
    let paths: Vec<String> = patch.targets.iter().map(path).collect();
    let tests = paths
        .iter()
        .flat_map(|path| patterns.iter().map(move |of| of.holds(path, here)));
    let rest = match patch.whole {
        true => Ok(false),
        false => Err(Unsure::Unreadable),
    };
    any(tests.chain([rest]))
}
