//! What wrappers run, as commands of their own behind them.

mod forms;
mod shells;

use crate::script::{Assignment, Before, Command, How, Out, Reason, Word, base_name};
use crate::wrappers::{Form, WRAPPERS, Wrapper, operands, subcommands};
use crate::{DEPTH_MAX, Shell, posix, read_into};

/// The most places where a wrapper's command may begin; where there are more, nobody knows.
const PLACES_MAX: usize = 16;

/// What a command runs.
#[derive(Debug, Clone)]
enum Inner {
    /// These words; the place among the outer's words where they begin.
    Words(Vec<Word>, Option<usize>, Vec<Assignment>),
    /// A text for a shell.
    Text(String, Shell),
    /// Nobody knows.
    Unknown,
}

/// Adds what the commands from `first` on run.
pub(crate) fn unfold(out: &mut Out, first: usize, depth: u32) -> Result<(), Reason> {
    let read = out.commands.split_off(first);
    let mut places = Vec::with_capacity(read.len());
    for mut command in read {
        if let Some(inside) = &mut command.inside
            && *inside >= first
        {
            *inside = places.get(*inside - first).copied().unwrap_or(first);
        }
        let place = out.push(command)?;
        places.push(place);
        add_inner(out, place, depth)?;
    }
    Ok(())
}

fn add_inner(out: &mut Out, place: usize, depth: u32) -> Result<(), Reason> {
    let command = out.commands[place].clone();
    if let Some(reason) = posix::evaluates(&command) {
        return Err(reason);
    }
    forms::redefines(&command, &mut out.redefined);
    for inner in of(&command) {
        if depth >= DEPTH_MAX {
            return Err(Reason::TooDeep);
        }
        let added = |words, assignments, how| Command {
            words,
            assignments,
            before: Before::Start,
            inside: Some(place),
            how,
            depth: depth + 1,
            ..Command::default()
        };
        match inner {
            Inner::Words(words, from, assignments) => {
                let mut command = added(words, assignments, How::Wrapped);
                command.from = from;
                let at = out.push(command)?;
                add_inner(out, at, depth + 1)?;
            }
            Inner::Unknown => {
                out.push(added(vec![Word::unknown()], Vec::new(), How::Text))?;
            }
            Inner::Text(text, shell) => {
                let begin = out.commands.len();
                read_into(&text, shell, depth + 1, None, out)?;
                for command in &mut out.commands[begin..] {
                    if command.inside.is_none() {
                        (command.inside, command.how) = (Some(place), How::Text);
                    }
                }
            }
        }
    }
    Ok(())
}

/// What this command runs beside itself.
fn of(command: &Command) -> Vec<Inner> {
    let Some(name) = command.name() else {
        return Vec::new();
    };
    let name = name.strip_suffix(".exe").unwrap_or(name);
    if name == "command"
        && command
            .words
            .iter()
            .any(|word| matches!(word.text.as_str(), "-v" | "-V"))
    {
        return Vec::new();
    }
    let mut found = forms::special(name, command);
    for row in WRAPPERS {
        for (begin, names) in starts(row, name, &command.words) {
            let words = &command.words;
            found.extend(match row.form {
                Form::Shell => shells::shell(command),
                Form::PowerShell => shells::powershell(command),
                _ => by_row(row, names, words, begin),
            });
        }
    }
    if name == "parallel" {
        append(&mut found);
    }
    found
}

/// Where the words of a row begin, with the name: behind its program, or behind its subcommand.
fn starts<'w>(row: &Wrapper, name: &'w str, words: &[Word]) -> Vec<(usize, &'w str)> {
    let has = |list: &str, word: &str| list.split(' ').any(|known| known == word);
    let sub = |from: &[usize], program: &str| {
        let behind = |at: &usize| {
            words[*at]
                .could(|known| has(row.subs, known), |_| true)
                .then_some(at + 1)
        };
        let compose = has(row.names, &format!("{program}%compose"));
        let nested = from
            .iter()
            .filter(|at| compose && words[**at].could_be("compose"));
        let deeper = nested.flat_map(|at| {
            let inner = subcommands("compose", &words[*at..]);
            inner
                .into_iter()
                .map(|place| place + at)
                .collect::<Vec<_>>()
        });
        let plain = from.iter().filter(|_| has(row.names, program)).copied();
        let places: Vec<usize> = plain.chain(deeper).collect();
        places.iter().filter_map(behind).collect::<Vec<_>>()
    };
    match row.subs.is_empty() {
        true if has(row.names, name) => vec![(1, name)],
        true => Vec::new(),
        false => sub(&subcommands(name, words), name)
            .into_iter()
            .map(|at| (at, name))
            .collect(),
    }
}

fn by_row(row: &Wrapper, name: &str, words: &[Word], begin: usize) -> Vec<Inner> {
    let mut found = Vec::new();
    let (mut places, unsure) = operands(words, begin, row.values, row.flags);
    if let Form::Option(options) | Form::OnlyOption(options) = row.form {
        let texts = option_texts(words, begin, options);
        // `nix develop -c` takes words, not a text.
        if name == "nix" {
            return texts
                .first()
                .map_or_else(Vec::new, |(at, _)| vec![words_from(words, *at)]);
        }
        if !texts.is_empty() || matches!(row.form, Form::OnlyOption(_)) {
            return texts.into_iter().map(|(_, inner)| inner).collect();
        }
    }
    if row.form == Form::Dashes
        && let Some(at) = words.iter().skip(begin).position(|word| word.text == "--")
    {
        places = vec![begin + at + 1];
    } else {
        for _ in 0..row.skip.min(words.len()) {
            places = places
                .iter()
                .flat_map(|at| operands(words, at + 1, row.values, row.flags).0)
                .collect();
            places.sort_unstable();
            places.dedup();
            places.truncate(PLACES_MAX + 1);
        }
    }
    let many = places.len() > PLACES_MAX;
    places.truncate(PLACES_MAX);
    if unsure || many || row.form == Form::Unknown {
        found.push(Inner::Unknown);
    }
    for at in places.into_iter().filter(|at| *at < words.len()) {
        match row.form {
            Form::Joined | Form::Each => {
                let texts: Vec<&[Word]> = match row.form {
                    Form::Each => words[at..].chunks(1).collect(),
                    _ => vec![&words[at..]],
                };
                found.extend(texts.into_iter().map(joined));
            }
            _ => found.push(words_from(words, at)),
        }
    }
    if base_name(name).ends_with("xargs") {
        append(&mut found);
    }
    found
}

/// What a program appends is not known.
fn append(found: &mut [Inner]) {
    for inner in found {
        match inner {
            Inner::Words(words, ..) => {
                for word in words.iter_mut().filter(|word| word.text.contains("{}")) {
                    make_dynamic(word);
                }
                words.push(Word::unknown());
            }
            Inner::Text(text, _) => text.push_str(" \"$@\""),
            Inner::Unknown => {}
        }
    }
}

fn make_dynamic(word: &mut Word) {
    let known = word.text.find("{}").unwrap_or(0);
    word.text.truncate(known);
    (word.dynamic, word.one) = (true, true);
}

/// The words from `at` on, with the variables before them.
fn words_from(words: &[Word], at: usize) -> Inner {
    let mut at = at;
    let mut assignments = Vec::new();
    while let Some(word) = words.get(at)
        && let Some((name, value)) = word.text.split_once('=')
        && !name.is_empty()
        && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
    {
        let value = Word {
            text: value.to_owned(),
            ..word.clone()
        };
        let (name, append) = (name.to_owned(), false);
        assignments.push(Assignment {
            name,
            value,
            append,
        });
        at += 1;
    }
    Inner::Words(words[at..].to_vec(), Some(at), assignments)
}

/// Words joined by blanks, read as a text.
fn joined(words: &[Word]) -> Inner {
    let known: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
    match known {
        Some(known) => Inner::Text(known.join(" "), Shell::Posix),
        None => Inner::Unknown,
    }
}

/// The values of these options: the place of each, and what it runs.
fn option_texts(words: &[Word], begin: usize, options: &str) -> Vec<(usize, Inner)> {
    let mut found = Vec::new();
    let text = |word: &Word| match word.literal() {
        Some(text) => Inner::Text(text.to_owned(), Shell::Posix),
        None => Inner::Unknown,
    };
    for (at, word) in words.iter().enumerate().skip(begin) {
        for option in options.split(' ') {
            let long = option.starts_with("--");
            if word.text == option {
                found.extend(words.get(at + 1).map(|value| (at + 1, text(value))));
            } else if let Some(value) = word.text.strip_prefix(option)
                && let Some(value) = if long {
                    value.strip_prefix('=')
                } else {
                    Some(value)
                }
                && !word.text.starts_with("---")
                && (long || !word.text.starts_with("--"))
            {
                let value = Word {
                    text: value.to_owned(),
                    ..word.clone()
                };
                found.push((at, text(&value)));
            }
        }
    }
    found
}
