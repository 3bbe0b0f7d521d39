//! What a deny or an ask matches: any command, however it is written.

use std::collections::BTreeSet;

use countersign_shell::folders::Folder;
use countersign_shell::options::{GLOBALS, subcommands};
use countersign_shell::{Command, How, Shell, Word, acts, base_name, plain_name, same_program};

use super::launch::launches;
use super::paths::PathPattern;
use super::pattern::{CommandPattern, Element, Part, known_as};
use super::reading::{Read, WorkingFolder};
use crate::unsure::Unsure;

/// Short options and the long ones that are equal to them.
const LONG: &[(&str, &str)] = &[
    (
        "rm",
        "r=recursive R=recursive f=force i=interactive v=verbose d=dir",
    ),
    (
        "cp",
        "r=recursive R=recursive a=archive f=force i=interactive n=no-clobber u=update v=verbose p=preserve t=target-directory l=link s=symbolic-link",
    ),
    (
        "mv",
        "f=force i=interactive n=no-clobber u=update v=verbose t=target-directory",
    ),
    ("chmod", "R=recursive v=verbose f=silent c=changes"),
    (
        "chown",
        "R=recursive v=verbose f=silent c=changes h=no-dereference",
    ),
    (
        "git",
        "f=force d=delete D=delete m=message a=all A=all n=dry-run u=set-upstream q=quiet v=verbose i=interactive p=patch b=branch",
    ),
];
/// Programs that only read files: a word of theirs that is expanded may be any file.
const READERS: &str = "cat head tail less more grep egrep fgrep rg sed awk cp mv ln dd tee tar zip base64 xxd od strings nl sort uniq cut wc diff cmp jq source . open code vi vim nano rm touch chmod chown scp rsync curl bat tac paste join install";

/// Whether a text runs something of this pattern. An error: it may.
pub(super) fn holds(read: &Read, pattern: &CommandPattern) -> Result<bool, Unsure> {
    let script = &read.script;
    let unsure = match (script.unreadable, read.unknown_name) {
        (Some(_), _) => Err(Unsure::Unreadable),
        (None, true) => Err(Unsure::UnknownCommand),
        (None, false) => Ok(false),
    };
    let unsure = match unsure {
        Ok(false) if launches(read.launched(), pattern) => Err(Unsure::Launched),
        unsure => unsure,
    };
    let found: Result<bool, Unsure> = match pattern.parts.as_slice() {
        // Far from every name that is run.
        [_] if pattern
            .program()
            .is_some_and(|name| !read.unknown_name && !read.names.contains(name)) =>
        {
            Ok(false)
        }
        [part] => Ok(script
            .commands
            .iter()
            .any(|command| runs(command, part, pattern.shell))),
        parts => match sequence(&script.commands, parts, pattern.shell) {
            Ok(_) => return unsure,
            Err(why) => return Err(why),
        },
    };
    match found {
        Ok(true) => Ok(true),
        _ => unsure,
    }
}

/// Parts of a sequence in one script and in that order ask.
fn sequence(commands: &[Command], parts: &[Part], shell: Shell) -> Result<bool, Unsure> {
    let mut left = parts;
    for command in commands {
        if let Some((part, rest)) = left.split_first()
            && runs(command, part, shell)
        {
            left = rest;
        }
    }
    match left.is_empty() {
        true => Err(Unsure::Sequence),
        false => Ok(false),
    }
}

/// Whether this command may be one of the pattern.
pub(super) fn runs(command: &Command, part: &Part, shell: Shell) -> bool {
    let (Some(first), Some(name)) = (command.words.first(), part.words.first()) else {
        return false;
    };
    let any = matches!(name, Element::Some)
        || matches!(name, Element::Glob(text) if text.starts_with('*'));
    if any && part.words.len() == 1 {
        return command
            .words
            .iter()
            .any(|word| word.could(|known| name.is(known), |_| false));
    }
    // A name of which nothing is known is asked about; it is not a match of every rule.
    if first.dynamic && first.gives.is_empty() && first.text.is_empty() {
        return false;
    }
    let named = |known: &str| match name {
        Element::Literal(text) => {
            let is = |known: &str| known_as(shell, text).eq_ignore_ascii_case(known);
            is(known_as(shell, known))
                || same_program(&plain_name(known).to_lowercase()).is_some_and(is)
        }
        other => other.is(known) || other.is(plain_name(known)),
    };
    let may = |known: &str| match name {
        Element::Literal(text) => begins(plain_name(text), base_name(known)),
        _ => true,
    };
    first.could(named, may) && said(command, part, name, shell)
}

/// The words behind the program, whatever their order.
fn said(command: &Command, part: &Part, name: &Element, shell: Shell) -> bool {
    let own = command.name().unwrap_or_default();
    let program = match name {
        Element::Literal(text) => plain_name(text),
        _ => own.as_str(),
    };
    // Parameters of PowerShell are one word each, whatever the case.
    let program = if shell == Shell::PowerShell {
        ""
    } else {
        program
    };
    let wanted = SortedWords::of_pattern(program, &part.words[1..]);
    let given = SortedWords::of_command(program, &command.words);
    // The first operand is a subcommand: it is where subcommands are.
    let leads = matches!(part.words.get(1), Some(Element::Literal(text) | Element::Glob(text)) if !text.starts_with('-'));
    if let Some(first) = wanted.operands.first()
        && leads
        && command.how != How::Text
    {
        let (places, unsure) = subcommands(program, &command.words);
        let at = |place: &usize| {
            command.words[*place].could(|known| first.is(known), |known| may_be(first, known))
        };
        if !unsure && !places.iter().any(at) {
            return false;
        }
    }
    let more = part.rest || part.words.contains(&Element::Some);
    given.holds(&wanted)
        && (more || wanted.is_all_of(&given) || behind_globals(program, command, &wanted))
}

/// Whether these are all words but the global options before the subcommand.
fn behind_globals(program: &str, command: &Command, wanted: &SortedWords) -> bool {
    let words = &command.words;
    let has = GLOBALS.iter().any(|(name, ..)| *name == program);
    let places = has.then(|| subcommands(program, words).0);
    places.unwrap_or_default().into_iter().any(|at| {
        let rest = [&words[..1], &words[at..]].concat();
        wanted.is_all_of(&SortedWords::of_command(program, &rest))
    })
}

/// Whether a long option, whole or cut, is one that a glob such as `--force*` begins.
fn begins_option(operand: &Element, long: &str) -> bool {
    let Element::Glob(text) = operand else {
        return false;
    };
    let begin = text
        .split('*')
        .next()
        .and_then(|begin| begin.strip_prefix("--"));
    let cut = begin.is_some_and(|begin| !long.is_empty() && begin.starts_with(long));
    cut || operand.is(&format!("--{long}"))
}

/// Whether a name begins with this, whatever the case.
fn begins(name: &str, with: &str) -> bool {
    name.get(..with.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(with))
}

fn may_be(element: &Element, known: &str) -> bool {
    match element {
        Element::Literal(text) => text.starts_with(known),
        _ => true,
    }
}

/// Words sorted into what they are.
#[derive(Default)]
pub(super) struct SortedWords {
    letters: BTreeSet<String>,
    long: Vec<String>,
    operands: Vec<Element>,
    /// Options as they are written, and what may be glued to a short one.
    glued: Vec<String>,
    /// A cluster of which only the beginning is known.
    any_letter: bool,
    /// `--` is there.
    ended: bool,
    /// Beginnings of words that are expanded; those that come to one word, and those that may come to many.
    one: Vec<Word>,
    many: Vec<Word>,
}

impl SortedWords {
    pub(super) fn of_pattern(program: &str, words: &[Element]) -> Self {
        let mut said = Self::default();
        for word in words {
            match word {
                Element::Literal(text) => said.add(program, text),
                Element::Glob(_) => said.operands.push(word.clone()),
                Element::Some => {}
            }
        }
        said
    }

    pub(super) fn of_command(program: &str, words: &[Word]) -> Self {
        let mut said = Self::default();
        let values = acts::values(program, words);
        for (word, valued) in words.iter().zip(values).skip(1) {
            match (word.dynamic, word.gives.is_empty()) {
                _ if valued => {}
                // The letters that are known, and any others.
                (true, true) if word.text.starts_with('-') && !word.text.starts_with("--") => {
                    said.add(program, &word.text);
                    said.any_letter = true;
                }
                (false, _) => said.add(program, &word.text),
                (true, false) => word.gives.iter().for_each(|word| said.add(program, word)),
                (true, true) if word.one => said.one.push(word.clone()),
                (true, true) => said.many.push(word.clone()),
            }
        }
        said
    }

    fn add(&mut self, program: &str, text: &str) {
        if program.is_empty() && text.len() > 1 && text.starts_with('-') {
            let text = text.trim_start_matches('-').to_lowercase();
            let (name, value) = text.split_once(':').unwrap_or((&text, ""));
            self.long.push(name.to_owned());
            let value = Some(value).filter(|value| !value.is_empty());
            self.operands
                .extend(value.map(|value| Element::Literal(value.to_owned())));
        } else if text == "--" {
            self.ended = true;
        } else if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long
                .split_once('=')
                .map_or((long, None), |(name, value)| (name, Some(value)));
            self.long.push(name.to_owned());
            self.glued.push(text.to_owned());
            self.operands
                .extend(value.map(|value| Element::Literal(value.to_owned())));
            let short = table(program).filter(|(_, known)| *known == name);
            self.letters
                .extend(short.map(|(letter, _)| letter.to_owned()));
        } else if let Some(cluster) = text.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            let (cluster, value) = cluster
                .split_once('=')
                .map_or((cluster, None), |(name, value)| (name, Some(value)));
            self.glued.push(text.to_owned());
            self.operands
                .extend(value.map(|value| Element::Literal(value.to_owned())));
            for (at, letter) in cluster.char_indices() {
                let letter = letter.to_string();
                let long = table(program).filter(|(short, _)| *short == letter);
                self.long.extend(long.map(|(_, long)| long.to_owned()));
                self.letters.insert(letter);
                // Options before a value; a longer cluster is none.
                if (1..8).contains(&at) {
                    self.glued.push(cluster[at..].to_owned());
                }
            }
        } else {
            self.operands.push(Element::Literal(text.to_owned()));
        }
    }

    /// A cut option is its whole one.
    fn has_long(&self, long: &str) -> bool {
        let is = |own: &String| !own.is_empty() && long.starts_with(own.as_str());
        self.long.iter().any(is)
    }

    /// Whether these words hold all of a pattern's.
    pub(super) fn holds(&self, wanted: &Self) -> bool {
        let mut missing = Vec::new();
        for long in &wanted.long {
            let may = self.any_letter && !wanted.letters.is_empty();
            let has = may || self.has_long(long);
            if !has {
                missing.push(format!("--{long}"));
            }
        }
        for letter in &wanted.letters {
            let implied = wanted.long.iter().any(|long| self.has_long(long));
            let whole = wanted.glued.iter().any(|word| self.glued.contains(word));
            if !self.letters.contains(letter) && !implied && !whole && !self.any_letter {
                missing.push(format!("-{letter}"));
            }
        }
        if wanted.ended && !self.ended {
            missing.push("--".to_owned());
        }
        for operand in &wanted.operands {
            let own = self
                .operands
                .iter()
                .any(|own| matches!(own, Element::Literal(text) if operand.is(text)));
            let glued = self.glued.iter().any(|text| operand.is(text));
            let long = self.long.iter().any(|long| begins_option(operand, long));
            if !own && !glued && !long {
                missing.push(match operand {
                    Element::Literal(text) | Element::Glob(text) => text.clone(),
                    Element::Some => String::new(),
                });
            }
        }
        let fits = |word: &Word, text: &str| text.starts_with(&word.text) || text.contains('*');
        let many = |text: &String| {
            self.many
                .iter()
                .any(|word| word.text.is_empty() || fits(word, text))
        };
        let left: Vec<&String> = missing.iter().filter(|text| !many(text)).collect();
        // Each that comes to one word is one of them.
        left.len() <= self.one.len()
            && left
                .iter()
                .all(|text| self.one.iter().any(|word| fits(word, text)))
    }

    /// Whether nothing is said beside it, by what is known.
    fn is_all_of(&self, given: &Self) -> bool {
        let known = |text: &String| self.operands.iter().any(|own| own.is(text));
        let letters = given.letters.iter().all(|letter| {
            self.letters.contains(letter) || self.long.iter().any(|long| given.long.contains(long))
        });
        let long = given.long.iter().all(|long| {
            self.long.iter().any(|own| own.starts_with(long.as_str()))
                || !self.letters.is_empty()
                || known(&format!("--{long}"))
        });
        let operands = given
            .operands
            .iter()
            .all(|own| matches!(own, Element::Literal(text) if known(text)));
        letters && long && operands
    }
}

fn table(program: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let row = LONG.iter().find(|(name, _)| *name == program);
    let pairs = row.map_or("", |(_, pairs)| *pairs);
    pairs
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='))
}

/// Whether a text names a path of this pattern: in any word, or as what is read or written.
pub(super) fn names(
    read: &Read,
    pattern: &PathPattern,
    place: &WorkingFolder,
) -> Result<bool, Unsure> {
    let mut unsure = None;
    if read.script.unreadable.is_some() {
        unsure = Some(Unsure::Unreadable);
    }
    for (at, command) in read.script.commands.iter().enumerate() {
        let reads = command
            .name()
            .is_none_or(|name| READERS.split(' ').any(|known| known == name.as_str()));
        let targets = command
            .redirections
            .iter()
            .filter(|of| of.kind != countersign_shell::Kind::Here);
        let words = command
            .words
            .iter()
            .map(|word| (word, reads))
            .chain(targets.map(|of| (&of.target, true)));
        for (word, reads) in words {
            match look(word, &read.folders[at], pattern, place) {
                Ok(true) => return Ok(true),
                Ok(false) if word.dynamic && word.gives.is_empty() && reads => {
                    unsure = Some(Unsure::UnknownPath)
                }
                Ok(false) => {}
                Err(why) => unsure = Some(why),
            }
        }
    }
    unsure.map_or(Ok(false), Err)
}

fn look(
    word: &Word,
    folder: &Folder,
    pattern: &PathPattern,
    place: &WorkingFolder,
) -> Result<bool, Unsure> {
    let mut unsure = None;
    let known = [word.text.as_str()];
    let texts: Vec<&str> = match word.gives.is_empty() {
        true if word.dynamic => return Ok(false),
        true => known.to_vec(),
        false => word.gives.iter().map(String::as_str).collect(),
    };
    for text in texts {
        // `--file=x`, `of=x`, `@x`, `HEAD:x`, `-fx`: the path may be behind a sign.
        let parts = text.split(['=', ':', '@', ',']);
        let glued = text.get(2..).filter(|_| text.starts_with('-'));
        for text in std::iter::once(text)
            .chain(parts)
            .chain(glued)
            .filter(|text| !text.is_empty())
        {
            let moved = match folder {
                Folder::To(folder) if !text.starts_with(['/', '~']) => {
                    Some(format!("{folder}/{text}"))
                }
                _ => None,
            };
            for path in std::iter::once(text.to_owned()).chain(moved) {
                match pattern.holds(&path, place) {
                    Ok(true) => return Ok(true),
                    Ok(false) => {}
                    Err(why) => unsure = Some(why),
                }
            }
        }
    }
    unsure.map_or(Ok(false), Err)
}
