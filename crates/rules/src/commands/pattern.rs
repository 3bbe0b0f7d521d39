//! Patterns of commands.

use countersign_shell::launched::cut;
use countersign_shell::{Before, Command, Redirection, Shell, Word, on_windows, plain_name, read};
use countersign_wire::is_hostile;

/// What represents `*` while a pattern is read as a command: a letter that nobody writes.
const STAR: char = '\u{a66e}';

/// One word of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Element {
    Literal(String),
    /// Has a `*` in it.
    Glob(String),
    /// `*` alone: one word or more.
    Some,
}

/// One simple command of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) assignments: Vec<(String, String)>,
    pub(super) words: Vec<Element>,
    /// Whatever follows, or nothing.
    pub(super) rest: bool,
    pub(super) redirections: Vec<Redirection>,
    pub(super) before: Before,
}

/// A pattern of one command, or of several in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPattern {
    source: String,
    pub(super) parts: Vec<Part>,
    program: Option<String>,
    /// Literal words in small letters, without the path before them and cut as texts are.
    pub(super) literals: Vec<String>,
    pub(super) shell: Shell,
}

impl CommandPattern {
    /// Reads a pattern. `approve`: it is to let something run.
    pub fn new(source: &str, shell: Shell, approve: bool) -> Result<Self, String> {
        let text = match source.strip_suffix(":*") {
            Some(words) => format!("{words} *"),
            None => source.to_owned(),
        };
        if text.contains(STAR) || text.trim().is_empty() {
            return Err("must name a program".to_owned());
        }
        let script = read(&text.replace('*', &STAR.to_string()), shell);
        if let Some(reason) = script.unreadable {
            return Err(format!("cannot be read: {}", reason.message()));
        }
        let listed = || script.commands.iter().filter(|of| of.inside.is_none());
        if !listed().all(is_plain) {
            return Err("has an expansion; only `*` is supported in a pattern".to_owned());
        }
        let invisible = |c: char| is_hostile(c) || (c.is_whitespace() && !" \t\n".contains(c));
        let sets = |of: &Command| of.words.is_empty() && !of.assignments.is_empty();
        let fault = match () {
            () if source.contains(invisible) => "has a character that nobody sees",
            () if script.commands.iter().any(|of| !of.redirections.is_empty()) => {
                "has a redirection, which no pattern matches; see `writes`"
            }
            () if !approve && listed().any(sets) => {
                "only sets a variable, which a deny or an ask ignores"
            }
            () => "",
        };
        if !fault.is_empty() {
            return Err(fault.to_owned());
        }
        let parts: Vec<Part> = listed().map(part).collect();
        let literal = |of: &Element| match of {
            Element::Literal(text) => cut(text),
            _ => Vec::new(),
        };
        let words = parts.iter().flat_map(|part| &part.words).flat_map(literal);
        let literals = words.map(|piece| piece.text.to_lowercase()).collect();
        let program = match parts.as_slice() {
            [part] => match part.words.first() {
                Some(Element::Literal(name)) => Some(known_as(shell, name).to_lowercase()),
                _ => None,
            },
            _ => None,
        };
        let pattern = Self {
            source: source.to_owned(),
            parts,
            program,
            literals,
            shell,
        };
        if approve {
            pattern.check()?;
        }
        Ok(pattern)
    }

    /// An approve names its programs.
    fn check(&self) -> Result<(), String> {
        for part in &self.parts {
            let stars = part
                .words
                .iter()
                .filter(|word| **word == Element::Some)
                .count();
            if stars > 2 {
                return Err("has more than two `*` as words in the middle".to_owned());
            }
            match part.words.first() {
                Some(Element::Literal(_)) => {}
                None if !part.assignments.is_empty() && !part.rest => {}
                _ => return Err("an approve names the program; `*` names none".to_owned()),
            }
        }
        Ok(())
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The program that a pattern of one command names, as `Read` has names.
    pub(super) fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// Every word is literal and nothing may follow.
    pub(super) fn is_exact(&self) -> bool {
        let literal = |word: &Element| matches!(word, Element::Literal(_));
        let plain = |part: &Part| !part.rest && part.words.iter().all(literal);
        self.parts.iter().all(plain)
    }
}

/// What a program's name means: without its path, in PowerShell what it is an alias of.
pub(super) fn known_as(shell: Shell, name: &str) -> &str {
    let plain = plain_name(name);
    match shell {
        Shell::Posix => plain,
        Shell::PowerShell => on_windows(plain),
    }
}

/// Whether a pattern can hold it: no expansion, and nothing that is fed to it.
fn is_plain(command: &Command) -> bool {
    let words = command
        .words
        .iter()
        .chain(command.assignments.iter().map(|of| &of.value));
    let targets = command.redirections.iter().map(|of| &of.target);
    words.chain(targets).all(|word| !word.dynamic)
}

fn element(word: &Word) -> Element {
    let text = word.text.replace(STAR, "*");
    match text.contains('*') {
        _ if text == "*" => Element::Some,
        true => Element::Glob(text),
        false => Element::Literal(text),
    }
}

fn part(command: &Command) -> Part {
    let mut words: Vec<Element> = command.words.iter().map(element).collect();
    let rest = words.len() > 1 && words.last() == Some(&Element::Some);
    if rest {
        words.pop();
    }
    Part {
        assignments: command
            .assignments
            .iter()
            .map(|of| (of.name.clone(), of.value.text.replace(STAR, "*")))
            .collect(),
        words,
        rest,
        redirections: command.redirections.clone(),
        before: command.before,
    }
}

/// Whether a text matches a pattern with `*` for any run of letters.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            match rest.find(before) {
                Some(at) => rest = &rest[at + before.len()..],
                None => return false,
            }
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

impl Element {
    /// Whether a known word is one of these.
    pub(super) fn is(&self, word: &str) -> bool {
        match self {
            Self::Literal(text) => text == word,
            Self::Glob(pattern) => glob(pattern, word),
            Self::Some => true,
        }
    }
}
