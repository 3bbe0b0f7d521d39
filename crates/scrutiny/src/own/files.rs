//! Files of the console, and settings that hold an agent's gate.

use countersign_shell::{Kind, Word, base_name};

use super::{Own, changes, reads, says};
use crate::call::Call;
use crate::command::{Line, name_of};
use crate::finding::{Code, Hazard};
use crate::paths::plain;
use crate::role::{Role, is_command, is_prose, is_sql_name, role};
use crate::shown::shown;

/// Data and state of the console, in small letters and without blanks: nobody else reads or writes there.
const FOLDERS: &str = "/.local/share/countersign /.local/state/countersign /$xdg_data_home/countersign /$xdg_state_home/countersign \
    /library/applicationsupport/countersign /appdata/roaming/countersign /appdata/local/countersign";
/// Where `connect` writes, and what switches hooks off.
const SETTINGS: &str = "/.claude/settings.json /.claude/settings.local.json /$claude_config_dir/settings.json \
    /claude-code/managed-settings.json /.codex/config.toml /.codex/hooks.json /$codex_home/config.toml /.gemini/settings.json \
    /.cursor/hooks.json /.copilot/hooks/countersign.json /.copilot/config.json /hooks/countersign.json \
    /.config/opencode/plugin/countersign.js /.config/opencode/opencode.json /.opencode/plugin/countersign.js";

/// How a path is reached; `Remove`: with everything below it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Read,
    Write,
    Remove,
}

/// What a pattern must write of a path that is not to be reached in this way. `open`: only its beginning is known.
fn held(path: &str, way: Way, open: bool) -> Option<&'static str> {
    let slash = if open && path.ends_with('/') { "/" } else { "" };
    let full = format!("/{}{slash}", plain(path).trim_start_matches('/'));
    let full = full.to_lowercase().replace(' ', "");
    // An end of the path that is the beginning of an entry, from a folder of its own on.
    let begins = |entry: &str| {
        let mut ends = full.match_indices('/').map(|(at, _)| &full[at..]);
        ends.any(|end| match open {
            true => entry.starts_with(end) && Some(end.len()) > entry.rfind('/'),
            false => {
                let folder = end.starts_with("/.") || end[1..].contains('/');
                way == Way::Remove && folder && entry.starts_with(&format!("{end}/"))
            }
        })
    };
    let below = |entry: &&str| format!("{full}/").contains(&format!("{entry}/")) || begins(entry);
    let is = |entry: &&str| full.ends_with(entry) || begins(entry);
    let mut settings = SETTINGS.split(' ').filter(|_| way != Way::Read);
    let found = FOLDERS.split(' ').find(below).or_else(|| settings.find(is));
    found.map(base_name)
}

/// A path of which this must be written, and what it is.
fn told(path: &str, written: &str) -> String {
    match written {
        "countersign" => format!("{}, its own data", shown(path)),
        _ => format!("{}, which can hold an agent's gate", shown(path)),
    }
}

/// From the folder in which it runs.
fn inside(path: &str, folder: Option<&str>) -> String {
    match folder {
        Some(folder) if !path.starts_with(['/', '~', '$']) => format!("{folder}/{path}"),
        _ => path.to_owned(),
    }
}

pub(super) fn of_line(
    line: &Line<'_>,
    inner: &[Word],
    text: &str,
    here: Option<&str>,
) -> Option<Own> {
    let folder = line.folder.as_deref().or(here);
    let mut paths = words(line);
    if line.is("python python3 node ruby perl php deno bun lua osascript") {
        paths.extend(inner.iter().map(|word| (word.clone(), Way::Write)));
    }
    for to in &line.command.redirections {
        match to.kind {
            Kind::Here | Kind::Duplicate => {}
            kind if kind.writes() => paths.push((to.target.clone(), Way::Write)),
            _ => paths.push((to.target.clone(), Way::Read)),
        }
    }
    // What is behind a variable is read as it was written.
    let unknown = |word: &Word| word.dynamic && word.text.is_empty() && word.gives.is_empty();
    let ways = paths.iter().filter(|(word, _)| unknown(word));
    if let Some(way) = ways.map(|(_, way)| *way).max() {
        let raw = line.command.at.clone().and_then(|at| text.get(at));
        let raw = raw.unwrap_or(text).replace(['"', '\'', '{', '}'], "");
        let cut = |at: char| at.is_whitespace() || ";|&<>()`".contains(at);
        let behind = raw.split(cut).filter(|piece| piece.contains('$'));
        paths.extend(behind.map(|piece| (Word::literal_of(piece), way)));
    }
    let (written, what) = paths.iter().find_map(|(word, way)| {
        let parts = word.text.trim_start_matches('@').split(['=', ',', ':']);
        let mut parts = parts.map(|part| inside(part, folder));
        let written = parts.find_map(|part| held(&part, *way, word.dynamic))?;
        Some((written, told(&word.text, written)))
    })?;
    let what = format!("{} reaches {what}", name_of(line.command));
    Some(changes(written.to_owned(), &what))
}

/// Words that may be paths, and how the program reaches them.
fn words(line: &Line<'_>) -> Vec<(Word, Way)> {
    let deletes = line.words.iter().any(|word| word.text == "-delete");
    let removes = line.is("rm rmdir mv shred remove-item move-item rd del chmod chown") || deletes;
    let way = match (reads(line), removes) {
        (true, _) => Way::Read,
        (false, true) => Way::Remove,
        (false, false) => Way::Write,
    };
    let operands: Vec<&Word> = line.operands().collect();
    let all = |words: &[&Word], way| words.iter().map(|&word| (word.clone(), way)).collect();
    match operands.as_slice() {
        _ if says(line) => Vec::new(),
        // The pattern of a search names no file.
        [_, files @ ..] if line.is("grep egrep fgrep rg ag ack awk sed") => all(files, way),
        [sources @ .., to] if line.is("cp mv install rsync scp ln copy-item move-item") => {
            let mut found: Vec<_> = all(sources, if removes { way } else { Way::Read });
            let name = |of: &&Word| format!("{}/{}", to.text, base_name(&of.text));
            let into = sources.iter().map(name).chain([to.text.clone()]);
            found.extend(into.map(|path| (Word::literal_of(&path), Way::Write)));
            found
        }
        _ => all(&line.words.iter().collect::<Vec<_>>(), way),
    }
}

/// Paths that a tool reads or writes.
pub(crate) fn hazards(call: &Call<'_>) -> Vec<Hazard> {
    const NAMES: &str = "path paths file files filename target dest destination folder dir directory source src uri root";
    let (way, does) = match call.only_reads() {
        true => (Way::Read, "reads"),
        false if call.tool_is("delete remove move rename") => (Way::Remove, "changes"),
        false => (Way::Write, "changes"),
    };
    let here = call.folder();
    let mut found = Vec::new();
    for leaf in &call.leaves {
        let text = leaf.text().unwrap_or_default();
        let prose = is_command(leaf, call) || is_sql_name(leaf) || is_prose(leaf);
        let named = leaf.has_word(NAMES) || matches!(role(leaf, call), Some(Role::Path(_)));
        let own = Some(text).filter(|text| named && !prose && text.len() <= 2_000);
        for path in patched(text).chain(own) {
            let Some(written) = held(&inside(path, here.as_deref()), way, false) else {
                continue;
            };
            let message = format!("It {does} Countersign itself: {}.", told(path, written));
            found.push(Hazard::stop(
                Code::ChangesCountersign,
                &leaf.at,
                written,
                message,
            ));
        }
    }
    found
}

/// Files of a patch, wherever it is.
fn patched(text: &str) -> impl Iterator<Item = &str> {
    let patch = ["*** Begin Patch", "+++ "]
        .iter()
        .any(|head| text.contains(head));
    let lines = text.lines().filter(move |_| patch);
    lines.filter_map(|line| {
        let heads = ["+++ b/", "--- a/", "+++ ", "--- "];
        let diff = heads.iter().find_map(|head| line.strip_prefix(head));
        diff.or_else(|| Some(line.strip_prefix("*** ")?.split_once(": ")?.1))
    })
}
