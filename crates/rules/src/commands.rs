//! Rules that read a command as the shell would and a path as the file system would.
//!
//! Refuses to approve a text of which one part is not known, and to let a deny or an ask be passed by another
//! way of writing the same.

mod approve;
mod deny;
mod explain;
mod launch;
mod patches;
mod paths;
mod pattern;
mod protected;
mod reach;
mod reading;

use countersign_shell::Shell;
use serde_json::Value;

use crate::rule::{Effect, Matchers};
use crate::unsure::Unsure;

use self::approve::Allowed;
pub use self::explain::{shown, why_not};
pub use self::paths::PathPattern;
use self::paths::any;
pub use self::pattern::CommandPattern;
pub(crate) use self::reading::Reading;

/// The word for a language in a rule.
pub const POWERSHELL: &str = "powershell";

/// The language that a rule's word names.
#[must_use]
pub fn shell_of(word: Option<&str>) -> Option<Shell> {
    match word {
        None => Some(Shell::Posix),
        Some(POWERSHELL) => Some(Shell::PowerShell),
        Some(_) => None,
    }
}

/// A word as a shell would be given it.
pub(crate) fn as_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

impl Matchers {
    /// Whether the command at a pointer is one of the rule's.
    pub(crate) fn command_holds(
        &self,
        effect: Effect,
        (pointer, patterns): (&str, &[CommandPattern]),
        value: Option<&Value>,
        reading: &Reading<'_>,
    ) -> Result<bool, Unsure> {
        if reading.is_patch() {
            return Ok(false);
        }
        let read = reading.command(pointer, value, self.shell)?;
        if effect == Effect::Approve {
            return Ok(
                approve::covers(&read, &self.allowed(patterns, &[]), reading.place()).is_ok(),
            );
        }
        any(patterns.iter().map(|pattern| deny::holds(&read, pattern)))
    }

    fn allowed<'r>(&'r self, patterns: &'r [CommandPattern], written: &'r [String]) -> Allowed<'r> {
        Allowed {
            patterns,
            writes: &self.writes,
            written,
        }
    }

    /// Whether what matches at this pointer writes these words itself: the pattern of each command that has one, the
    /// pattern of the path, the value or the glob. Without words it is enough to name the place.
    pub(crate) fn writes(
        &self,
        pointer: &str,
        words: &[String],
        value: Option<&Value>,
        reading: &Reading<'_>,
    ) -> bool {
        // What only the run knows is in no pattern.
        if words.is_empty() || words.iter().any(String::is_empty) {
            return words.is_empty() && self.names(pointer);
        }
        let has = |text: &str| words.iter().all(|words| approve::has(text, words));
        let args = self.args.get(pointer).is_some_and(|test| {
            let listed = test.eq.is_some() || test.one_of.is_some();
            listed && value.and_then(Value::as_str).is_some_and(has)
                || test.glob.as_ref().is_some_and(|glob| has(glob.as_str()))
        });
        let command = || {
            let read = reading.command(pointer, value, self.shell).ok();
            let patterns = self.command.get(pointer);
            read.zip(patterns).is_some_and(|(read, patterns)| {
                let each =
                    |words: &String| patterns.iter().any(|of| approve::has(of.as_str(), words));
                words.iter().all(each)
                    && approve::covers(&read, &self.allowed(patterns, words), reading.place())
                        .is_ok()
            })
        };
        let path = || {
            let patterns = self.path.get(pointer).into_iter().flatten();
            let patterns: Vec<_> = patterns.filter(|of| has(of.as_str())).cloned().collect();
            self.path_holds(Effect::Approve, (pointer, &patterns), value, reading) == Ok(true)
        };
        args || command() || path()
    }

    /// Whether the path at a pointer is one of the rule's.
    pub(crate) fn path_holds(
        &self,
        effect: Effect,
        (pointer, patterns): (&str, &[PathPattern]),
        value: Option<&Value>,
        reading: &Reading<'_>,
    ) -> Result<bool, Unsure> {
        let place = reading.place();
        if pointer == COMMAND && effect != Effect::Approve && !reading.is_patch() {
            let read = reading.command(pointer, value, self.shell)?;
            let named = patterns
                .iter()
                .map(|pattern| deny::names(&read, pattern, place));
            return any(named.chain([patches::named(&read, patterns, place)]));
        }
        let text = value
            .ok_or(Unsure::Missing)?
            .as_str()
            .ok_or(Unsure::WrongType)?;
        if reading.is_patch() {
            return patches::holds(effect, patterns, text, place);
        }
        match effect {
            Effect::Approve => Ok(patterns.iter().any(|pattern| pattern.approves(text, place))),
            _ => any(patterns.iter().map(|pattern| pattern.holds(text, place))),
        }
    }
}

/// The pointer at which a path is looked for in a command.
const COMMAND: &str = "/command";
