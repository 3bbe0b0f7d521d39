//! What a command reaches that a pattern has to write: protected places, options, addresses.

use countersign_shell::given::{Lies, unmeant as given};
use countersign_shell::{ANY, HOLE, HOLE_END, Shell, acts, filled};

use super::paths::{is_protected, lies};
use super::reading::{Read, WorkingFolder};

/// Programs that put something where their operands say.
const WRITERS: &str = "cp mv ln touch mkdir install rsync dd truncate chmod chown";

/// The places of one command's words that a pattern has to write, an option with its value; [`usize::MAX`] is one
/// that no pattern writes.
pub(super) fn unmeant(read: &Read, at: usize, place: &WorkingFolder) -> Vec<[usize; 2]> {
    let name = read.script.commands[at].name().unwrap_or_default();
    let is = |list: &str| list.split_whitespace().any(|known| known == name);
    let (posix, writes) = (read.shell == Shell::Posix, is(acts::WRITERS));
    if !posix && !writes {
        return Vec::new();
    }
    let folder = &read.folders[at];
    let lies = |path: &str| {
        folder
            .at(path)
            .map_or(Lies::Outside, |path| lies(&path, place))
    };
    let given = given(&read.script, at, &lies);
    let mut found = if posix { given.places } else { Vec::new() };
    found.extend((posix && given.is_fed).then_some([usize::MAX; 2]));
    for (word, form, whole) in given.paths {
        let end = form.len().checked_sub(HOLE_END.len_utf8());
        let hole = whole && form.starts_with(HOLE) && form.find(HOLE_END) == end;
        let path = filled(&form, ANY).replace('\\', "/");
        let path = folder.at(&path).unwrap_or(path);
        if (hole && posix && is(WRITERS)) || is_protected(&path, place, writes) {
            found.push([word, word]);
        }
    }
    found
}
