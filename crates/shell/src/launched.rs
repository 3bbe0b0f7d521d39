//! What programs that are not known to be harmless may run of what they are given: words and texts.

use std::collections::HashSet;

use crate::DEPTH_MAX;
use crate::options::{GLOBALS, has};
use crate::plain::{is_named, is_plain, wraps};
use crate::script::{Before, Command, How, Kind, Script, Word, base_name, filled, same_program};

/// Variables by which a name is another program.
const LOADS: [&str; 2] = ["LD_", "DYLD_"];
/// Programs that give variables the value of an operand.
const ASSIGN: &str =
    "export declare typeset readonly local env read printf mapfile readarray getopts";
/// What stands before a command in a text of another language.
const CALLS: &str = "exec shell spawn system";
/// Letters of one option behind which a value may begin.
const CLUSTER_MAX: usize = 7;

/// What of a script may be run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Launched {
    /// Commands by a name such as `git-push`.
    pub renamed: Vec<Command>,
    /// The words of each command that may be a launcher, and of each whether it counts: it is no name and no
    /// option's value.
    pub words: Vec<Vec<(Word, bool)>>,
    /// Texts, cut.
    pub texts: Vec<Vec<Piece>>,
    /// Every literal word and piece in small letters.
    pub names: HashSet<String>,
    /// A word is not known.
    pub dynamic: bool,
}

/// A piece of a text, without the path before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The piece.
    pub text: String,
    /// It is where a command begins.
    pub begins: bool,
}

/// Reads a script once for all patterns.
#[must_use]
pub fn launched(script: &Script) -> Launched {
    let mut found = Launched::default();
    let commands = &script.commands;
    let every = 0..commands.len();
    let other = commands.iter().any(loads);
    let plain = every.clone().map(|at| !other && is_plain(script, at));
    let plain: Vec<bool> = plain.collect();
    let outer: Vec<bool> = every.map(|at| wraps(script, at)).collect();
    let fed = fed(commands, &plain);
    for (at, command) in commands.iter().enumerate() {
        let (words, name) = (&command.words, command.program());
        let name = name.unwrap_or_default();
        let base = base_name(name);
        let forms = words.iter().skip(1).flat_map(|word| script.forms(word));
        let forms: Vec<String> = forms.collect();
        for of in &command.assignments {
            found.add_texts(
                script
                    .forms(&of.value)
                    .iter()
                    .filter(|text| has_blank(text)),
            );
        }
        if has(ASSIGN, base) {
            found.add_texts(
                forms
                    .iter()
                    .filter(|text| text.contains('=') && has_blank(text)),
            );
        }
        if fed[at] {
            found.add_texts([&forms.join(" ")]);
        }
        let unknown = |at: usize| !plain[at] && !outer[at];
        let mut group = (0..at)
            .rev()
            .take_while(|of| commands[*of].depth > command.depth);
        let mut behind = at + 1..commands.len();
        let reads = match (words.is_empty(), plain[at], outer[at]) {
            (true, ..) => group.any(unknown),
            (_, true, _) => false,
            (_, _, wraps) => !wraps || behind.any(|of| unknown(of) && is_within(commands, of, at)),
        };
        let here = command
            .redirections
            .iter()
            .filter(|of| of.kind == Kind::Here);
        for of in here.filter(|of| (reads || fed[at]) && !command.texts.contains(&of.target.text)) {
            found.add_texts(&script.forms(&of.target));
        }
        if plain[at] || words.is_empty() {
            continue;
        }
        let own = |text: &&String| !outer[at] || !is_read(command, text);
        let sign = |c: char| !outer[at] && "'\"`\\()[]{}<>,".contains(c);
        let texts = forms
            .iter()
            .filter(|text| has_blank(text) || text.contains(sign))
            .filter(own);
        for text in texts {
            found.add_texts(&parts(base, text));
        }
        if outer[at] {
            continue;
        }
        let sub = base.strip_prefix("git-").map(Word::literal_of);
        if let Some(sub) = sub.filter(|_| other || name.contains('/')) {
            let words = [&[Word::literal_of("git"), sub], &words[1..]].concat();
            found.add_names(words[..2].iter().map(|word| &word.text));
            let command = command.clone();
            found.renamed.push(Command { words, ..command });
        }
        found.add_words(base, words);
    }
    found
}

/// A text, behind each letter of its option too, and of `sed` with the signs of `s` as blanks.
fn parts(program: &str, text: &str) -> Vec<String> {
    let mut found = vec![text.to_owned()];
    if let Some(letters) = text.strip_prefix('-').filter(|of| !of.starts_with('-')) {
        let cluster = letters.find(|c: char| !c.is_ascii_alphanumeric());
        let behind = 1..=cluster.unwrap_or(letters.len()).min(CLUSTER_MAX);
        found.extend(behind.map(|at| letters[at..].to_owned()));
    }
    let signs = ['/', '.', '_', '-'].into_iter();
    let signs = signs.filter(|sign| program == "sed" && text.contains(&format!("s{sign}")));
    found.extend(signs.map(|sign| text.replace(sign, " ")));
    found
}

/// Whether a command is inside of another one, however deep.
fn is_within(commands: &[Command], at: usize, outer: usize) -> bool {
    let inside = commands[at].inside;
    inside.is_some_and(|of| of == outer || is_within(commands, of, outer))
}

/// Whether a text was read as commands of their own.
pub(crate) fn is_read(command: &Command, text: &str) -> bool {
    let read = |own: &String| own.contains(text) || text.ends_with(own.as_str());
    !text.is_empty() && command.texts.iter().any(read)
}

fn has_blank(text: &str) -> bool {
    text.contains(char::is_whitespace)
}

impl Launched {
    fn add_words(&mut self, name: &str, words: &[Word]) {
        let row = GLOBALS.iter().find(|(program, ..)| *program == name);
        let values = row.map_or("", |(_, values, _)| values);
        let counts = |at: usize| {
            let value = at > 1 && has(values, &words[at - 1].text);
            !value && !is_named(name, words, at)
        };
        let (mut whole, mut row) = (Vec::new(), Vec::new());
        for (at, word) in words.iter().enumerate() {
            let gives = word.gives.iter().map(|text| Word::literal_of(text));
            let before = row.len();
            row.extend(gives.map(|word| (word, counts(at))));
            if row.len() == before {
                row.push((word.clone(), counts(at)));
            }
            whole.push((word.clone(), counts(at)));
            self.dynamic |= word.dynamic;
        }
        self.add_names(whole.iter().chain(&row).map(|(word, _)| &word.text));
        if row.len() > whole.len() {
            self.words.push(row);
        }
        self.words.push(whole);
    }

    fn add_names<'t>(&mut self, texts: impl IntoIterator<Item = &'t String>) {
        for piece in texts.into_iter().flat_map(|text| cut(text)) {
            let name = piece.text.to_lowercase();
            self.names.extend(same_program(&name).map(str::to_owned));
            self.names.insert(name);
        }
    }

    /// Texts as they are written, and without quotes and backslashes.
    fn add_texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t String>) {
        for text in texts {
            let known = filled(text, ' ');
            let bare = known.replace(['\'', '"', '\\'], "");
            self.add_names([&known, &bare]);
            self.texts.extend([cut(&known), cut(&bare)]);
        }
    }
}

/// A text, cut at all but letters, digits and `._-/`.
#[must_use]
pub fn cut(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut begins = true;
    let own = |c: char| c.is_alphanumeric() || "._-/".contains(c);
    let mut rest = text;
    while let Some(at) = rest.find(own) {
        let before = rest[..at].trim_matches([' ', '\t']);
        begins |= before.ends_with(|c| ";&|\n\r'\"`()[]{}<>!=".contains(c));
        let behind = &rest[at..];
        let (word, behind) = behind.split_at(behind.find(|c| !own(c)).unwrap_or(behind.len()));
        let name = Some(base_name(word)).filter(|name| !name.is_empty());
        let text = name.unwrap_or(word).to_owned();
        let calls = has(CALLS, &text.to_lowercase());
        pieces.push(Piece { text, begins });
        begins = calls;
        rest = behind;
    }
    pieces
}

/// Whether a command makes names mean other programs.
fn loads(command: &Command) -> bool {
    let begins = |name: &str| LOADS.iter().any(|begin| name.starts_with(begin));
    let is = |name: &str| matches!(name, "PATH" | "BASH_ENV") || begins(name);
    let gives = has(ASSIGN, &command.name().unwrap_or_default());
    let word = |word: &Word| is(word.text.split('=').next().unwrap_or_default());
    command.assignments.iter().any(|of| is(&of.name))
        || (gives && command.words[1..].iter().any(word))
}

/// For each command whether its output goes to one that is not known to be harmless.
fn fed(commands: &[Command], plain: &[bool]) -> Vec<bool> {
    let mut fed = vec![false; commands.len()];
    // A pipe in a substitution in a pipe: each turn goes one deeper.
    for _ in 0..DEPTH_MAX {
        let before = fed.clone();
        for at in (0..commands.len()).rev() {
            let command = &commands[at];
            fed[at] |= command.how == How::Substituted && is_taken(commands, plain, &fed, at);
            let depth = command.pipe.unwrap_or(command.depth);
            if command.before != Before::Pipe || !is_eaten(commands, plain, &fed, at) {
                continue;
            }
            // A group has its commands deeper.
            for before in (0..at).rev() {
                fed[before] |= commands[before].depth >= depth;
                if commands[before].depth <= depth {
                    break;
                }
            }
        }
        if fed == before {
            break;
        }
    }
    fed
}

/// Whether what a pipe gives this command goes to one that is not known to be harmless; of a group all of it reads.
fn is_eaten(commands: &[Command], plain: &[bool], fed: &[bool], at: usize) -> bool {
    let first = &commands[at];
    let behind = (at + 1..commands.len())
        .take_while(|of| first.pipe.is_some_and(|pipe| commands[*of].depth > pipe));
    let group =
        behind.filter(|of| commands[*of].inside == first.inside && !commands[*of].words.is_empty());
    std::iter::once(at)
        .chain(group)
        .any(|of| !plain[of] || fed[of])
}

/// Whether the output of a substitution is a word of such a command, or of what that one wraps.
fn is_taken(commands: &[Command], plain: &[bool], fed: &[bool], at: usize) -> bool {
    let Some(outer) = commands[at]
        .inside
        .filter(|of| !commands[*of].words.is_empty())
    else {
        return false;
    };
    let inner = |of: &usize| {
        let how = matches!(commands[*of].how, How::Wrapped | How::Text);
        how && commands[*of].inside == Some(outer)
    };
    let mut inner = (outer + 1..commands.len()).filter(inner).peekable();
    match inner.peek() {
        Some(_) => inner.any(|of| !plain[of] || fed[of]),
        None => !plain[outer] || fed[outer],
    }
}
