//! The folder that a script is in after its `cd`s.

use countersign_shell::Command;

use super::line::name_of;

/// Follows `cd` with literal folders; anything else makes it unknown.
#[derive(Default)]
pub(crate) struct Folders {
    here: Option<String>,
}

impl Folders {
    /// The folder in which a command runs, and remembers where it goes.
    pub(crate) fn before(&mut self, command: &Command) -> Option<String> {
        let here = self.here.clone();
        if name_of(command) == "cd" {
            let to = command.words.get(1).and_then(|word| word.literal());
            self.here = match (to, &self.here) {
                (Some(to), _) if to.starts_with(['/', '~']) => Some(to.to_owned()),
                (Some(to), Some(here)) => Some(format!("{here}/{to}")),
                (Some(_), None) => None,
                (None, _) => command.words.get(1).is_none().then(|| "~".to_owned()),
            };
        }
        here
    }
}
