//! The folder in which each command of a script runs.

use crate::script::{Before, Command, Script};

/// A folder, as far as the script says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folder {
    /// Where the script begins.
    Same,
    /// Changed to this, absolute or relative to where the script begins.
    To(String),
    /// Changed to what is not known; where it is if every change was made.
    Unknown(Option<String>),
}

impl Folder {
    /// A path from here; none where that is not known.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<String> {
        match self {
            _ if path.starts_with(['/', '~']) => Some(path.to_owned()),
            Self::Same => Some(path.to_owned()),
            Self::To(folder) => Some(format!("{folder}/{path}")),
            Self::Unknown(_) => None,
        }
    }

    /// Where it most likely is, if the script went elsewhere.
    #[must_use]
    pub fn likely(self) -> Option<String> {
        match self {
            Self::Same => None,
            Self::To(folder) => Some(folder),
            Self::Unknown(folder) => folder,
        }
    }

    fn join(&self, path: &str) -> Self {
        match self {
            _ if path.starts_with(['/', '~']) => Self::To(path.to_owned()),
            Self::Same => Self::To(path.to_owned()),
            Self::To(folder) => Self::To(format!("{folder}/{path}")),
            Self::Unknown(folder) => {
                Self::Unknown(folder.as_ref().map(|of| format!("{of}/{path}")))
            }
        }
    }
}

/// One for each command.
#[must_use]
pub fn folders(script: &Script) -> Vec<Folder> {
    let mut now = Folder::Same;
    let mut found: Vec<Folder> = Vec::with_capacity(script.commands.len());
    for (place, command) in script.commands.iter().enumerate() {
        let outer = command
            .inside
            .and_then(|inside| script.commands.get(inside).zip(found.get(inside)));
        let base = match outer {
            Some((wrapper, folder)) => own(wrapper, folder),
            None => now.clone(),
        };
        if let Some(next) = changes(command, &base) {
            // Where it may not have run, or ran in a shell of its own, nobody knows.
            let sure = command.depth == 1
                && matches!(
                    command.before,
                    Before::Start | Before::Semicolon | Before::Line | Before::And
                )
                && !matches!(
                    script.commands.get(place + 1).map(|next| next.before),
                    Some(Before::Pipe | Before::Or | Before::Background)
                );
            now = if sure {
                next
            } else {
                Folder::Unknown(next.likely())
            };
        }
        found.push(base);
    }
    found
}

/// The folder after `cd` and its like.
fn changes(command: &Command, folder: &Folder) -> Option<Folder> {
    if !matches!(
        command.name()?.as_str(),
        "cd" | "pushd" | "popd" | "chdir" | "set-location" | "push-location" | "pop-location"
    ) {
        return None;
    }
    let mut operands = command.words[1..]
        .iter()
        .filter(|word| !matches!(word.text.as_str(), "--" | "-P" | "-L"));
    Some(match (operands.next(), operands.next()) {
        (Some(to), None) => match to.literal() {
            Some("-") | None => Folder::Unknown(None),
            Some(path) if path.starts_with(['+', '-']) => Folder::Unknown(None),
            Some(path) => folder.join(path),
        },
        (None, _) if command.name().as_deref() == Some("cd") => Folder::To("~".to_owned()),
        _ => Folder::Unknown(None),
    })
}

/// Whether commands behind it, or inside of it, run in another folder.
#[must_use]
pub fn moves(command: &Command) -> bool {
    changes(command, &Folder::Same).is_some() || own(command, &Folder::Same) != Folder::Same
}

/// The folder in which a command's own words count: `git -C x`, `env -C x`, `make -C x`.
#[must_use]
pub fn own(command: &Command, folder: &Folder) -> Folder {
    let option: &[&str] = match command.name().as_deref() {
        Some("git" | "tar" | "make" | "ninja" | "pnpm") => &["-C", "--directory"],
        Some("env" | "sudo") => &["-C", "--chdir", "-D"],
        _ => return folder.clone(),
    };
    let mut at = folder.clone();
    for (place, word) in command.words.iter().enumerate() {
        if word.dynamic && word.could_be_option() && word.text.starts_with('-') {
            return Folder::Unknown(None);
        }
        let cluster = word
            .text
            .get(2..)
            .filter(|_| word.text.starts_with('-') && !word.text.starts_with("--"));
        let short =
            cluster.is_some_and(|rest| !word.text.starts_with("-u") && rest.contains(['C', 'D']));
        if short && option.len() == 3 && !option.iter().any(|name| word.text.starts_with(name)) {
            return Folder::Unknown(None);
        }
        for name in option {
            let Some(value) = word.text.strip_prefix(name) else {
                continue;
            };
            let next = match value.strip_prefix('=').unwrap_or(value) {
                "" => command.words.get(place + 1).map(|word| word.literal()),
                glued => Some(Some(glued).filter(|_| !word.dynamic)),
            };
            at = match next {
                Some(Some(path)) => at.join(path),
                Some(None) => Folder::Unknown(None),
                None => at,
            };
            break;
        }
    }
    at
}
