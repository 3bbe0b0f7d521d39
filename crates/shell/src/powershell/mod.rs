//! The reader of PowerShell texts: pipelines of commands, what they call, script blocks; statements and
//! expressions beyond that are unreadable.

mod aliases;
mod runs;
mod word;

use crate::DEPTH_MAX;
use crate::script::{Assignment, Before, Command, How, Kind, Out, Reason, Redirection, Word};

pub(crate) use aliases::cmdlet;
pub(crate) use runs::{redefines, runs};

/// Words that begin a statement of another kind.
const KEYWORDS: &str = "if else elseif for foreach while do until switch function filter workflow param return throw trap \
    try catch finally begin process end dynamicparam class enum using data exit break continue in parallel sequence \
    inlinescript configuration hidden static clean";

/// Reads a whole text.
pub(crate) fn read(
    text: &str,
    depth: u32,
    base: Option<usize>,
    out: &mut Out,
) -> Result<(), Reason> {
    if text.contains(['\u{2028}', '\u{2029}']) {
        return Err(Reason::Syntax);
    }
    let mut reader = Reader {
        text,
        at: 0,
        depth,
        base,
        inside: None,
        out,
    };
    reader.list(None)
}

struct Reader<'t, 'o> {
    text: &'t str,
    at: usize,
    depth: u32,
    base: Option<usize>,
    inside: Option<usize>,
    out: &'o mut Out,
}

fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}')
}

impl<'t> Reader<'t, '_> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn sees(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn step(&mut self, bytes: usize) {
        if let Some(base) = self.base {
            self.out.places.push(base + self.at..base + self.at + bytes);
        }
        self.at += bytes;
    }

    fn take(&mut self, text: &str) -> bool {
        let here = self.sees(text);
        if here {
            self.step(text.len());
        }
        here
    }

    /// Blanks, remarks, and lines that go on behind a backtick.
    fn blanks(&mut self) -> Result<(), Reason> {
        loop {
            let rest = self.rest();
            match self.next() {
                Some(c) if c.is_whitespace() && !ends_line(c) => self.step(c.len_utf8()),
                Some('`') if rest[1..].starts_with(ends_line) => {
                    self.step(1);
                    self.line();
                }
                Some('<') if self.sees("<#") => {
                    self.step(rest.find("#>").ok_or(Reason::Syntax)? + 2);
                }
                Some('#') => self.step(rest.find(ends_line).unwrap_or(rest.len())),
                _ => return Ok(()),
            }
        }
    }

    /// One end of a line.
    fn line(&mut self) -> bool {
        let length = match self.next() {
            Some('\r') if self.sees("\r\n") => 2,
            Some(c) if ends_line(c) => c.len_utf8(),
            _ => return false,
        };
        self.step(length);
        true
    }

    /// Commands up to the end of the text or a sign.
    fn list(&mut self, end: Option<char>) -> Result<(), Reason> {
        let mut before = Before::Start;
        loop {
            self.blanks()?;
            while self.line() || self.take(";") {
                self.blanks()?;
            }
            if self.next() == end {
                return match before {
                    Before::And | Before::Or => Err(Reason::Syntax),
                    _ => Ok(()),
                };
            }
            self.pipeline(before)?;
            self.blanks()?;
            before = match self.next() {
                c if c == end => Before::Semicolon,
                Some(c) if ends_line(c) => Before::Line,
                Some(';') => Before::Semicolon,
                _ if self.take("&&") => Before::And,
                _ if self.take("||") => Before::Or,
                _ if self.take("&") => Before::Background,
                _ => return Err(Reason::Syntax),
            };
        }
    }

    fn pipeline(&mut self, mut before: Before) -> Result<(), Reason> {
        loop {
            self.element(before)?;
            self.blanks()?;
            if self.sees("||") || !self.take("|") {
                return Ok(());
            }
            before = Before::Pipe;
            self.blanks()?;
            while self.line() {
                self.blanks()?;
            }
        }
    }

    /// A command, or an expression of one word: a text, a number, a variable, commands in brackets.
    fn element(&mut self, before: Before) -> Result<(), Reason> {
        let rest = self.rest();
        let called = match self.next().ok_or(Reason::Syntax)? {
            '&' if !self.sees("&&") => true,
            '.' => rest[1..].starts_with(|c: char| c.is_whitespace() || "$({\"'".contains(c)),
            _ => false,
        };
        if called {
            self.step(1);
            self.blanks()?;
            if self.next() != Some('{') {
                return self.command(before, true);
            }
            let first = self.out.commands.len();
            self.deeper(|reader| reader.block("{", "}"))?;
            if let Some(command) = self.out.commands.get_mut(first) {
                command.before = before;
            }
            return Ok(());
        }
        match self.next() {
            Some('$') if !self.sees("$(") => self.variable(before),
            Some(c) if word::quotes(c) || c.is_ascii_digit() || "$(".contains(c) => {
                let place = self.begin(before)?;
                self.within(place, Self::word)?;
                // An expression runs nothing but what is in it.
                match place + 1 == self.out.commands.len() {
                    true => drop(self.out.commands.pop()),
                    false => self.out.commands[place].before = before,
                }
                Ok(())
            }
            Some('@') if self.sees("@(") => {
                self.step(1);
                self.element(before)
            }
            Some(c) if c.is_alphabetic() || "%?./\\~_*".contains(c) || c == '`' => {
                self.command(before, false)
            }
            _ => Err(Reason::Syntax),
        }
    }

    /// `$x`, or `$x = …`.
    fn variable(&mut self, before: Before) -> Result<(), Reason> {
        let begin = self.at;
        let place = self.begin(before)?;
        self.within(place, Self::word)?;
        let name = self.text[begin + 1..self.at].to_owned();
        self.blanks()?;
        let append = ["+=", "-=", "*=", "/="].iter().any(|sign| self.take(sign));
        if !append && !self.take("=") {
            self.out.commands.truncate(place);
            return Ok(());
        }
        let lower = name.to_lowercase();
        if ["function:", "alias:", "{function:", "{alias:"]
            .iter()
            .any(|drive| lower.starts_with(drive))
        {
            return Err(Reason::NameReference);
        }
        self.out.commands[place].assignments.push(Assignment {
            name,
            value: Word::unknown(),
            append,
        });
        self.blanks()?;
        while self.line() {
            self.blanks()?;
        }
        self.pipeline(Before::Start)
    }

    fn begin(&mut self, before: Before) -> Result<usize, Reason> {
        self.out.push(Command {
            before,
            inside: self.inside,
            how: if self.inside.is_some() {
                How::Substituted
            } else {
                How::Listed
            },
            depth: self.depth,
            at: self.base.map(|base| base + self.at..base + self.at),
            ..Command::default()
        })
    }

    /// What is read in it is inside of this command.
    fn within<T>(
        &mut self,
        place: usize,
        read: impl FnOnce(&mut Self) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        let outer = self.inside.replace(place);
        let read = self.deeper(read);
        self.inside = outer;
        read
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        if self.depth >= DEPTH_MAX {
            return Err(Reason::TooDeep);
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Commands between two signs.
    fn block(&mut self, open: &str, close: &str) -> Result<(), Reason> {
        self.step(open.len());
        self.list(close.chars().next())?;
        self.step(close.len());
        // A member of what they give may be a method.
        match self.next() {
            Some('.' | '[' | ':') if close == ")" => Err(Reason::Syntax),
            _ => Ok(()),
        }
    }

    fn command(&mut self, before: Before, called: bool) -> Result<(), Reason> {
        let place = self.begin(before)?;
        loop {
            self.blanks()?;
            if self.redirection(place)? {
                continue;
            }
            match self.next() {
                None | Some(';' | '|' | '&' | ')' | '}') => break,
                Some(c) if ends_line(c) => break,
                Some(',') => {
                    self.step(1);
                    continue;
                }
                _ => {}
            }
            let begin = self.at;
            let mut word = self.within(place, Self::word)?;
            let command = &mut self.out.commands[place];
            if command.words.is_empty() && word.bare && &self.text[begin..self.at] == "?" {
                word = Word::literal_of("?");
            }
            if command.words.is_empty() && !word.dynamic {
                let is = |known: &str| known.eq_ignore_ascii_case(&word.text);
                // Behind a `|` it is an alias.
                let alias = command.before == Before::Pipe && is("foreach");
                if !called && word.bare && !alias && KEYWORDS.split_whitespace().any(is) {
                    return Err(Reason::Syntax);
                }
                // In a name it may be a dash or not.
                if word.text.contains(|c| word::DASHES.contains(c)) {
                    return Err(Reason::Syntax);
                }
                word.text = name(&word.text);
            }
            command.words.push(word);
        }
        let end = self.base.map(|base| base + self.at);
        let command = &mut self.out.commands[place];
        if let (Some(at), Some(end)) = (&mut command.at, end) {
            at.end = end;
        }
        match command.words.is_empty() {
            true => Err(Reason::Syntax),
            false => Ok(()),
        }
    }

    /// `> x`, `2>> x`, `*> x`, `2>&1`.
    fn redirection(&mut self, place: usize) -> Result<bool, Reason> {
        let rest = self.rest();
        let stream = rest.starts_with(|c: char| c == '*' || c.is_ascii_digit());
        let sign = &rest[usize::from(stream)..];
        if sign.starts_with('<') {
            return Err(Reason::Syntax);
        }
        if !sign.starts_with('>') {
            return Ok(false);
        }
        self.step(usize::from(stream) + 1);
        let kind = match () {
            () if self.take(">") => Kind::Append,
            () if self.take("&") => Kind::Duplicate,
            () => Kind::Write,
        };
        self.blanks()?;
        let target = self.within(place, Self::word)?;
        self.out.commands[place]
            .redirections
            .push(Redirection { kind, target });
        Ok(true)
    }
}

/// A name without its module, and the cmdlet that an alias of every system represents.
fn name(written: &str) -> String {
    let module = |prefix: &str| {
        prefix
            .chars()
            .all(|c| c.is_alphanumeric() || "._-".contains(c))
            && !prefix.starts_with('.')
    };
    let name = match written.rsplit_once('\\') {
        Some((prefix, name)) if module(prefix) => name.to_owned(),
        _ => written.replace('\\', "/"),
    };
    cmdlet(&name, false).map_or(name, str::to_owned)
}
