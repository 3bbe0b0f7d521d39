//! The reader of POSIX and bash texts: a descent over the text itself, so that what is inside is read in place.

mod compound;
mod evaluated;
mod here;
mod list;
mod simple;
mod word;

use self::here::Pending;
use crate::DEPTH_MAX;
use crate::script::{Before, Command, How, Out, Reason};

pub(crate) use evaluated::{computes, doubts, evaluates};
pub(crate) use word::{Letter, finish};

/// Reads a whole text.
pub(crate) fn read(
    text: &str,
    depth: u32,
    base: Option<usize>,
    out: &mut Out,
) -> Result<(), Reason> {
    // A carriage return is a letter here and the end of a line there.
    if text.contains('\r') {
        return Err(Reason::CarriageReturn);
    }
    let mut reader = Reader {
        text,
        at: 0,
        depth,
        base,
        inside: None,
        how: How::Listed,
        pending: Vec::new(),
        out,
    };
    reader.list(Before::Start)?;
    match reader.at == text.len() && reader.pending.is_empty() {
        true => Ok(()),
        false => Err(Reason::Syntax),
    }
}

pub(super) struct Reader<'t, 'o> {
    text: &'t str,
    at: usize,
    depth: u32,
    base: Option<usize>,
    inside: Option<usize>,
    how: How,
    /// Here-documents whose text begins on the next line.
    pending: Vec<Pending>,
    out: &'o mut Out,
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

    /// Takes this text, if it is here.
    fn take(&mut self, text: &str) -> bool {
        let here = self.sees(text);
        if here {
            self.step(text.len());
        }
        here
    }

    fn need(&mut self, text: &str) -> Result<(), Reason> {
        match self.take(text) {
            true => Ok(()),
            false => Err(Reason::Syntax),
        }
    }

    /// Goes on by so many bytes, and keeps that they were read.
    fn step(&mut self, bytes: usize) {
        if let Some(base) = self.base {
            self.out.places.push(base + self.at..base + self.at + bytes);
        }
        self.at += bytes;
    }

    /// Spaces, tabs and lines that go on behind a backslash.
    fn blanks(&mut self) {
        loop {
            match self.next() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.sees("\\\n") => self.step(2),
                _ => return,
            }
        }
    }

    /// A remark to the end of its line.
    fn remark(&mut self) {
        if self.next() == Some('#') {
            let end = self.rest().find('\n').unwrap_or(self.rest().len());
            self.step(end);
        }
    }

    /// Blanks, remarks and ends of lines.
    fn lines(&mut self) -> Result<bool, Reason> {
        let mut ended = false;
        loop {
            self.blanks();
            self.remark();
            if self.next() != Some('\n') {
                return Ok(ended);
            }
            self.end_of_line()?;
            ended = true;
        }
    }

    /// Behind a new line begin the here-documents of the line.
    fn end_of_line(&mut self) -> Result<(), Reason> {
        self.at += 1;
        for pending in std::mem::take(&mut self.pending) {
            self.here_document(pending)?;
        }
        Ok(())
    }

    /// One nesting deeper.
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

    /// A command that begins here.
    fn begin(&mut self, before: Before) -> Result<usize, Reason> {
        self.out.push(Command {
            before,
            inside: self.inside,
            how: self.how,
            depth: self.depth,
            at: self.base.map(|base| base + self.at..base + self.at),
            ..Command::default()
        })
    }

    /// The command ends here.
    fn end(&mut self, place: usize) {
        let end = self.base.map(|base| base + self.at);
        if let (Some(at), Some(end)) = (&mut self.out.commands[place].at, end) {
            at.end = end;
        }
    }

    /// Commands inside of another one.
    fn within<T>(
        &mut self,
        inside: Option<usize>,
        how: How,
        read: impl FnOnce(&mut Self) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        let before = (self.inside, self.how);
        let pending = std::mem::take(&mut self.pending);
        let begin = self.at;
        (self.inside, self.how) = (inside.or(self.inside), how);
        let read = self.deeper(read);
        (self.inside, self.how) = before;
        // A here-document that the inner commands began ends with them; one that was waiting begins at a line's end,
        // and shells differ in which.
        let lines = !pending.is_empty() && self.text[begin..self.at].contains('\n');
        if !self.pending.is_empty() || lines {
            return Err(Reason::Syntax);
        }
        self.pending = pending;
        read
    }
}
