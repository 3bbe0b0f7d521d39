//! Rules that read a command as the shell would and a path as the file system would.
//!
//! Refuses to approve a text of which one part is not known, and to let a deny or an ask be passed by another
//! way of writing the same.

mod approve;
mod deny;
mod explain;
mod folders;
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
            let patterns: Vec<&CommandPattern> = patterns.iter().collect();
            let covers = approve::covers(&read, &patterns, &self.writes, reading.place());
            return Ok(covers.is_ok());
        }
        any(patterns.iter().map(|pattern| deny::holds(&read, pattern)))
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
