//! Shells: a text, a file, or what they read.

use super::Inner;
use crate::Shell;
use crate::script::{Command, Kind, Word};

/// What a POSIX shell is given.
pub(super) fn shell(command: &Command) -> Vec<Inner> {
    let words = &command.words;
    let mut at = 1;
    let mut text = false;
    let mut reads = false;
    while let Some(word) = words.get(at) {
        if word.dynamic && word.could_be_option() {
            return vec![Inner::Unknown];
        }
        let option = word.text.as_str();
        at += match option {
            "--rcfile" | "--init-file" | "--emulate" => 2,
            "--version" | "--help" => return Vec::new(),
            "--" | "-" => {
                at += 1;
                break;
            }
            "--command" | "--init-command" => {
                text = true;
                1
            }
            _ if option.starts_with("--command=") || option.starts_with("--init-command=") => {
                let (_, value) = option.split_once('=').unwrap_or_default();
                return vec![Inner::Text(value.to_owned(), Shell::Posix)];
            }
            _ if option.starts_with("--") => 1,
            _ if option.starts_with(['-', '+']) => {
                text |= option.contains('c');
                reads |= option.contains('s');
                // `-o` takes the next word, wherever it is in a cluster.
                1 + option.matches(['o', 'O']).count()
            }
            _ => break,
        };
    }
    match words.get(at) {
        Some(word) if text => match word.literal() {
            Some(text) => vec![Inner::Text(text.to_owned(), Shell::Posix)],
            None => vec![Inner::Unknown],
        },
        Some(file) if !reads && !is_standard_input(file) => Vec::new(),
        _ => given(command),
    }
}

/// Whether a file is not one that was written down: what is read is not known.
pub(super) fn is_standard_input(file: &Word) -> bool {
    let streams = ["/dev/", "/proc/"];
    file.text == "-"
        || (file.dynamic && file.text.is_empty())
        || streams.iter().any(|dir| file.text.starts_with(dir))
}

/// The text of a here-document or here-string; else nobody knows what it reads.
pub(super) fn given(command: &Command) -> Vec<Inner> {
    let last = command.redirections.iter().rev().find(|of| {
        matches!(of.kind, Kind::Here | Kind::Read | Kind::ReadWrite) || of.target.dynamic
    });
    match last {
        Some(of) if of.kind == Kind::Here && !of.target.dynamic => {
            vec![Inner::Text(of.target.text.clone(), Shell::Posix)]
        }
        _ => vec![Inner::Unknown],
    }
}

/// What PowerShell is given: an option may be cut short.
pub(super) fn powershell(command: &Command) -> Vec<Inner> {
    let mut words = command.words.iter().skip(1);
    while let Some(word) = words.next() {
        if word.dynamic {
            return vec![Inner::Unknown];
        }
        let text = word.text.to_lowercase();
        let Some(option) = text.strip_prefix(['-', '/']) else {
            return vec![Inner::Unknown];
        };
        let is = |name: &str| !option.is_empty() && name.starts_with(option);
        if is("command") || is("commandwithargs") {
            let rest: Option<Vec<&str>> = words.map(Word::literal).collect();
            return vec![rest.map_or(Inner::Unknown, |rest| {
                Inner::Text(rest.join(" "), Shell::PowerShell)
            })];
        }
        if is("file") {
            return Vec::new();
        }
        if is("version") || is("help") {
            return Vec::new();
        }
        if !(is("noprofile") || is("noninteractive") || is("nologo") || is("executionpolicy")) {
            return vec![Inner::Unknown];
        }
        if is("executionpolicy") {
            words.next();
        }
    }
    vec![Inner::Unknown]
}
