//! Programs that run something in some of their forms only.

use super::shells::{given, is_standard_input};
use super::{Inner, make_dynamic, words_from};
use crate::Shell;
use crate::script::{Command, Kind, Word};
use crate::wrappers::{operands, subcommands};

/// Interpreters, with the options that give a program text and those with another value.
const INTERPRETERS: &[(&str, &str, &str)] = &[
    ("python", "-c", "-m -W -X --check-hash-based-pycs"),
    ("perl", "-e -E", "-I -M -m"),
    (
        "node",
        "-e -p --eval --print",
        "-r --require --import --loader -C --conditions --env-file",
    ),
    ("ruby", "-e", "-I -r -C -E -W"),
    ("php", "-r -B -R -E", "-d -c -S -t -z"),
    ("lua", "-e", "-l"),
    ("osascript", "-e", "-l -s"),
    ("deno", "", ""),
];

/// What these programs run beside themselves.
pub(super) fn special(name: &str, command: &Command) -> Vec<Inner> {
    let words = &command.words;
    match name {
        "find" | "gfind" | "bfs" => find(words),
        "awk" | "gawk" | "mawk" | "nawk" => awk(words),
        "git" => git_alias(words),
        "trap" => first_operand(words, "-l -p").map_or_else(Vec::new, |word| vec![text(word, "")]),
        "alias" => aliases(words),
        "source" | "." => match words.get(1) {
            Some(file) if !is_standard_input(file) => Vec::new(),
            _ => given(command),
        },
        "enable" if words.iter().any(|word| word.text.starts_with("-f")) => vec![Inner::Unknown],
        "bind" => option(words, "-x"),
        _ => interpreter(name, command),
    }
}

/// Names that a command makes mean something else.
pub(super) fn redefines(command: &Command, names: &mut Vec<String>) {
    let words = || command.words.iter().skip(1);
    match command.name() {
        Some("alias") => names.extend(words().filter_map(|word| {
            let (name, _) = word.text.split_once('=')?;
            Some(name.to_owned())
        })),
        Some("hash") if words().any(|word| word.text.starts_with("-p")) => {
            names.extend(words().map(|word| word.text.clone()));
        }
        Some("enable") => names.extend(words().map(|word| word.text.clone())),
        _ => {}
    }
}

fn text(word: &Word, before: &str) -> Inner {
    match word.literal() {
        Some(text) => Inner::Text(format!("{before}{text}"), Shell::Posix),
        None => Inner::Unknown,
    }
}

fn first_operand<'w>(words: &'w [Word], flags: &str) -> Option<&'w Word> {
    let (places, _) = operands(words, 1, "", flags);
    places.first().and_then(|at| words.get(*at))
}

fn option(words: &[Word], option: &str) -> Vec<Inner> {
    let has = words.iter().any(|word| word.text.starts_with(option));
    if has {
        vec![Inner::Unknown]
    } else {
        Vec::new()
    }
}

/// The most commands of one `find`; where there are more, nobody knows.
const ACTIONS_MAX: usize = 64;

/// `-exec … ;` and its like.
fn find(words: &[Word]) -> Vec<Inner> {
    let actions = ["-exec", "-execdir", "-ok", "-okdir"];
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if !actions.iter().any(|action| word.could_be(action)) {
            continue;
        }
        if word.dynamic {
            // A starting point that is expanded may be any path, and only a path.
            if word.gives.is_empty() && !word.text.starts_with('-') {
                continue;
            }
            found.push(Inner::Unknown);
            continue;
        }
        if found.len() > ACTIONS_MAX {
            found.push(Inner::Unknown);
            break;
        }
        let rest = &words[at + 1..];
        let end = rest
            .iter()
            .position(|word| matches!(word.text.as_str(), ";" | "+"));
        let mut inner = words_from(&words[..at + 1 + end.unwrap_or(rest.len())], at + 1);
        if let Inner::Words(words, ..) = &mut inner {
            for word in words.iter_mut().filter(|word| word.text.contains("{}")) {
                make_dynamic(word);
            }
            if words.is_empty() {
                continue;
            }
        }
        found.push(inner);
    }
    found
}

/// A program text that runs or writes something.
fn awk(words: &[Word]) -> Vec<Inner> {
    let from_file = words
        .iter()
        .any(|word| word.text.starts_with("-f") || word.text.starts_with("--file"));
    let (places, unsure) = operands(
        words,
        1,
        "-F -v -f --field-separator --assign --file -i --include -l --load",
        "-S -b -c -C -n -N -O -r -s -t",
    );
    let mut runs = unsure;
    if let (Some(at), false) = (places.first(), from_file) {
        let program = &words[*at];
        let acts = |text: &str| {
            ["system", "|", ">", "getline", "@load", "@include"]
                .iter()
                .any(|word| text.contains(word))
        };
        runs |= program.dynamic || acts(&program.text);
    }
    if runs {
        vec![Inner::Unknown]
    } else {
        Vec::new()
    }
}

/// `git -c alias.x=…`: what the alias runs.
fn git_alias(words: &[Word]) -> Vec<Inner> {
    let first = subcommands("git", words)
        .first()
        .copied()
        .unwrap_or(words.len());
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().take(first).skip(1) {
        let value = match word.text.as_str() {
            "-c" => words.get(at + 1).map(|value| (value, value.text.as_str())),
            glued => glued.strip_prefix("-c").map(|value| (word, value)),
        };
        let Some((word, value)) = value else { continue };
        let is_alias = value
            .get(..6)
            .is_some_and(|head| head.eq_ignore_ascii_case("alias."));
        if word.dynamic && (is_alias || value.is_empty()) {
            found.push(Inner::Unknown);
        } else if is_alias && let Some((_, alias)) = value.split_once('=') {
            let rest: Option<Vec<&str>> = words.iter().skip(first + 1).map(Word::literal).collect();
            let rest = rest.map_or_else(|| "\"$@\"".to_owned(), |rest| rest.join(" "));
            let text = match alias.strip_prefix('!') {
                Some(text) => format!("{text} {rest}"),
                None => format!("git {alias} {rest}"),
            };
            found.push(Inner::Text(text, Shell::Posix));
        }
    }
    found
}

fn aliases(words: &[Word]) -> Vec<Inner> {
    let value = |word: &Word| {
        let (_, value) = word.text.split_once('=')?;
        let value = Word {
            text: value.to_owned(),
            ..word.clone()
        };
        Some(text(&value, ""))
    };
    words.iter().skip(1).filter_map(value).collect()
}

/// A program text that is not read, or one from standard input.
fn interpreter(name: &str, command: &Command) -> Vec<Inner> {
    let words = &command.words;
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let plain = if plain == "nodejs" { "node" } else { plain };
    let Some((_, texts, values)) = INTERPRETERS.iter().find(|(known, ..)| *known == plain) else {
        return Vec::new();
    };
    if plain == "deno" {
        let eval = words
            .get(1)
            .is_some_and(|word| word.could_be("eval") || word.could_be("repl"));
        return if eval {
            vec![Inner::Unknown]
        } else {
            Vec::new()
        };
    }
    let (places, unsure) = operands(words, 1, values, "");
    let end = places.first().copied().unwrap_or(words.len());
    let is_text = |word: &Word| {
        let text = word.text.as_str();
        texts
            .split(' ')
            .any(|option| match option.strip_prefix("--") {
                Some(_) => {
                    text == option || text.split_once('=').is_some_and(|(name, _)| name == option)
                }
                None => {
                    let letter = option.trim_start_matches('-');
                    text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
                }
            })
    };
    let value = |word: &Word| values.split(' ').any(|option| word.text == option);
    let mut takes = false;
    let mut given_text = unsure;
    for word in words.iter().take(end).skip(1) {
        given_text |= !takes && is_text(word);
        takes = value(word);
    }
    let module = words
        .iter()
        .take(end)
        .any(|word| word.text.starts_with("-m"));
    let version = words.iter().take(end).any(|word| {
        matches!(
            word.text.as_str(),
            "--version" | "-V" | "-v" | "--help" | "-h"
        )
    });
    let reads = match words.get(end) {
        Some(file) => is_standard_input(file),
        None => !version && !module,
    };
    let here = command.redirections.iter().any(|of| of.kind == Kind::Here);
    if given_text || reads || (here && end == words.len()) {
        return vec![Inner::Unknown];
    }
    Vec::new()
}
