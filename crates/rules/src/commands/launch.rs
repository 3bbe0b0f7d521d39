//! Whether a program that is not known to be harmless is given a command of a pattern.

use countersign_shell::launched::{Launched, Piece, cut};
use countersign_shell::{Command, Shell, Word, base_name, plain_name, same_program};

use super::deny::{SortedWords, runs};
use super::pattern::{CommandPattern, Element, Part};

/// The most places where a command may begin; with more the pattern asks.
const TRIES_MAX: usize = 64;

/// Whether a program may run a command of this pattern, of one command.
pub(super) fn launches(launched: &Launched, pattern: &CommandPattern) -> bool {
    let ([part], Some(name)) = (pattern.parts.as_slice(), pattern.program()) else {
        return false;
    };
    let has = |word: &String| launched.names.contains(word);
    let known = launched.dynamic && pattern.literals.iter().any(has);
    if !known && !launched.names.contains(name) {
        return false;
    }
    let shell = pattern.shell;
    launched
        .renamed
        .iter()
        .any(|command| runs(command, part, shell))
        || launched
            .words
            .iter()
            .any(|words| is_given(words, part, (name, shell)) || goes_through(words, part))
        || launched.texts.iter().any(|pieces| {
            let begins: Vec<_> = pieces
                .iter()
                .map(|piece| (piece.text.as_str(), piece.begins))
                .collect();
            let word = |piece: &Piece| (Word::literal_of(&piece.text), true);
            let words = || std::iter::once((Word::default(), false)).chain(pieces.iter().map(word));
            let many = part.words.len() > 1;
            holds(&begins, part, true)
                || (many && is_given(&words().collect::<Vec<_>>(), part, (name, shell)))
        })
}

/// A tail of the words is a command of the pattern.
fn is_given(words: &[(Word, bool)], part: &Part, (name, shell): (&str, Shell)) -> bool {
    let mut tries = 0;
    let is = |text: &str, of: &str| {
        base_name(of).eq_ignore_ascii_case(text) || same_program(base_name(of)) == Some(text)
    };
    (1..words.len()).filter(|at| words[*at].1).any(|at| {
        let first = &words[at].0;
        let value = first
            .text
            .split_once('=')
            .filter(|_| first.text.starts_with('-'));
        let starts = [Some(first.text.as_str()), value.map(|(_, value)| value)];
        starts.into_iter().flatten().any(|text| {
            let unknown = first.dynamic && text.is_empty() && first.gives.is_empty();
            let own = plain_name(text).to_lowercase();
            let may = first.dynamic || own == name || same_program(&own) == Some(name);
            let command = || {
                let text = if unknown { name } else { text }.to_owned();
                let first = Word {
                    text,
                    dynamic: first.dynamic && !unknown,
                    ..first.clone()
                };
                let words = std::iter::once(first)
                    .chain(words[at + 1..].iter().map(|(word, _)| word.clone()));
                Command {
                    words: words.collect(),
                    ..Command::default()
                }
            };
            let literal = |text: &str| {
                words[at + usize::from(unknown)..].iter().any(|(word, _)| {
                    !word.dynamic && word.text.split('=').any(|part| is(text, part))
                })
            };
            let known = || {
                part.words
                    .iter()
                    .any(|of| matches!(of, Element::Literal(text) if literal(base_name(text))))
            };
            let may = may && text != "--";
            tries += usize::from(may);
            may && (tries > TRIES_MAX || (known() && runs(&command(), part, shell)))
        })
    })
}

/// The literal words are those of the pattern, with others between.
fn goes_through(words: &[(Word, bool)], part: &Part) -> bool {
    let known = words
        .iter()
        .filter(|(word, counts)| *counts && !word.dynamic);
    let known: Vec<(&str, bool)> = known.map(|(word, _)| (word.text.as_str(), true)).collect();
    part.words.len() > 1 && holds(&known, part, false)
}

/// Whether words hold those of a pattern in its order, and its options anywhere. Of a pattern of one word only
/// where a command begins.
fn holds(words: &[(&str, bool)], part: &Part, is_text: bool) -> bool {
    let is_option = |of: &&Element| matches!(of, Element::Literal(text) | Element::Glob(text) if text.len() > 1 && text.starts_with('-'));
    let (options, wanted): (Vec<&Element>, Vec<&Element>) = part
        .words
        .iter()
        .filter(|of| **of != Element::Some)
        .partition(is_option);
    let mut left = words.iter();
    let mut next = |is: &dyn Fn(&str) -> bool, alone: bool| {
        left.any(|(word, begins)| (*begins || !alone) && (is(word) || is(base_name(word))))
    };
    let alone = options.is_empty() && wanted.len() == 1;
    let all = wanted.iter().all(|of| match of {
        Element::Literal(text) if is_text => cut(text)
            .iter()
            .all(|piece| next(&|word| word.eq_ignore_ascii_case(&piece.text), alone)),
        Element::Literal(text) => next(
            &|word| word.eq_ignore_ascii_case(text) || word.eq_ignore_ascii_case(base_name(text)),
            alone,
        ),
        glob => next(&|word| glob.is(word), alone),
    });
    let Some(Element::Literal(program)) = part.words.first().filter(|_| all) else {
        return false;
    };
    let options: Vec<Element> = options.into_iter().cloned().collect();
    let given: Vec<Word> = words
        .iter()
        .map(|(word, _)| Word::literal_of(word))
        .collect();
    SortedWords::of_command(program, &given).holds(&SortedWords::of_pattern(program, &options))
}
