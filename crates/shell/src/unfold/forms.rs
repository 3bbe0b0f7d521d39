//! Programs that run something in some of their forms only.

use super::shells::{given, is_standard_input};
use super::{Inner, joined, make_dynamic, option_texts, words_from};
use crate::Shell;
use crate::options::{has, operands, subcommands};
use crate::script::{Command, Kind, Reason, Word};

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
        "find" => find(words),
        "awk" => awk(words),
        "cmd" => cmd(words),
        "git" => git_alias(words),
        "trap" => first_operand(words, "-l -p").map_or_else(Vec::new, |word| vec![text(word, "")]),
        "alias" => aliases(words),
        "source" | "." => match words.get(1) {
            Some(file) if !is_standard_input(file) => Vec::new(),
            _ => given(command),
        },
        "enable"
            if words
                .iter()
                .any(|word| word.text.starts_with('-') && word.text.contains('f')) =>
        {
            vec![Inner::Unknown]
        }
        "bind" => option(words, "-x"),
        _ => interpreter(name, command),
    }
}

/// Variables of bash and zsh by which a name runs something else.
const TABLES: &str =
    "BASH_CMDS BASH_ALIASES aliases galiases saliases dis_aliases functions commands";

/// Names that a command makes mean something else.
pub(super) fn redefines(command: &Command, names: &mut Vec<String>) -> Result<(), Reason> {
    let words = || command.words.iter().skip(1);
    let assigned = command
        .assignments
        .iter()
        .map(|of| (&of.name, of.value.dynamic));
    for (name, listed) in assigned.chain(words().map(|word| (&word.text, false))) {
        let (table, rest) = name.split_once(['[', '=']).unwrap_or((name, ""));
        if has(TABLES, table) && (listed || !rest.is_empty()) {
            return Err(Reason::NameReference);
        }
    }
    let flag = |c: char| words().any(|word| word.text.starts_with('-') && word.text.contains(c));
    match command.name().as_deref() {
        Some("alias") => names.extend(words().filter_map(|word| {
            let (name, _) = word.text.split_once('=')?;
            Some(name.to_owned())
        })),
        Some("hash") if flag('p') => names.extend(words().map(|word| word.text.clone())),
        Some("enable") => names.extend(words().map(|word| word.text.clone())),
        _ => {}
    }
    Ok(())
}

/// `cmd /c …`
fn cmd(words: &[Word]) -> Vec<Inner> {
    let runs = |word: &Word| {
        let text = word.text.trim_start_matches('/').to_lowercase();
        word.text.starts_with('/') && text.starts_with(['c', 'k', 'r'])
    };
    let Some(at) = words.iter().position(runs) else {
        return vec![Inner::Unknown];
    };
    let glued = Word {
        text: words[at]
            .text
            .trim_start_matches('/')
            .chars()
            .skip(1)
            .collect(),
        ..words[at].clone()
    };
    vec![joined(&[&[glued], &words[at + 1..]].concat())]
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
        let ends = |at: usize| match rest[at].text.as_str() {
            ";" => true,
            "+" => at > 0 && rest[at - 1].text == "{}",
            _ => false,
        };
        let end = (0..rest.len()).find(|at| ends(*at));
        let mut inner = words_from(&words[..at + 1 + end.unwrap_or(rest.len())], at + 1);
        if let Inner::Words(words, ..) = &mut inner {
            make_dynamic(words, "{}");
            if words.is_empty() {
                continue;
            }
        }
        found.push(inner);
    }
    found
}

/// A program text that runs or writes something: the first operand, or the value of `-e`.
fn awk(words: &[Word]) -> Vec<Inner> {
    let from_file = words
        .iter()
        .any(|word| word.text.starts_with("-f") || word.text.starts_with("--file"));
    let (places, unsure) = operands(
        words,
        1,
        "-F -v -f --field-separator --assign --file -i --include -l --load -e --source",
        "-S -b -c -C -n -N -O -r -s -t",
    );
    let acts = |text: &str| {
        ["system", "|", ">", "getline", "@load", "@include"]
            .iter()
            .any(|word| text.contains(word))
    };
    let by_option = option_texts(words, 1, "-e --source", "-F -v -f -i -l");
    let first = places.first().filter(|_| !from_file).map(|at| &words[*at]);
    let mut texts = by_option.iter().map(|(_, text)| text).chain(first);
    match unsure || texts.any(|program| program.dynamic || acts(&program.text)) {
        true => vec![Inner::Unknown],
        false => Vec::new(),
    }
}

/// `git -c alias.x=…`: what the alias runs.
fn git_alias(words: &[Word]) -> Vec<Inner> {
    let places = subcommands("git", words).0;
    let first = places.first().copied().unwrap_or(words.len());
    let mut found = Vec::new();
    // The alias is in a variable.
    let by_name = option_texts(&words[..first], 1, "--config-env", "");
    if by_name
        .iter()
        .any(|(_, value)| value.dynamic || value.text.to_lowercase().starts_with("alias."))
    {
        found.push(Inner::Unknown);
    }
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
