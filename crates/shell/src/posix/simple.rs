//! Simple commands: assignments, words, redirections.

use super::Reader;
use super::here::Pending;
use super::list::KEYWORDS;
use crate::script::{Assignment, Before, How, Kind, Reason, Redirection, Word};

/// Programs whose operands may be `name=(…)`.
const DECLARES: [&str; 5] = ["declare", "typeset", "local", "export", "readonly"];

/// Redirections, the longest first.
const OPERATORS: [(&str, Kind); 13] = [
    ("<<<", Kind::Here),
    ("<<-", Kind::Here),
    ("&>>", Kind::Append),
    (">>|", Kind::Append),
    ("<<", Kind::Here),
    ("<&", Kind::Duplicate),
    (">&", Kind::Duplicate),
    ("&>", Kind::Write),
    (">>", Kind::Append),
    (">|", Kind::Write),
    ("<>", Kind::ReadWrite),
    ("<", Kind::Read),
    (">", Kind::Write),
];

impl Reader<'_, '_> {
    pub(super) fn simple(&mut self, before: Before) -> Result<(), Reason> {
        let place = self.begin(before)?;
        let begun = self.at;
        loop {
            self.blanks();
            if self.redirection(place)? {
                continue;
            }
            let Some(c) = self.next() else { break };
            if "\n;&|)".contains(c) || (c == '#') {
                break;
            }
            if c == '(' {
                return self.function(place, before);
            }
            let words = self.out.commands[place].words.is_empty();
            let assigned = self.assignment(place, words)?;
            if let Some(assignment) = assigned {
                self.out.commands[place].assignments.push(assignment);
                continue;
            }
            let begin = self.at;
            let word = self.within_command(place, Self::word)?;
            // A keyword that goes on behind a backslash is one all the same.
            let split = self.text[begin..self.at].contains("\\\n");
            if words && split && KEYWORDS.contains(&word.text.as_str()) {
                return Err(Reason::Syntax);
            }
            self.out.commands[place].words.push(word);
            self.end(place);
        }
        self.end(place);
        match self.at > begun {
            true => Ok(()),
            false => Err(Reason::Syntax),
        }
    }

    /// What is read in it is inside of this command.
    pub(super) fn within_command<T>(
        &mut self,
        place: usize,
        read: impl FnOnce(&mut Self) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        let outer = self.inside.replace(place);
        let read = read(self);
        self.inside = outer;
        read
    }

    /// `name() { … }`: the word before was no program.
    fn function(&mut self, place: usize, before: Before) -> Result<(), Reason> {
        let command = &self.out.commands[place];
        let plain = command.assignments.is_empty() && command.redirections.is_empty();
        let name = match command.words.as_slice() {
            [name] if plain && name.bare && !name.dynamic => name.text.clone(),
            _ => return Err(Reason::Syntax),
        };
        if place + 1 != self.out.commands.len() {
            return Err(Reason::Syntax);
        }
        self.out.commands.pop();
        self.step(1);
        self.blanks();
        self.need(")")?;
        self.function_body(name, before)
    }

    pub(super) fn function_body(&mut self, name: String, before: Before) -> Result<(), Reason> {
        self.lines()?;
        self.out.redefined.push(name);
        let compound = ["{", "if", "while", "until", "for", "select", "case", "[["];
        if self.next() != Some('(') && !compound.contains(&self.keyword()) {
            return Err(Reason::Syntax);
        }
        let how = std::mem::replace(&mut self.how, How::Function);
        let read = self.command(before);
        self.how = how;
        read
    }

    /// `NAME=value` or, behind a word that declares, `NAME=(…)`.
    fn assignment(&mut self, place: usize, first: bool) -> Result<Option<Assignment>, Reason> {
        let rest = self.rest();
        let letters = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric());
        let Some(length) = letters.filter(|length| *length > 0) else {
            return Ok(None);
        };
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        let mut end = length;
        if rest[length..].starts_with('[') {
            let Some(closed) = rest[length..].find(']') else {
                return Ok(None);
            };
            let after = &rest[length + closed + 1..];
            if !(after.starts_with('=') || after.starts_with("+=")) {
                return Ok(None);
            }
            super::evaluated::subscript(&rest[length + 1..length + closed])?;
            end = length + closed + 1;
        }
        let append = rest[end..].starts_with("+=");
        let equals = end + usize::from(append);
        if !rest[equals..].starts_with('=') {
            return Ok(None);
        }
        let array = rest[equals + 1..].starts_with('(');
        let declares = self.out.commands[place].name();
        let may =
            first || (array && declares.is_some_and(|name| DECLARES.contains(&name.as_str())));
        if !may {
            return Ok(None);
        }
        let name = rest[..end].to_owned();
        self.step(equals + 1);
        let value = match array {
            true => self.within_command(place, Self::array)?,
            false => self.within_command(place, Self::value)?,
        };
        Ok(Some(Assignment {
            name,
            value,
            append,
        }))
    }

    /// The value of an assignment; nothing at all is an empty one.
    fn value(&mut self) -> Result<Word, Reason> {
        match self.next() {
            None => Ok(Word::default()),
            Some(c) if " \t\n;&|()<>".contains(c) && !self.substitutes() => Ok(Word::default()),
            _ => self.word(),
        }
    }

    /// `(a b c)`
    fn array(&mut self) -> Result<Word, Reason> {
        self.step(1);
        loop {
            self.lines()?;
            if self.take(")") {
                return Ok(Word::unknown());
            }
            if let Some(c) = self.next()
                && c == '['
                && let Some(end) = self.rest().find("]=")
            {
                super::evaluated::subscript(&self.rest()[1..end])?;
            }
            self.word()?;
        }
    }

    /// One redirection, if there is one here.
    pub(super) fn redirection(&mut self, place: usize) -> Result<bool, Reason> {
        let rest = self.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let mut skip = digits;
        let mut variable = None;
        if let Some(name) = rest.strip_prefix('{')
            && let Some(end) = name.find('}')
            && name[..end]
                .chars()
                .all(|c| c == '_' || c.is_ascii_alphanumeric())
            && name[end + 1..].starts_with(['<', '>'])
        {
            skip = end + 2;
            variable = Some(name[..end].to_owned());
        }
        let sign = &rest[skip..];
        // `<(` and `>(` are words.
        if sign.starts_with("<(") || sign.starts_with(">(") {
            return Ok(false);
        }
        let Some((operator, kind)) = OPERATORS.iter().find(|(word, _)| sign.starts_with(word))
        else {
            return Ok(false);
        };
        if skip > 0 && operator.starts_with('&') {
            return Ok(false);
        }
        let other = skip > 0 && &rest[..skip] != "0";
        self.step(skip + operator.len());
        // The operator may go on behind a backslash.
        if self.sees("\\\n") {
            return Err(Reason::Syntax);
        }
        // A name in capitals may be one that programs look at.
        if let Some(name) = variable.filter(|name| !name.contains(|c: char| c.is_ascii_lowercase()))
        {
            self.out.commands[place].assignments.push(Assignment {
                name,
                value: Word::unknown(),
                append: false,
            });
        }
        self.blanks();
        let begin = self.at;
        let mut target = self.within_command(place, Self::word)?;
        let mut kind = *kind;
        if kind == Kind::Duplicate {
            let number = target.text.trim_end_matches('-');
            let descriptor = !target.dynamic && number.chars().all(|c| c.is_ascii_digit());
            // `>& file` writes the file.
            if !descriptor && operator.starts_with('>') {
                kind = Kind::Write;
            }
        }
        let command = &self.out.commands[place];
        let number = command.redirections.len();
        if matches!(*operator, "<<" | "<<-") {
            let written = &self.text[begin..self.at];
            let quoted = written.contains(['\'', '"', '\\']);
            if target.dynamic || written.contains(['$', '`']) || written.contains("\\\n") {
                return Err(Reason::Syntax);
            }
            self.pending.push(Pending {
                place: (place, number),
                end: std::mem::take(&mut target.text),
                quoted,
                tabs: *operator == "<<-",
                other,
            });
        }
        // What standard input is then, is not known.
        if (kind == Kind::Here && other) || (*operator == "<&" && !target.text.starts_with('-')) {
            target.dynamic = true;
        }
        if *operator == "<<<" && !target.dynamic {
            target.text.push('\n');
        }
        let redirection = Redirection { kind, target };
        self.out.commands[place].redirections.push(redirection);
        Ok(true)
    }
}
