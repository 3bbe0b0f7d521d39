//! Words of PowerShell: quotes of every form, backticks, variables, brackets.

use super::{Reader, ends_line};
use crate::posix::{Letter, finish};
use crate::script::{Reason, Word};

const SINGLE: &str = "'\u{2018}\u{2019}\u{201a}\u{201b}";
const DOUBLE: &str = "\"\u{201c}\u{201d}\u{201e}";
/// Other signs that are a dash.
pub(super) const DASHES: &str = "\u{2013}\u{2014}\u{2015}";

pub(super) fn quotes(c: char) -> bool {
    SINGLE.contains(c) || DOUBLE.contains(c)
}

impl Reader<'_, '_> {
    pub(super) fn word(&mut self) -> Result<Word, Reason> {
        let begin = self.at;
        if self.sees("--%") || self.sees("@{") || self.sees("@\"") || self.sees("@'") {
            return Err(Reason::Syntax);
        }
        if self.next() == Some('{') {
            self.block("{", "}")?;
            return Ok(Word {
                text: "{}".to_owned(),
                dynamic: true,
                one: true,
                ..Word::default()
            });
        }
        self.take("@");
        if self.next() == Some('(') {
            self.block("(", ")")?;
            return Ok(Word::unknown());
        }
        let mut letters = Vec::new();
        if self.at > begin {
            // The values of a variable, as words.
            letters.push(Letter::Many);
        }
        while let Some(c) = self.next() {
            match c {
                _ if c.is_whitespace() || ends_line(c) || ";|&,)}>".contains(c) => break,
                '(' | '{' | '<' => return Err(Reason::Syntax),
                '`' => {
                    let c = self.escape()?;
                    letters.push(Letter::Quoted(c));
                }
                '$' => self.variable_in(&mut letters)?,
                _ if SINGLE.contains(c) => self.single(&mut letters)?,
                _ if DOUBLE.contains(c) => self.double(&mut letters)?,
                _ => {
                    let dash = letters.is_empty() && DASHES.contains(c);
                    letters.push(Letter::Bare(if dash { '-' } else { c }));
                    self.step(c.len_utf8());
                }
            }
        }
        if self.at == begin {
            return Err(Reason::Syntax);
        }
        let mut word = finish(&letters);
        let plain = |c: char| !quotes(c) && !"`$".contains(c);
        word.bare = self.text[begin..self.at].chars().all(plain);
        Ok(word)
    }

    fn escape(&mut self) -> Result<char, Reason> {
        self.step(1);
        let c = self
            .next()
            .filter(|c| !ends_line(*c))
            .ok_or(Reason::Syntax)?;
        self.step(c.len_utf8());
        Ok(match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'v' => '\x0b',
            // The older one reads `e as a letter.
            '0' | 'u' | 'e' => return Err(Reason::Syntax),
            c => c,
        })
    }

    fn single(&mut self, letters: &mut Vec<Letter>) -> Result<(), Reason> {
        self.quoted(SINGLE, letters)
    }

    fn double(&mut self, letters: &mut Vec<Letter>) -> Result<(), Reason> {
        self.quoted(DOUBLE, letters)
    }

    /// A text between quotes; two of them are one.
    fn quoted(&mut self, signs: &str, letters: &mut Vec<Letter>) -> Result<(), Reason> {
        let first = self.next().map_or(0, char::len_utf8);
        self.step(first);
        loop {
            let c = self.next().ok_or(Reason::Syntax)?;
            match c {
                '$' if signs == DOUBLE => {
                    let from = letters.len();
                    self.variable_in(letters)?;
                    letters[from..].iter_mut().for_each(|letter| {
                        *letter = if *letter == Letter::Many {
                            Letter::One
                        } else {
                            *letter
                        };
                    });
                }
                '`' if signs == DOUBLE => {
                    let c = self.escape()?;
                    letters.push(Letter::Quoted(c));
                }
                _ if signs.contains(c) => {
                    self.step(c.len_utf8());
                    let again = self.next().filter(|c| signs.contains(*c));
                    let Some(c) = again else { return Ok(()) };
                    letters.push(Letter::Quoted(c));
                    self.step(c.len_utf8());
                }
                // Cmdlets expand these, quoted or not.
                '*' | '?' | '[' | ']' => {
                    letters.push(Letter::Bare(c));
                    self.step(1);
                }
                c => {
                    letters.push(Letter::Quoted(c));
                    self.step(c.len_utf8());
                }
            }
        }
    }

    /// `$x`, `${x}`, `$env:x`, `$(…)`; a dollar alone is a letter.
    fn variable_in(&mut self, letters: &mut Vec<Letter>) -> Result<(), Reason> {
        if self.sees("$(") {
            self.step(1);
            self.block("(", ")")?;
            letters.push(Letter::Many);
            return Ok(());
        }
        self.step(1);
        let rest = self.rest();
        let length = match rest.strip_prefix('{') {
            Some(name) => name.find('}').ok_or(Reason::Syntax)? + 2,
            None => {
                let letter = |c: char| c.is_alphanumeric() || "_:".contains(c);
                let named = rest.find(|c: char| !letter(c)).unwrap_or(rest.len());
                match named {
                    0 => usize::from(rest.starts_with(['?', '$', '^'])),
                    named => named,
                }
            }
        };
        self.step(length);
        if length == 0 {
            letters.push(Letter::Quoted('$'));
            return Ok(());
        }
        letters.push(Letter::Many);
        // An index is an expression.
        match self.next() {
            Some('[' | '(') => Err(Reason::Syntax),
            _ => Ok(()),
        }
    }
}
