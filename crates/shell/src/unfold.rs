//! What wrappers run, as commands of their own behind them.

mod forms;
mod shells;

use crate::options::{has, operands, subcommands};
use crate::script::{Assignment, Before, Command, How, Out, Reason, Word};
use crate::wrappers::{Form, WRAPPERS, Wrapper};
use crate::{DEPTH_MAX, Shell, posix, powershell, read_into};

/// The most places where a wrapper's command may begin; where there are more, nobody knows.
const PLACES_MAX: usize = 16;

/// What a command runs.
#[derive(Debug, Clone)]
pub(crate) enum Inner {
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
    if posix::doubts(&command) {
        out.doubt();
    }
    out.evaluates |= posix::computes(&command);
    forms::redefines(&command, &mut out.redefined)?;
    powershell::redefines(
        &command.name().unwrap_or_default(),
        &command,
        &mut out.redefined,
    )?;
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
                out.commands[place].texts.push(text.clone());
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

/// Programs that run a shell where they are given nothing to run.
const SHELLS_ALONE: &str = "su runuser chroot unshare nsenter script ssh nix-shell parallel";

/// What this command runs beside itself.
fn of(command: &Command) -> Vec<Inner> {
    let Some(name) = command.name() else {
        return Vec::new();
    };
    let words = &command.words;
    let asks = |word: &Word| word.text.starts_with('-') && word.text.contains(['v', 'V']);
    let options = words
        .iter()
        .skip(1)
        .take_while(|word| word.text.starts_with('-'));
    if name == "command" && options.into_iter().any(asks) {
        return Vec::new();
    }
    let mut found = forms::special(&name, command);
    found.extend(powershell::runs(&name, command));
    for row in WRAPPERS {
        for begin in starts(row, &name, words) {
            found.extend(match row.form {
                Form::Shell => shells::shell(command),
                Form::PowerShell => shells::powershell(command),
                _ => by_row(row, &name, words, begin),
            });
        }
    }
    let login = |word: &Word| {
        let text = word.text.as_str();
        let cluster = text.starts_with('-') && !text.starts_with("--") && text.contains(['s', 'i']);
        cluster || text == "--shell" || text == "--login"
    };
    let alone = has(SHELLS_ALONE, &name) || (has("sudo doas", &name) && words.iter().any(login));
    if alone && found.is_empty() {
        found.push(Inner::Unknown);
    }
    found
}

/// Where the words of a row begin: behind its program, or behind its subcommand.
fn starts(row: &Wrapper, name: &str, words: &[Word]) -> Vec<usize> {
    if row.subs.is_empty() {
        return if has(row.names, name) {
            vec![1]
        } else {
            Vec::new()
        };
    }
    let from = subcommands(name, words).0;
    let mut places = if has(row.names, name) {
        from.clone()
    } else {
        Vec::new()
    };
    // `docker compose exec`, `docker container exec`, `uv tool run`, `yarn workspace NAME exec`.
    for nested in ["compose", "container", "tool", "workspace"] {
        if has(row.names, &format!("{name}%{nested}")) {
            for at in from.iter().filter(|at| words[**at].could_be(nested)) {
                let mut inner = subcommands(nested, &words[*at..]).0;
                if nested == "workspace" {
                    inner = inner
                        .iter()
                        .flat_map(|name| operands(&words[*at..], name + 1, "", "").0)
                        .collect();
                }
                places.extend(inner.into_iter().map(|place| place + at));
            }
        }
    }
    let is = |at: &usize| words[*at].could(|known| has(row.subs, known), |_| true);
    places.into_iter().filter(is).map(|at| at + 1).collect()
}

fn by_row(row: &Wrapper, name: &str, words: &[Word], begin: usize) -> Vec<Inner> {
    let mut found = Vec::new();
    let (options, only) = match row.form {
        Form::Option(options) => (options, false),
        Form::OnlyOption(options) => (options, true),
        _ => ("", false),
    };
    let texts = option_texts(words, begin, options, row.values);
    // `nix develop -c` takes words, not a text.
    if name == "nix" {
        return texts
            .first()
            .map_or_else(Vec::new, |(at, _)| vec![words_from(words, *at)]);
    }
    let values = format!("{} {options}", row.values);
    let (mut places, unsure) = operands(words, begin, &values, row.flags);
    // The text of `env -S` goes on with the words behind it.
    if name == "env"
        && let Some((at, value)) = texts.first()
        && places.first().is_none_or(|place| at <= place)
    {
        return vec![split_string(value, &words[at + 1..])];
    }
    found.extend(texts.iter().map(|(_, value)| text_of(value)));
    if only {
        return found;
    }
    if row.form == Form::Dashes
        && let Some(at) = words.iter().skip(begin).position(|word| word.text == "--")
    {
        places = vec![begin + at + 1];
    } else {
        for _ in 0..row.skip.min(words.len()) {
            places = places
                .iter()
                .flat_map(|at| operands(words, at + 1, &values, row.flags).0)
                .collect();
            places.sort_unstable();
            places.dedup();
            places.truncate(PLACES_MAX + 1);
        }
    }
    let last = places
        .last()
        .map_or(words.len(), |at| (*at).min(words.len()));
    let many = places.len() > PLACES_MAX;
    places.truncate(PLACES_MAX);
    if unsure || many || row.form == Form::Unknown {
        found.push(Inner::Unknown);
    }
    let end = match name {
        "parallel" => words.iter().position(|word| word.text.starts_with(":::")),
        _ => None,
    };
    let end = end.unwrap_or(words.len());
    for at in places.into_iter().filter(|at| *at < end) {
        match row.form {
            Form::Each => found.extend(words[at..].chunks(1).map(joined)),
            Form::Joined => found.push(joined(&words[at..end])),
            _ => found.push(words_from(words, at)),
        }
    }
    // An image's own program is another one: what follows are words of that.
    let entry = if has(row.values, "--entrypoint") {
        "--entrypoint"
    } else {
        ""
    };
    for (at, value) in option_texts(words, begin, entry, "") {
        let behind = found.iter().find_map(|inner| match inner {
            Inner::Words(_, Some(from), _) if *from > at => Some(&words[*from..]),
            _ => None,
        });
        found.push(Inner::Words(
            [&[value], behind.unwrap_or_default()].concat(),
            None,
            Vec::new(),
        ));
    }
    if matches!(name, "xargs" | "parallel") {
        append(&mut found, &replaced(&words[..last]));
    }
    found
}

/// What `env -S` makes of a text and the words behind it; escapes and variables of its own are not known.
fn split_string(value: &Word, behind: &[Word]) -> Inner {
    let mut text = match value.literal() {
        Some(text) if !text.contains(['\\', '$']) => text.to_owned(),
        _ => return Inner::Unknown,
    };
    for word in behind {
        match word.literal().filter(|word| !word.contains('\'')) {
            Some(word) => text.push_str(&format!(" '{word}'")),
            None => text.push_str(" \"$@\""),
        }
    }
    Inner::Text(text, Shell::Posix)
}

/// What `xargs` and its like put their input in place of.
fn replaced(words: &[Word]) -> Vec<String> {
    let mut marks = vec!["{}".to_owned()];
    for option in ["-I", "-i", "-J", "--replace"] {
        let values = option_texts(words, 1, option, "").into_iter();
        marks.extend(
            values
                .map(|(_, value)| value.text)
                .filter(|mark| !mark.is_empty()),
        );
    }
    marks
}

/// What a program appends or puts in is not known.
fn append(found: &mut [Inner], marks: &[String]) {
    for inner in found {
        match inner {
            Inner::Words(words, ..) => {
                marks.iter().for_each(|mark| make_dynamic(words, mark));
                words.push(Word::unknown());
            }
            Inner::Text(text, _) if text.contains('{') || marks.len() > 1 => {
                *inner = Inner::Unknown
            }
            Inner::Text(text, _) => text.push_str(" \"$@\""),
            Inner::Unknown => {}
        }
    }
}

/// Words with this mark in them are not known behind it.
fn make_dynamic(words: &mut [Word], mark: &str) {
    for word in words {
        if let Some(known) = word.text.find(mark) {
            word.text.truncate(known);
            (word.dynamic, word.one) = (true, true);
        }
    }
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

fn text_of(word: &Word) -> Inner {
    match word.literal() {
        Some(text) => Inner::Text(text.to_owned(), Shell::Posix),
        None => Inner::Unknown,
    }
}

/// The values of these options, and the place of each: `-c x`, `-cx`, `-lc x`, `--command x`, `--command=x`.
/// `values`: options that take what follows in their cluster.
fn option_texts(words: &[Word], begin: usize, options: &str, values: &str) -> Vec<(usize, Word)> {
    let mut found = Vec::new();
    if options.is_empty() {
        return found;
    }
    for (at, word) in words.iter().enumerate().skip(begin) {
        for option in options.split(' ') {
            let letter = option.strip_prefix('-').filter(|rest| rest.len() == 1);
            let glued = match (letter, word.text.strip_prefix('-')) {
                (Some(letter), Some(cluster)) if !cluster.starts_with('-') => {
                    let place = cluster.find(letter);
                    let clear = |place: &usize| {
                        let mut before = cluster[..*place].chars();
                        !before.any(|c| has(values, &format!("-{c}")))
                    };
                    place.filter(clear).map(|place| &cluster[place + 1..])
                }
                (Some(_), _) => None,
                (None, _) => word
                    .text
                    .strip_prefix(option)
                    .filter(|rest| rest.is_empty() || rest.starts_with('=')),
            };
            match glued {
                Some("") => found.extend(words.get(at + 1).map(|value| (at + 1, value.clone()))),
                Some(value) => {
                    let text = value
                        .strip_prefix('=')
                        .filter(|_| letter.is_none())
                        .unwrap_or(value)
                        .to_owned();
                    found.push((
                        at,
                        Word {
                            text,
                            ..word.clone()
                        },
                    ));
                }
                None => {}
            }
        }
    }
    found
}
