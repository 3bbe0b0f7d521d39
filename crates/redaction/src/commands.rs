//! Credentials that a command takes in a place of its own: `curl -u ada:…`, `mysql -p…`, `vault login …`.
//!
//! A program is looked for anywhere in a text, also inside of JSON, so words are split as simply as that allows.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::lines;
use super::names::{is_maybe_secret_key, is_random, is_secret_key};
use super::spans::{means_nothing, quoted};
use super::tokens::begins_here;

/// Words of one command that are read, and its bytes.
const WORDS: usize = 48;
const BYTES: usize = 4_096;
/// Commands of one text that are read: a text that is nothing but names of programs takes no time.
const COMMANDS: usize = 512;

/// A line each; the first lines of the file say how to read it.
const CREDENTIALS: &str = include_str!("commands.txt");

/// How a command takes a credential.
#[derive(Clone, Copy)]
struct Credential {
    /// Words or options that the command must have, all of them.
    with: &'static str,
    /// Options, numbers of plain words, or [`NAMED`], [`PAIRS`], [`LAST`].
    places: &'static str,
    /// The credential begins after this character; where it is missing there is none.
    after: Option<char>,
}

/// An option with this at its end takes its value without a blank only: alone it asks at the terminal.
const ATTACHED: char = '+';
/// A place with this before it holds a credential only where its value looks random.
const RANDOM: char = '?';
/// A word that a command must have with this at its end is the beginning of one.
const BEGINS: char = '*';
/// What follows a plain word that is the name of a secret.
const NAMED: &str = "NAMED";
/// What follows `=` in every plain word.
const PAIRS: &str = "PAIRS";
/// The last plain word.
const LAST: &str = "LAST";

struct Programs {
    names: AhoCorasick,
    /// What each of them takes.
    takes: Vec<Vec<Credential>>,
}

static PROGRAMS: LazyLock<Option<Programs>> = LazyLock::new(|| {
    let mut rows: BTreeMap<&str, Vec<Credential>> = BTreeMap::new();
    for line in lines(CREDENTIALS) {
        let mut cells = line.split(';').map(str::trim);
        let programs = cells.next()?;
        let row = Credential {
            with: cells.next()?,
            places: cells.next()?,
            after: cells.next()?.chars().next(),
        };
        for name in programs.split(' ') {
            rows.entry(name).or_default().push(row);
        }
    }
    let names = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .match_kind(MatchKind::LeftmostLongest)
        .build(rows.keys());
    Some(Programs {
        names: names.ok()?,
        takes: rows.into_values().collect(),
    })
});

/// Where commands in a text have credentials.
pub(super) fn credentials(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut commands) = (Vec::new(), 0);
    let Some(programs) = &*PROGRAMS else {
        return found;
    };
    for hit in programs.names.find_iter(text) {
        let rest = &text[hit.end()..];
        let rest = rest.strip_prefix(".exe").unwrap_or(rest);
        if !rest.starts_with([' ', '\t']) || !begins_here(text, hit.start()) {
            continue;
        }
        commands += 1;
        if commands > COMMANDS {
            break;
        }
        let command = Command::at(text, text.len() - rest.len());
        for row in &programs.takes[hit.pattern().as_usize()] {
            command.find(row, &mut found);
        }
    }
    found
}

/// The words after a program, as places in the text, with their quotation marks.
struct Command<'t> {
    text: &'t str,
    words: Vec<Range<usize>>,
}

impl<'t> Command<'t> {
    fn at(text: &'t str, mut at: usize) -> Self {
        let mut end = text.len().min(at + BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];
        let mut words = Vec::new();
        while words.len() < WORDS {
            at += blanks(&text[at..]);
            let length = word(&text[at..]);
            if length == 0 {
                break;
            }
            words.push(at..at + length);
            at += length;
            // Anything else than a blank ends the command, such as the quotation mark around all of it.
            if blanks(&text[at..]) == 0 {
                break;
            }
        }
        Self { text, words }
    }

    fn word(&self, number: usize) -> &'t str {
        let at = self.words.get(number).cloned().unwrap_or_default();
        &self.text[at]
    }

    fn has(&self, wanted: &str) -> bool {
        (0..self.words.len()).any(|at| {
            let word = self.word(at);
            is(word, wanted)
                || bundle(word, wanted).is_some_and(|(letters, one)| letters.contains(one))
        })
    }

    fn find(&self, row: &Credential, found: &mut Vec<Range<usize>>) {
        if !row.with.split_whitespace().all(|wanted| self.has(wanted)) {
            return;
        }
        let last_with = row.with.split(' ').next_back().unwrap_or_default();
        let begin = (0..self.words.len()).find(|at| is(self.word(*at), last_with));
        let plain: Vec<usize> = (begin.map_or(0, |at| at + 1)..self.words.len())
            .filter(|at| !self.word(*at).starts_with('-'))
            .collect();
        let mut put = |at: Option<Range<usize>>, after| {
            found.extend(at.and_then(|at| self.secret(at, after)));
        };
        for place in row.places.split(' ') {
            let random = place.starts_with(RANDOM);
            let place = place.trim_start_matches(RANDOM);
            let whole = |at: usize| {
                let word = self.words.get(at).cloned();
                word.filter(|word| !random || is_random(&self.text[word.clone()]))
            };
            match (place, place.parse::<usize>()) {
                (NAMED, _) => {
                    for at in &plain {
                        let (name, value) = (self.word(*at), self.word(at + 1));
                        let maybe = is_maybe_secret_key(name) && is_random(value);
                        put(whole(at + 1).filter(|_| maybe || is_secret_key(name)), None);
                    }
                }
                (PAIRS, _) => plain.iter().for_each(|at| put(whole(*at), Some('='))),
                (LAST, _) => put(plain.last().and_then(|at| whole(*at)), row.after),
                (_, Ok(number)) => {
                    put(plain.get(number - 1).and_then(|at| whole(*at)), row.after);
                }
                (option, Err(_)) => {
                    let values = (0..self.words.len()).filter_map(|at| self.value(option, at));
                    let fits = |at: &Range<usize>| !random || is_random(&self.text[at.clone()]);
                    let mut values = values.filter(fits);
                    match row.after {
                        // A second one is of a command that this one runs: `sshpass -p … ssh -p 22`.
                        None => put(values.next(), None),
                        Some(_) => values.for_each(|at| put(Some(at), row.after)),
                    }
                }
            }
        }
    }

    /// The value of an option at this word.
    fn value(&self, option: &str, at: usize) -> Option<Range<usize>> {
        let word = self.word(at);
        let name = option.trim_end_matches(ATTACHED);
        let next = self.words.get(at + 1).filter(|_| name == option).cloned();
        if word == name {
            return next;
        }
        let rest = word.strip_prefix(name);
        let attached =
            rest.filter(|rest| rest.starts_with('=') || name.len() == 2 || name != option);
        match attached {
            Some(rest) => {
                let value = rest.strip_prefix('=').unwrap_or(rest);
                let end = self.words[at].end;
                Some(end - value.len()..end)
            }
            None => next.filter(|_| {
                bundle(word, name).is_some_and(|(letters, one)| letters.ends_with(one))
            }),
        }
    }

    /// The credential in a word; none where it is a variable, an option or nothing.
    fn secret(&self, at: Range<usize>, after: Option<char>) -> Option<Range<usize>> {
        let word = &self.text[at.clone()];
        let begin = match after {
            None => 0,
            Some(mark) => word.find(mark)? + mark.len_utf8(),
        };
        let marks = ['"', '\'', '\\'];
        let value = &word[begin..];
        let begin = at.end - value.trim_start_matches(marks).len();
        let mut value = value.trim_matches(marks);
        if after == Some('/') {
            // `user/password@database`
            value = value.split('@').next().unwrap_or_default();
        }
        let literal = word.starts_with('\'');
        let variable = value.starts_with('`')
            || value.strip_prefix('$').is_some_and(|rest| {
                rest.starts_with(|c: char| c.is_ascii_alphabetic() || "{(_".contains(c))
            });
        let option = after.is_none() && word.starts_with('-');
        let none = value.is_empty() || option || (variable && !literal) || means_nothing(value);
        (!none).then_some(begin..begin + value.len())
    }
}

/// Whether a word is the one that a command must have.
fn is(word: &str, wanted: &str) -> bool {
    let begins = wanted.strip_suffix(BEGINS);
    begins.map_or(word == wanted, |begins| word.starts_with(begins))
}

/// The letters of `-fsu` and of an option such as `-u`, which may be one of them.
fn bundle<'t>(word: &'t str, option: &'t str) -> Option<(&'t str, &'t str)> {
    let letters = word.strip_prefix('-')?;
    let one = option.strip_prefix('-').filter(|one| one.len() == 1)?;
    let all = letters.bytes().all(|letter| letter.is_ascii_alphabetic());
    (all && letters.len() <= 8).then_some((letters, one))
}

/// Bytes of blanks; a line that goes on after a backslash is one, in JSON too.
fn blanks(text: &str) -> usize {
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start_matches([' ', '\t']);
        let next = ["\\\r\n", "\\\n", "\\\\\\n"]
            .iter()
            .find_map(|joint| trimmed.strip_prefix(joint));
        match next {
            Some(next) => rest = next,
            None => return text.len() - trimmed.len(),
        }
    }
}

/// Bytes of the word that begins here, with its quotation marks; 0 where the command ends.
fn word(text: &str) -> usize {
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let mark = ["\\\"", "\\'", "\"", "'"]
            .into_iter()
            .find(|mark| rest.starts_with(mark));
        at += match (c, mark) {
            (_, Some(mark)) => {
                // In the middle of a word it is the end of what is around the command.
                let opens = at == 0
                    || text.starts_with('-')
                    || text[..at].ends_with(['=', ':', ',', '\'', '"']);
                if !opens {
                    return at;
                }
                quoted(rest, mark).end
                    + if quoted(rest, mark).end < rest.len() {
                        mark.len()
                    } else {
                        0
                    }
            }
            ('\\', _) if rest[1..].starts_with(['n', 'r', '\n', '\r', '\\']) => return at,
            ('\\', _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (' ' | '\t' | '\n' | '\r' | ';' | '&' | '|' | '(' | ')' | '<' | '>' | '`', _) => {
                return at;
            }
            _ => c.len_utf8(),
        };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_looked_for() {
        assert!(PROGRAMS.is_some());
    }
}
