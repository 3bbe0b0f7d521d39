//! Lists: commands and the operators between them.

use super::Reader;
use crate::script::{Before, Reason};

/// Words that are no programs where a command begins.
pub(super) const KEYWORDS: [&str; 20] = [
    "if", "then", "elif", "else", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "select", "in", "{", "}", "!", "function", "time", "[[",
];

impl Reader<'_, '_> {
    /// Commands up to the end of the text, a `)`, `;;` or a keyword that ends a list.
    pub(super) fn list(&mut self, mut before: Before) -> Result<(), Reason> {
        loop {
            if self.lines()? && before == Before::Start {
                before = Before::Start;
            }
            if self.at_end_of_list() {
                return Ok(());
            }
            self.and_or(before)?;
            self.blanks();
            self.remark();
            before = match self.next() {
                None | Some(')') => return Ok(()),
                Some('\n') => Before::Line,
                Some(';') if self.sees(";;") || self.sees(";&") => return Ok(()),
                Some(';') => {
                    self.step(1);
                    Before::Semicolon
                }
                Some('&') => {
                    self.step(1);
                    Before::Background
                }
                // Behind `fi`, `done`, `}` or `)` a keyword may follow at once.
                _ if self.ends_with_compound() && self.at_end_of_list() => return Ok(()),
                _ => return Err(Reason::Syntax),
            };
        }
    }

    fn ends_with_compound(&self) -> bool {
        self.text[..self.at]
            .trim_end()
            .ends_with([')', '}', 'i', 'e', 'c', ']'])
    }

    fn at_end_of_list(&self) -> bool {
        let ends = ["then", "elif", "else", "fi", "do", "done", "esac", "}"];
        matches!(self.next(), None | Some(')'))
            || self.sees(";;")
            || self.sees(";&")
            || ends.contains(&self.keyword())
    }

    /// The word that begins here, if it is a keyword.
    pub(super) fn keyword(&self) -> &'static str {
        let word = self.bare_word();
        let known = KEYWORDS.iter().find(|known| **known == word);
        known.copied().unwrap_or("")
    }

    fn bare_word(&self) -> &str {
        let rest = self.rest();
        let end = rest.find(|c: char| c.is_ascii_whitespace() || ";&|()<>".contains(c));
        &rest[..end.unwrap_or(rest.len())]
    }

    fn and_or(&mut self, mut before: Before) -> Result<(), Reason> {
        loop {
            self.pipeline(before)?;
            self.blanks();
            before = match () {
                () if self.take("&&") => Before::And,
                () if self.take("||") => Before::Or,
                () => return Ok(()),
            };
            self.lines()?;
        }
    }

    fn pipeline(&mut self, mut before: Before) -> Result<(), Reason> {
        loop {
            match self.keyword() {
                "!" => self.step(1),
                "time" => {
                    let begin = self.at;
                    self.step(4);
                    self.blanks();
                    while ["-p", "--"].contains(&self.bare_word()) {
                        self.step(2);
                        self.blanks();
                    }
                    // Another option is the program's of that name.
                    if self.next() == Some('-') {
                        self.at = begin;
                        break;
                    }
                }
                _ => break,
            }
            self.blanks();
        }
        loop {
            self.command(before)?;
            self.blanks();
            if self.sees("||") || !(self.take("|&") || self.take("|")) {
                return Ok(());
            }
            before = Before::Pipe;
            self.lines()?;
        }
    }
}
