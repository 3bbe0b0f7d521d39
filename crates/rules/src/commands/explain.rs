//! Which part of a command an approve does not allow, in words.

use countersign_shell::Command;
use serde_json::Value;

use super::approve::{self, Allowed};
use super::as_word;
use super::reading::Reading;
use crate::rule::{Effect, Rule};

/// Characters of a command that are shown.
const SHOWN_MAX: usize = 80;

/// Why an approve does not cover the command at one of its pointers: "`rm -rf x` is not allowed by rule dev". The
/// command's own text is in it. None for a rule or arguments of which there is nothing to say.
pub fn why_not(
    rule: &Rule,
    place: usize,
    (args, native): (&Value, Option<&countersign_wire::KeptJson>),
) -> Option<String> {
    let (pointer, patterns) = rule.matchers.command.iter().nth(place)?;
    let text = args
        .pointer(pointer)?
        .as_str()
        .filter(|_| rule.effect == Effect::Approve)?;
    let reading = Reading::of(native);
    let read = reading
        .command(pointer, args.pointer(pointer), rule.matchers.shell)
        .ok()?;
    let script = &read.script;
    if let Some(reason) = script.unreadable.or(script.doubtful) {
        let why = reason.message();
        return Some(format!("{why}, so rule {} does not allow it", rule.id));
    }
    let allowed = Allowed {
        patterns,
        writes: &rule.matchers.writes,
        written: &[],
    };
    let missing = approve::covers(&read, &allowed, reading.place())
        .err()
        .flatten();
    let part = missing.map_or_else(|| text.to_owned(), |at| shown(text, &script.commands[at]));
    Some(format!(
        "`{}` is not allowed by rule {}",
        cut(&part),
        rule.id
    ))
}

/// A command as it is written, where it is in the text that was read; else its words.
#[must_use]
pub fn shown(text: &str, command: &Command) -> String {
    let written = command.at.clone().and_then(|at| text.get(at));
    if let Some(written) = written.map(str::trim).filter(|of| !of.is_empty()) {
        return written.to_owned();
    }
    let words = command.words.iter().map(|word| match word.dynamic {
        true => format!("{}…", word.text),
        false => as_word(&word.text),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
