//! Files of the console, and settings that hold an agent's gate.

use countersign_shell::options::value;
use countersign_shell::{ANY, ANY_LETTER, HOLE, HOLE_END, Kind, Script, Word, base_name};

use super::{Own, PROGRAM, changes, reads, says};
use crate::call::Call;
use crate::command::{Line, name_of};
use crate::finding::{Code, Hazard};
use crate::leaf::among;
use crate::paths::plain;
use crate::role::{Role, is_command, is_prose, is_sql_name, role};
use crate::shown::shown;

/// Data and state of the console, in small letters and without blanks: nobody else reads or writes there.
const FOLDERS: &str = "/.local/share/countersign /.local/state/countersign /$xdg_data_home/countersign /$xdg_state_home/countersign \
    /library/applicationsupport/countersign /appdata/roaming/countersign /appdata/local/countersign";
/// Where `connect` writes, what switches hooks off, and the program that the hooks start.
const SETTINGS: &str = "/bin/countersign /.claude/settings.json /.claude/settings.local.json /$claude_config_dir/settings.json \
    /claude-code/managed-settings.json /.codex/config.toml /.codex/hooks.json /$codex_home/config.toml /.gemini/settings.json \
    /.cursor/hooks.json /.copilot/hooks/countersign.json /.copilot/config.json /hooks/countersign.json \
    /.config/opencode/plugin/countersign.js /.config/opencode/opencode.json /.opencode/plugin/countersign.js";

const COPIES: &str = "cp mv install rsync scp ln copy-item move-item";

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
            true => {
                let whole = Some(end.len()) > entry.rfind('/');
                let folder = way == Way::Remove && end.starts_with("/.") && end.len() > 2;
                entry.starts_with(end) && (whole || folder)
            }
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
        PROGRAM => format!("{}, its own data or program", shown(path)),
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

pub(super) fn of_line(line: &Line<'_>, inner: &[Word], here: Option<&str>) -> Option<Own> {
    let folder = line.folder.as_deref();
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
    if line.substituted().any(finds_program) {
        let way = paths.iter().map(|(_, way)| *way).max();
        let way = way.filter(|_| !line.is("ls file stat cat"));
        paths.extend(way.map(|_| (Word::literal_of("/bin/countersign"), Way::Write)));
    }
    let (written, what) = paths.iter().find_map(|(word, way)| {
        let forms = forms(line.script, word);
        let held = |(form, open): &(String, bool)| {
            let parts = form.trim_start_matches('@').split(['=', ',', ':']);
            let mut parts = parts.map(|part| inside(&inside(part, folder), here));
            parts.find_map(|part| held(&part, *way, *open))
        };
        let written = forms.iter().find_map(held)?;
        let form = forms.first().map_or("", |(form, _)| form.as_str());
        Some((written, told(form, written)))
    })?;
    let what = format!("{} reaches {what}", name_of(line.command));
    Some(changes(written.to_owned(), &what))
}

/// What a word may come to, variables as they are written; and the beginning that is known, where there is more.
fn forms(script: &Script, word: &Word) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for form in script.forms(word) {
        let written = form.replace(HOLE, "$").replace(HOLE_END, "");
        let known = form
            .split([HOLE, ANY, ANY_LETTER])
            .next()
            .unwrap_or_default();
        let open = known.len() < form.len();
        if open && !known.is_empty() {
            found.push((known.to_owned(), true));
        }
        found.push((written, false));
    }
    found
}

/// `which countersign` and its like.
fn finds_program(command: &countersign_shell::Command) -> bool {
    let finds =
        ["which", "command", "type", "whereis", "realpath"].contains(&name_of(command).as_str());
    finds
        && command
            .words
            .iter()
            .any(|word| base_name(&word.text) == PROGRAM)
}

/// Where it writes whatever it is given: `tar -x -C`, `unzip -d`, `patch -d`.
fn filled_folder<'s>(line: &Line<'s>) -> Option<&'s str> {
    let creates = |word: &Word| !word.text.starts_with("--") && word.text.contains('c');
    match line.name.as_str() {
        "tar" if line.words.first().is_some_and(creates) => None,
        "tar" | "unzip" | "patch" | "7z" => value(line.words, "-C -d --directory"),
        _ => None,
    }
}

/// Words that may be paths, and how the program reaches them.
fn words(line: &Line<'_>) -> Vec<(Word, Way)> {
    let deletes = line.words.iter().any(|word| word.text == "-delete");
    let resets = line.name == "git"
        && line
            .texts()
            .iter()
            .any(|sub| among("checkout restore clean rm mv", sub));
    let removes =
        deletes || resets || line.is("rm rmdir mv shred remove-item move-item rd del chmod chown");
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
        [sources @ .., to] if line.is(COPIES) => {
            let target = value(line.words, "-t --target-directory");
            let (sources, to) = match target {
                Some(target) => (operands.as_slice(), target),
                None => (sources, to.text.as_str()),
            };
            let way = |of: &&Word| match base_name(&of.text) {
                _ if removes => way,
                PROGRAM => Way::Write,
                _ => Way::Read,
            };
            let mut found: Vec<_> = sources.iter().map(|of| ((*of).clone(), way(of))).collect();
            let name = |of: &&Word| format!("{to}/{}", base_name(&of.text));
            let into = sources.iter().map(name).chain([to.to_owned()]);
            found.extend(into.map(|path| (Word::literal_of(&path), Way::Write)));
            // What is below a source may be anything.
            let below = |of: &&Word| {
                of.dynamic || among(". ..", base_name(&of.text)) || of.text.ends_with('/')
            };
            let all_of = sources.iter().any(below) || line.has("T", "no-target-directory");
            let fills = all_of && (line.has("rRa", "recursive archive") || line.name == "rsync");
            found.extend(fills.then(|| (Word::literal_of(to), Way::Remove)));
            found
        }
        _ => {
            let mut found = all(&line.words.iter().collect::<Vec<_>>(), way);
            let filled = filled_folder(line).map(Word::literal_of);
            found.extend(filled.map(|folder| (folder, Way::Remove)));
            found
        }
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
