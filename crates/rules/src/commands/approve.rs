//! What lets a command run: every part of it is known and covered.

use countersign_shell::folders::{Folder, moves};
use countersign_shell::given::{Lies, is_reader};
use countersign_shell::options::subcommands;
use countersign_shell::wrappers::needs_no_pattern;
use countersign_shell::{Command, How, Shell, Word, acts};

use super::paths::{PathPattern, lies};
use super::pattern::{CommandPattern, Element, Part, glob};
use super::reading::{Read, WorkingFolder};

/// Programs that give variables a value.
const ASSIGN: [&str; 9] = [
    "export",
    "declare",
    "typeset",
    "readonly",
    "local",
    "getopts",
    "mapfile",
    "readarray",
    "let",
];

/// A pattern from a word on: `timeout 60 cargo test *` is also `cargo test *`, of what it wraps.
type From<'p> = (&'p CommandPattern, usize);

/// What a rule lets a command do.
pub(super) struct Allowed<'r> {
    pub(super) patterns: &'r [CommandPattern],
    pub(super) writes: &'r [PathPattern],
    /// What the pattern of a command has to write, where there is something of it.
    pub(super) written: &'r [String],
}

/// Whether every command of a text is covered by one of the patterns; else the first that is not, if it is one.
pub(super) fn covers(
    read: &Read,
    allowed: &Allowed<'_>,
    place: &WorkingFolder,
) -> Result<(), Option<usize>> {
    let script = &read.script;
    if script.unreadable.is_some() || script.doubtful.is_some() || read.moved_git {
        return Err(None);
    }
    let runs = script
        .commands
        .iter()
        .any(|command| !command.words.is_empty() || !command.assignments.is_empty());
    if !runs {
        return Err(None);
    }
    let cover = Cover {
        read,
        allowed,
        place,
    };
    let (single, sequences): (Vec<_>, Vec<_>) =
        allowed.patterns.iter().partition(|of| of.parts.len() == 1);
    if sequences.into_iter().any(|pattern| cover.sequence(pattern)) {
        return Ok(());
    }
    // What covers each command: patterns for what it wraps, and whether it was written as a whole.
    let mut inner: Vec<(Vec<From<'_>>, bool)> = Vec::with_capacity(script.commands.len());
    // Every folder that was changed to was written.
    let mut meant = true;
    for (at, command) in script.commands.iter().enumerate() {
        let outer = command.inside.and_then(|inside| inner.get(inside));
        let outer = outer.filter(|_| matches!(command.how, How::Wrapped | How::Text));
        if outer.is_some_and(|(_, whole)| *whole) {
            inner.push((Vec::new(), true));
            continue;
        }
        if !meant && cover.is_away(at) {
            return Err(Some(at));
        }
        let mut found = Vec::new();
        let mut covered = false;
        let mut whole = false;
        let mut moved = !moves(command);
        let own = single.iter().map(|pattern| (*pattern, 0));
        let wrapped = outer.into_iter().flat_map(|(patterns, _)| patterns);
        for (pattern, from) in own.chain(wrapped.copied()) {
            let Some(literal) = cover.one(at, &pattern.parts[0], from) else {
                continue;
            };
            if !cover.is_written(at, pattern) {
                continue;
            }
            covered = true;
            moved |= pattern.parts.iter().all(|part| is_meant(part, &literal));
            let exact = from == 0 && pattern.is_exact();
            whole |= exact && !command.words.iter().any(|word| word.dynamic);
            // A literal word of the pattern begins what the wrapper runs.
            let begins = script
                .commands
                .iter()
                .filter(|inner| inner.inside == Some(at))
                .filter_map(|inner| inner.from);
            for begin in begins {
                if let Some(element) = literal.get(begin).copied().flatten() {
                    found.push((pattern, element));
                }
            }
        }
        if !covered && !cover.needs_none(at) && !cover.only_reads(at) {
            return Err(Some(at));
        }
        meant &= moved;
        inner.push((found, whole));
    }
    Ok(())
}

/// Whether a text has these words, whatever the case.
pub(super) fn has(text: &str, words: &str) -> bool {
    text.to_lowercase().contains(&words.to_lowercase())
}

/// Whether a pattern writes the folder that its command goes to; `cd *` does not, not even of `cd` alone.
fn is_meant(part: &Part, literal: &[Option<usize>]) -> bool {
    let alone = literal.len() < 2 && part.rest;
    !alone && literal.iter().all(Option::is_some)
}

struct Cover<'r> {
    read: &'r Read,
    allowed: &'r Allowed<'r>,
    place: &'r WorkingFolder,
}

impl Cover<'_> {
    /// Whether a pattern writes what it has to of this command.
    fn is_written(&self, at: usize, pattern: &CommandPattern) -> bool {
        let has = |words: &String| has(pattern.as_str(), words);
        let mut written = self.allowed.written.iter();
        self.allowed.written.is_empty()
            || (written.clone().any(has)
                && written.all(|words| has(words) || !self.says(at, words)))
    }

    /// Whether these words are in a command.
    fn says(&self, at: usize, words: &str) -> bool {
        let command = &self.read.script.commands[at];
        let own = command.words.iter().map(|word| word.text.as_str());
        let targets = command
            .redirections
            .iter()
            .map(|of| of.target.text.as_str());
        let set = command.assignments.iter();
        let set = set.flat_map(|of| [of.name.as_str(), of.value.text.as_str()]);
        let all: Vec<&str> = own.chain(targets).chain(set).collect();
        has(&all.join(" "), words)
    }

    /// Whether a command beside those of which something has to be written only reads what is known.
    fn only_reads(&self, at: usize) -> bool {
        let command = &self.read.script.commands[at];
        let known =
            command.words.iter().all(|word| !word.dynamic) && command.assignments.is_empty();
        let mut written = self.allowed.written.iter();
        !self.allowed.written.is_empty()
            && known
            && !command.redirections.iter().any(|of| of.kind.writes())
            && !written.any(|words| self.says(at, words))
            && is_reader(&self.read.script, at)
    }

    /// The text is these commands, one after the other.
    fn sequence(&self, pattern: &CommandPattern) -> bool {
        let commands = &self.read.script.commands;
        let mut meant = true;
        let same = |(at, part): (usize, &Part)| {
            let command = &commands[at];
            let Some(literal) = self.one(at, part, 0) else {
                return false;
            };
            let own = command.inside.is_none() && command.before == part.before;
            let fits = own && (meant || !self.is_away(at));
            meant &= !moves(command) || is_meant(part, &literal);
            fits && self.is_written(at, pattern)
        };
        commands.len() == pattern.parts.len() && pattern.parts.iter().enumerate().all(same)
    }

    /// Whether a command runs in a folder that is not the agent's, and does more than read.
    fn is_away(&self, at: usize) -> bool {
        let folder = &self.read.folders[at];
        let inside = || {
            folder
                .at(".")
                .is_some_and(|path| lies(&path, self.place) == Lies::Inside)
        };
        *folder != Folder::Same && !inside() && !is_reader(&self.read.script, at)
    }

    /// Commands that run nothing themselves: redirections alone, and wrappers that are named.
    fn needs_none(&self, at: usize) -> bool {
        let command = &self.read.script.commands[at];
        let meant = self.read.unmeant(at, self.place).is_empty();
        if !meant || !command.assignments.is_empty() || !self.redirections(at, None) {
            return false;
        }
        command.words.is_empty() || needs_no_pattern(&self.read.script, at)
    }

    /// Whether this command matches a pattern from its word `from` on: for each of its words the place of the
    /// literal one that it matched.
    fn one(&self, at: usize, part: &Part, from: usize) -> Option<Vec<Option<usize>>> {
        let command = &self.read.script.commands[at];
        if command.words.is_empty() && part.words.is_empty() {
            let given = self.assigned(command, part) && !command.assignments.is_empty();
            return (given && self.redirections(at, Some(part))).then(Vec::new);
        }
        let word = command.words.first()?;
        let first = word.literal()?;
        // A quoted `~` is a folder of that name.
        let tilde = first.starts_with('~') == word.tilde;
        let named = match part.words.get(from)? {
            Element::Literal(name) if self.read.shell == Shell::PowerShell => {
                name.eq_ignore_ascii_case(first)
            }
            Element::Literal(name) => name == first,
            _ => false,
        };
        if !tilde || !named {
            return None;
        }
        let moved = self.read.folders[at] != Folder::Same;
        if first.contains('/') && !first.starts_with(['/', '~']) && moved {
            return None;
        }
        let prefix = if from == 0 {
            self.assigned(command, part)
        } else {
            command.assignments.is_empty()
        };
        let mut literal = aligned(part, from + 1, &command.words[1..])?;
        literal.insert(0, Some(from));
        let fits = prefix && self.redirections(at, Some(part)) && !self.acts(at, &literal);
        fits.then_some(literal)
    }

    /// The variables of a command are those of the pattern, with their values.
    fn assigned(&self, command: &Command, part: &Part) -> bool {
        let is = |name: &str, value: &str, of: &countersign_shell::Assignment| {
            of.name == name
                && !of.append
                && (value == "*" || of.value.literal().is_some_and(|known| glob(value, known)))
        };
        let named = command.assignments.iter().all(|of| {
            part.assignments
                .iter()
                .any(|(name, value)| is(name, value, of))
        });
        let present = part
            .assignments
            .iter()
            .all(|(name, value)| command.assignments.iter().any(|of| is(name, value, of)));
        named && present
    }

    fn redirections(&self, at: usize, part: Option<&Part>) -> bool {
        let command = &self.read.script.commands[at];
        command.redirections.iter().all(|of| {
            if of.kind == countersign_shell::Kind::Here {
                return true;
            }
            if part.is_some_and(|part| part.redirections.contains(of)) {
                return true;
            }
            let network = ["/dev/tcp", "/dev/udp"];
            let may_be = |dir: &str| {
                of.target.text.starts_with(dir)
                    || (of.target.dynamic && dir.starts_with(&of.target.text))
            };
            if of.kind != countersign_shell::Kind::Duplicate
                && network.iter().any(|dir| may_be(dir))
            {
                return false;
            }
            !of.kind.writes() || self.may_write(at, &of.target)
        })
    }

    fn may_write(&self, at: usize, target: &Word) -> bool {
        let Some(path) = target.literal() else {
            return false;
        };
        if path == "/dev/null" {
            return true;
        }
        let known = self.at(at, path, target.tilde);
        known.is_some_and(|path| {
            self.allowed
                .writes
                .iter()
                .any(|pattern| pattern.approves(&path, self.place))
        })
    }

    /// A path from the folder of a command; none where that is not known.
    fn at(&self, at: usize, path: &str, tilde: bool) -> Option<String> {
        // A quoted `~` is a name.
        let quoted = path.starts_with('~') && !tilde;
        let path = if quoted {
            format!("./{path}")
        } else {
            path.to_owned()
        };
        self.read.folders[at].at(&path)
    }

    /// Whether a word that the pattern does not write makes this command run or write something.
    fn acts(&self, at: usize, literal: &[Option<usize>]) -> bool {
        let command = &self.read.script.commands[at];
        let words = &command.words;
        let Some(name) = command.name() else {
            return true;
        };
        let name = name.as_str();
        let written = |place: usize| literal.get(place).is_some_and(Option::is_some);
        let subcommand = subcommands(name, words).0;
        let values = acts::values(name, words);
        // Where the options end, unless that sign is itself a value.
        let ended = (1..words.len()).find(|at| words[*at].text == "--" && !values[*at]);
        let safe = |place: usize| {
            (words[place].one && values[place]) || ended.is_some_and(|ended| place > ended)
        };
        let may = acts::may_act(name) || ASSIGN.contains(&name);
        for (place, word) in words.iter().enumerate().skip(1) {
            if word.dynamic {
                if may && word.could_be_option() && !safe(place) {
                    return true;
                }
                continue;
            }
            // Neither is the option of an option that takes a text.
            if values[place] && !written(place) {
                continue;
            }
            let value =
                word.text.contains('=') || words.get(place + 1).is_none() || written(place + 1);
            let first = subcommand.first().copied();
            if acts::acts(name, words, place, first) && !(written(place) && value) {
                return true;
            }
        }
        let unmeant = self.read.unmeant(at, self.place);
        if unmeant
            .iter()
            .any(|places| !places.iter().all(|place| written(*place)))
        {
            return true;
        }
        match name {
            "rm" | "rmdir" | "unlink" | "remove-item" => self.removes_much(at, literal),
            "sed" => self.sed_acts(at, literal),
            "printf" if words.get(1).is_some_and(Word::could_be_option) => {
                !words.iter().enumerate().all(|(place, _)| written(place))
            }
            "read" => words
                .iter()
                .skip(1)
                .enumerate()
                .any(|(place, word)| !written(place + 1) && !lower_name(word)),
            _ if ASSIGN.contains(&name) => words
                .iter()
                .enumerate()
                .skip(1)
                .any(|(place, _)| !written(place)),
            "tee" => words.iter().enumerate().skip(1).any(|(place, word)| {
                let option = word.text.starts_with('-') && ended.is_none_or(|ended| place <= ended);
                !written(place) && !option && !self.may_write(at, word)
            }),
            "env" => words
                .iter()
                .enumerate()
                .skip(1)
                .any(|(place, word)| word.text.contains('=') && !written(place)),
            _ => false,
        }
    }

    fn sed_acts(&self, at: usize, literal: &[Option<usize>]) -> bool {
        let words = &self.read.script.commands[at].words;
        let (scripts, sure) = acts::sed_scripts(words);
        let quiet = |place: &usize| {
            literal.get(*place).is_some_and(Option::is_some)
                || words
                    .get(*place)
                    .and_then(Word::literal)
                    .is_some_and(acts::is_quiet_sed)
        };
        !sure || !scripts.iter().all(quiet)
    }

    /// Whether `rm` reaches what no prefix lets it: the root, a home, a folder around the agent's own.
    fn removes_much(&self, at: usize, literal: &[Option<usize>]) -> bool {
        let command = &self.read.script.commands[at];
        let mut options = true;
        command
            .words
            .iter()
            .enumerate()
            .skip(1)
            .any(|(place, word)| {
                if options && word.text == "--" {
                    options = false;
                    return false;
                }
                let given = parameter(&word.text).filter(|_| options);
                if (options && word.text.starts_with('-') && given.is_none())
                    || literal.get(place).is_some_and(Option::is_some)
                {
                    return false;
                }
                let path = word
                    .literal()
                    .and_then(|path| self.at(at, given.unwrap_or(path), word.tilde));
                path.is_none_or(|path| self.is_much(&path, word.tilde))
            })
    }

    fn is_much(&self, path: &str, tilde: bool) -> bool {
        let path = path.replace('\\', "/");
        let drive = path.as_bytes().get(1) == Some(&b':');
        let path = path.get(2..).filter(|_| drive).unwrap_or(&path);
        let mut parts: Vec<&str> = Vec::new();
        let mut above = 0_usize;
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => above += usize::from(parts.pop().is_none()),
                part => parts.push(part),
            }
        }
        let root = path.starts_with('/') || drive;
        if tilde || path.starts_with('~') {
            return parts.len() < 2 || above > 0;
        }
        if !root {
            // Its own folder, or one above it.
            return parts.is_empty() || above > 0;
        }
        let whole = format!("/{}", parts.join("/"));
        let around = |folder: &Option<String>| {
            folder
                .as_deref()
                .is_some_and(|folder| format!("{folder}/").starts_with(&format!("{whole}/")))
        };
        let home = matches!(parts.as_slice(), ["home" | "Users", _] | ["var", "root"]);
        parts.len() < 2 || home || around(&self.place.cwd) || around(&self.place.home)
    }
}

/// The value of a parameter of PowerShell in the same word.
fn parameter(word: &str) -> Option<&str> {
    let (_, value) = word.split_once(':').filter(|_| word.starts_with('-'))?;
    Some(value)
}

/// A variable that is of the script, not of the environment.
fn lower_name(word: &Word) -> bool {
    word.literal()
        .is_some_and(|name| name.starts_with('-') || name.chars().any(|c| c.is_ascii_lowercase()))
}

/// For each word the place of the literal that it matched, of the pattern's words from `from` on; none where the words
/// are not a match.
fn aligned(part: &Part, from: usize, words: &[Word]) -> Option<Vec<Option<usize>>> {
    let Some(first) = part.words.get(from) else {
        return (part.rest || words.is_empty()).then(|| vec![None; words.len()]);
    };
    let (word, behind) = words.split_first()?;
    let before = |own, from| {
        let mut found = aligned(part, from, behind)?;
        found.insert(0, own);
        Some(found)
    };
    if *first == Element::Some {
        let any = || before(None, from + 1).or_else(|| before(None, from));
        return (!word.dynamic).then(any).flatten();
    }
    let known = word.literal()?;
    // A `*` within a word leads to no other folder.
    let climbs = matches!(first, Element::Glob(text) if !text.contains(".."))
        && known.split('/').any(|part| part == "..");
    let own = matches!(first, Element::Literal(_)).then_some(from);
    (!climbs && first.is(known))
        .then(|| before(own, from + 1))
        .flatten()
}
