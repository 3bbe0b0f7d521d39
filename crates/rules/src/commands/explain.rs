//! Which part of a command an approve does not allow, in words.

use countersign_shell::{Before, Command, How, Script, read};
use serde_json::Value;

use super::pattern::CommandPattern;
use super::reading::{Read, Reading};
use super::{approve, as_word};
use crate::rule::{Effect, Rule};

/// Characters of a command that are shown.
const SHOWN_MAX: usize = 80;
/// Wrappers that need no pattern.
const PLAIN: [&str; 6] = ["timeout", "time", "nice", "nohup", "stdbuf", "xargs"];

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
    let script = read(text, rule.matchers.shell);
    if let Some(reason) = script.unreadable.or(script.doubtful) {
        let why = reason.message();
        return Some(format!("{why}, so rule {} does not allow it", rule.id));
    }
    let reading = Reading::of(native);
    let patterns: Vec<&CommandPattern> = patterns.iter().collect();
    let is_allowed = |command: &Command| {
        let alone = Read::of(text.to_owned(), alone(command), rule.matchers.shell);
        let plain = command
            .name()
            .is_some_and(|name| PLAIN.contains(&name.as_str()));
        plain || approve::covers(&alone, &patterns, &rule.matchers.writes, reading.place())
    };
    let allowed: Vec<bool> = script.commands.iter().map(is_allowed).collect();
    let is_inner = |command: &Command| matches!(command.how, How::Wrapped | How::Text);
    // A pattern may write a wrapper with what it runs; where none of the others is missing it does not.
    let missing = |with_inner: bool| {
        script
            .commands
            .iter()
            .zip(&allowed)
            .find(|(command, allowed)| {
                let by_outer = command
                    .inside
                    .is_some_and(|at| allowed_at(&script, at, &is_allowed));
                !**allowed && (with_inner || !(is_inner(command) && by_outer))
            })
    };
    let part = match missing(false).or_else(|| missing(true)) {
        Some((command, _)) => shown(text, command),
        None => text.to_owned(),
    };
    Some(format!(
        "`{}` is not allowed by rule {}",
        cut(&part),
        rule.id
    ))
}

fn allowed_at(script: &Script, at: usize, is_allowed: &impl Fn(&Command) -> bool) -> bool {
    script.commands.get(at).is_some_and(is_allowed)
}

/// A script of this command alone.
fn alone(command: &Command) -> Script {
    let command = Command {
        inside: None,
        from: None,
        how: How::Listed,
        before: Before::Start,
        ..command.clone()
    };
    Script {
        commands: vec![command],
        ..Script::default()
    }
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
