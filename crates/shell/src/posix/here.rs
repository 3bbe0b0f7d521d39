//! Here-documents.

use super::{Letter, Reader};
use crate::script::{Reason, Word};

/// A here-document whose text comes later.
pub(super) struct Pending {
    /// The redirection: of which command, and which of them.
    pub(super) place: (usize, usize),
    pub(super) end: String,
    pub(super) quoted: bool,
    pub(super) tabs: bool,
    /// Not standard input.
    pub(super) other: bool,
}

impl Reader<'_, '_> {
    /// Reads the text behind the line.
    pub(super) fn here_document(&mut self, pending: Pending) -> Result<(), Reason> {
        let begin = self.at;
        let mut body = String::new();
        let mut goes_on = false;
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                return Err(Reason::Syntax);
            }
            let length = rest.find('\n').unwrap_or(rest.len());
            let line = &rest[..length];
            let bare = if pending.tabs {
                line.trim_start_matches('\t')
            } else {
                line
            };
            let ends = bare == pending.end;
            // Whether a line behind a backslash can be the last one differs between shells.
            if ends && goes_on {
                return Err(Reason::Syntax);
            }
            if ends {
                break;
            }
            let slashes = line.len() - line.trim_end_matches('\\').len();
            goes_on = !pending.quoted && slashes % 2 == 1;
            body.push_str(bare);
            body.push('\n');
            self.step((length + 1).min(rest.len()));
        }
        let text_end = self.at;
        let rest = self.rest();
        // The line's own end stays: it ends the command.
        self.step(rest.find('\n').map_or(rest.len(), |at| at + 1));
        let (command, redirection) = pending.place;
        let mut word = match pending.quoted {
            true => Word::literal_of(&body),
            false => {
                let after = self.at;
                self.at = begin;
                let word = self.here_text(text_end, command)?;
                self.at = after;
                match word.dynamic {
                    true => word,
                    false => Word::literal_of(&body.replace("\\\n", "")),
                }
            }
        };
        word.dynamic |= pending.other;
        if let Some(of) = self.out.commands[command].redirections.get_mut(redirection) {
            of.target = word;
        }
        Ok(())
    }

    /// The expansions of a here-document that is not quoted, up to `end`.
    fn here_text(&mut self, end: usize, command: usize) -> Result<Word, Reason> {
        let mut word = Word {
            one: true,
            ..Word::default()
        };
        let (whole, begin) = (self.text, self.at);
        self.text = &whole[..end];
        let read = self.within_command(command, |reader| {
            while let Some(c) = reader.next() {
                match c {
                    '$' | '`' => {
                        let hole = reader.expansion(true)?;
                        word.dynamic |= !matches!(hole, Letter::Bare(_));
                    }
                    '\\' => {
                        reader.at += 1;
                        let escaped = reader.next();
                        if let Some(c) = escaped {
                            // What an escape comes to matters only to a text that is run: leave that unknown.
                            word.dynamic |= c != '\n';
                            reader.at += c.len_utf8();
                        }
                    }
                    c => reader.at += c.len_utf8(),
                }
            }
            Ok(())
        });
        if word.dynamic {
            word.shapes.push(whole[begin..end].to_owned());
        }
        self.text = whole;
        read.map(|()| word)
    }
}
