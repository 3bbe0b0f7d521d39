//! What is read of a text.

use std::ops::Range;

use serde::Serialize;

use crate::COMMANDS_MAX;

/// What a text runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Script {
    /// Every simple command, those inside of others behind them.
    pub commands: Vec<Command>,
    /// Why the text cannot be read as a whole.
    pub unreadable: Option<Reason>,
    /// Why another shell (zsh, dash) may read it otherwise: it is not to be approved unseen.
    pub doubtful: Option<Reason>,
    /// Places of the text that were read as words, operators, here-documents or remarks; between them are blanks.
    #[serde(skip)]
    pub places: Vec<Range<usize>>,
    /// The variables of `for` with the words that each goes through.
    #[serde(skip)]
    pub loops: Vec<(String, Vec<Word>)>,
}

/// One simple command, or redirections and assignments without one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Command {
    /// Variables set for it, in order.
    pub assignments: Vec<Assignment>,
    /// The program and its words after quote removal; empty for redirections or assignments alone.
    pub words: Vec<Word>,
    /// In order; those of a group or loop are a command without words.
    pub redirections: Vec<Redirection>,
    /// The operator before it.
    pub before: Before,
    /// The place in `commands` of the one that it is inside of.
    pub inside: Option<usize>,
    /// The place among the words of that one where its own begin, if they are the same words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<usize>,
    /// In which way it is inside.
    pub how: How,
    /// 1 for the text itself, 1 more for each nesting.
    pub depth: u32,
    /// Where it is in the text, if it is there as written. Bytes.
    #[serde(skip)]
    pub at: Option<Range<usize>>,
    /// The texts in it that were read as commands of their own.
    #[serde(skip)]
    pub texts: Vec<String>,
    /// The depth of the group that it begins, where a pipe goes into the group.
    #[serde(skip)]
    pub pipe: Option<u32>,
}

/// A word after quote removal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Word {
    /// The whole word; of a dynamic one the beginning that is known.
    pub text: String,
    /// The shell expands it: what it comes to is not known.
    pub dynamic: bool,
    /// Its dynamic part is quoted: it comes to exactly one word.
    pub one: bool,
    /// Begins with an unquoted `~`.
    pub tilde: bool,
    /// What a brace expansion of literal parts gives; empty where it is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gives: Vec<String>,
    /// It was written without quotes and escapes.
    #[serde(skip)]
    pub bare: bool,
    /// The whole of a dynamic word, once for each word that a brace gives: [`HOLE`], the variable's name and
    /// [`HOLE_END`] for what is expanded, [`ANY`] and [`ANY_LETTER`] for globs.
    #[serde(skip)]
    pub shapes: Vec<String>,
}

/// Begins what is expanded, in a shape.
pub const HOLE: char = '\u{fdd0}';
/// Ends it.
pub const HOLE_END: char = '\u{fdd1}';
/// `*`, in a shape.
pub const ANY: char = '\u{fdd2}';
/// `?` or `[…]`, in a shape.
pub const ANY_LETTER: char = '\u{fdd3}';
/// The most forms of one word that are looked at.
const FORMS_MAX: usize = 64;

/// `NAME=value` before a command or alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Assignment {
    /// With its subscript, if any.
    pub name: String,
    /// An array is dynamic.
    pub value: Word,
    /// `+=`.
    pub append: bool,
}

/// One redirection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Redirection {
    /// What is done with the target.
    pub kind: Kind,
    /// A file, a descriptor, or the text of a here-document or here-string.
    pub target: Word,
}

/// What a redirection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `<`
    Read,
    /// `>`, `>|`, `&>`, `>&` with a file.
    Write,
    /// `>>`, `&>>`.
    Append,
    /// `<>`
    ReadWrite,
    /// `<&`, `>&` with a descriptor.
    Duplicate,
    /// `<<`, `<<-`, `<<<`: the target is the text.
    Here,
}

impl Kind {
    /// Whether the target is a file that may be written.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Append | Self::ReadWrite)
    }
}

/// The operator before a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum Before {
    /// Nothing: the first of its list.
    #[default]
    #[serde(rename = "")]
    Start,
    /// `;`, `;;` or the next keyword.
    #[serde(rename = ";")]
    Semicolon,
    /// A new line.
    #[serde(rename = "\n")]
    Line,
    /// `&&`
    #[serde(rename = "&&")]
    And,
    /// `||`
    #[serde(rename = "||")]
    Or,
    /// `|` and `|&`
    #[serde(rename = "|")]
    Pipe,
    /// `&`
    #[serde(rename = "&")]
    Background,
}

/// In which way a command is inside of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Not inside of a command (it may be in a group, a loop or a condition).
    #[default]
    Listed,
    /// `$(…)`, backquotes, `<(…)`, `>(…)`.
    Substituted,
    /// Words of a wrapper: `sudo rm x` gives `rm x`.
    Wrapped,
    /// A text given to a shell or an interpreter.
    Text,
    /// The body of a function.
    Function,
}

/// Why a text, or another shell's reading of it, is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// More than 64 KiB.
    TooLong,
    /// More than 1,000 commands.
    TooMany,
    /// Nested more than 16 deep.
    TooDeep,
    /// A NUL.
    Nul,
    /// A carriage return that ends no line.
    CarriageReturn,
    /// No complete command of the language, or a part of it that is not read.
    Syntax,
    /// `declare -n`: a name that is another name.
    NameReference,
    /// zsh or dash read it otherwise than bash.
    OtherShell,
    /// A word that bash evaluates, and by that may run what is in a subscript.
    Evaluated,
}

impl Reason {
    /// What a person reads.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            Self::TooLong => "the command has more than 64 KiB",
            Self::TooMany => "the command runs more than 1,000 programs",
            Self::TooDeep => "the command is nested more than 16 deep",
            Self::Nul => "the command has a NUL",
            Self::CarriageReturn => "the command has a carriage return inside a line",
            Self::Syntax => "the command cannot be read",
            Self::NameReference => "the command makes a name represent another one",
            Self::OtherShell => "shells read the command in different ways",
            Self::Evaluated => "the command evaluates a word that may run something",
        }
    }
}

impl Script {
    /// Every word that a word may come to, as shapes: `~ $HOME $PWD $TMPDIR` and the variables of `for` are known.
    #[must_use]
    pub fn forms(&self, word: &Word) -> Vec<String> {
        let mut forms = match (word.dynamic, word.shapes.is_empty()) {
            (false, _) if word.text.starts_with('~') && !word.tilde => {
                return vec![format!("./{}", word.text)];
            }
            (false, _) => return vec![word.text.clone()],
            (true, false) => word.shapes.clone(),
            (true, true) => return vec![format!("{}{HOLE}{HOLE_END}", word.text)],
        };
        for (name, known) in [("HOME", "~"), ("PWD", "."), ("TMPDIR", "/tmp")] {
            let hole = format!("{HOLE}{name}{HOLE_END}");
            forms
                .iter_mut()
                .for_each(|form| *form = form.replace(&hole, known));
        }
        for (name, words) in &self.loops {
            let hole = format!("{HOLE}{name}{HOLE_END}");
            if forms.len() * words.len() > FORMS_MAX
                || !forms.iter().any(|form| form.contains(&hole))
            {
                continue;
            }
            let shapes = |word: &Word| match word.shapes.is_empty() {
                true => vec![word.text.clone()],
                false => word.shapes.clone(),
            };
            let values: Vec<String> = words.iter().flat_map(shapes).collect();
            let filled = |form: &String| {
                values
                    .iter()
                    .map(|value| form.replace(&hole, value))
                    .collect::<Vec<_>>()
            };
            forms = forms.iter().flat_map(filled).collect();
        }
        forms
    }
}

impl Word {
    /// A word that is known.
    #[must_use]
    pub fn literal_of(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// A word that nobody knows: one or more of them.
    #[must_use]
    pub fn unknown() -> Self {
        Self {
            dynamic: true,
            ..Self::default()
        }
    }

    /// The text, where it is known.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        (!self.dynamic).then_some(self.text.as_str())
    }

    /// Whether it can come to a word of which this holds for a known word. `unsure` answers for a word of
    /// which only the beginning is known.
    pub fn could(&self, is: impl Fn(&str) -> bool, unsure: impl FnOnce(&str) -> bool) -> bool {
        match (self.dynamic, self.gives.is_empty()) {
            (false, _) => is(&self.text),
            (true, false) => self.gives.iter().any(|word| is(word)),
            (true, true) => unsure(&self.text),
        }
    }

    /// Whether it can come to this word.
    #[must_use]
    pub fn could_be(&self, word: &str) -> bool {
        self.could(|known| known == word, |known| word.starts_with(known))
    }

    /// Whether it can come to a word that begins with `-`.
    #[must_use]
    pub fn could_be_option(&self) -> bool {
        self.could(
            |known| known.starts_with('-'),
            |known| known.is_empty() || known.starts_with('-'),
        )
    }
}

impl Command {
    /// The first word, where it is known.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        self.words.first().and_then(Word::literal)
    }

    /// What the program is known as: without its path, in small letters, GNU's `gsed` as `sed`.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let plain = plain_name(self.program()?).to_lowercase();
        Some(same_program(&plain).map_or(plain, str::to_owned))
    }
}

/// Programs that are another one under a name of their own.
const OTHER_NAMES: &[(&str, &str)] = rows! {
    "gsed", "sed"; "gtar", "tar"; "bsdtar", "tar"; "gsort", "sort"; "gfind", "find"; "bfs", "find";
    "fdfind", "fd"; "gawk", "awk"; "mawk", "awk"; "nawk", "awk"; "gmake", "make"; "gxargs", "xargs";
    "gtimeout", "timeout"; "nodejs", "node"; "grm", "rm";
};

/// The program that this one is under a name of its own.
#[must_use]
pub fn same_program(name: &str) -> Option<&'static str> {
    let known = OTHER_NAMES.iter().find(|(other, _)| *other == name);
    known.map(|(_, name)| *name)
}

/// A program without the path before it.
#[must_use]
pub fn base_name(program: &str) -> &str {
    program.rsplit_once('/').map_or(program, |(_, name)| name)
}

/// A program without the path before it and what Windows puts behind it.
#[must_use]
pub fn plain_name(program: &str) -> &str {
    let name = base_name(program);
    let end = name.len().saturating_sub(4);
    match name.get(end..) {
        Some(exe) if end > 0 && exe.eq_ignore_ascii_case(".exe") => &name[..end],
        _ => name,
    }
}

/// What is read so far.
#[derive(Debug, Default)]
pub(crate) struct Out {
    pub(crate) commands: Vec<Command>,
    pub(crate) doubtful: Option<Reason>,
    pub(crate) places: Vec<Range<usize>>,
    /// Names that the text makes mean something else.
    pub(crate) redefined: Vec<String>,
    pub(crate) loops: Vec<(String, Vec<Word>)>,
    /// A variable is evaluated: what its value has in a subscript runs.
    pub(crate) evaluates: bool,
}

impl Out {
    pub(crate) fn push(&mut self, command: Command) -> Result<usize, Reason> {
        if self.commands.len() >= COMMANDS_MAX {
            return Err(Reason::TooMany);
        }
        self.commands.push(command);
        Ok(self.commands.len() - 1)
    }

    pub(crate) fn doubt(&mut self) {
        self.doubtful.get_or_insert(Reason::OtherShell);
    }

    pub(crate) fn script(mut self, unreadable: Option<Reason>) -> Script {
        for command in &mut self.commands {
            let known = command.words.first().and_then(Word::literal);
            if known.is_some_and(|name| {
                self.redefined
                    .iter()
                    .any(|other| other.eq_ignore_ascii_case(name))
            }) {
                command.words[0].dynamic = true;
            }
        }
        if self.evaluates && self.commands.iter().any(has_subscript) {
            self.doubtful.get_or_insert(Reason::Evaluated);
        }
        Script {
            commands: self.commands,
            unreadable,
            doubtful: self.doubtful,
            places: self.places,
            loops: self.loops,
        }
    }
}

/// Whether a text of it has a subscript with a substitution.
fn has_subscript(command: &Command) -> bool {
    let assigned = command.assignments.iter().map(|of| &of.value);
    let targets = command.redirections.iter().map(|of| &of.target);
    let mut words = command.words.iter().chain(assigned).chain(targets);
    words.any(|word| {
        let behind = word.text.split_once('[').map_or("", |(_, behind)| behind);
        behind.contains("$(") || behind.contains('`')
    })
}

/// A form with this in place of what is expanded.
#[must_use]
pub fn filled(form: &str, with: char) -> String {
    let mut inside = false;
    let letter = |c: char| match c {
        HOLE => {
            inside = true;
            Some(with)
        }
        HOLE_END => {
            inside = false;
            None
        }
        c => (!inside).then_some(c),
    };
    form.chars().filter_map(letter).collect()
}
