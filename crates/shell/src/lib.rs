//! Reads a command as the shell would: which programs run, with which words, after what and inside of what.
//!
//! Refuses to guess: a word that is not known before it runs is dynamic, and a text that shells could read in
//! two ways is unreadable. Nothing here runs, expands or looks at a file.

/// A table: one row a line, of which a function makes an entry; without one an entry is its parts.
macro_rules! rows {
    ($of:ident: $($($part:expr),+;)*) => { &[$($of($($part),+)),*] };
    ($($($part:expr),+;)*) => { &[$(($($part),+)),*] };
}

pub mod acts;
mod braces;
pub mod folders;
pub mod given;
pub mod launched;
pub mod options;
pub mod patch;
mod plain;
mod posix;
mod powershell;
pub mod script;
pub mod unfold;
pub mod wrappers;

pub use script::{
    ANY, ANY_LETTER, Assignment, Before, Command, HOLE, HOLE_END, How, Kind, Reason, Redirection,
    Script, Word, base_name, filled, plain_name, same_program,
};

use script::Out;

/// What a name means to a PowerShell of Windows: the cmdlet that it is an alias of, or itself.
#[must_use]
pub fn on_windows(name: &str) -> &str {
    powershell::cmdlet(name, true).unwrap_or(name)
}

/// The longest text that is read, bytes.
pub const TEXT_MAX: usize = 64 * 1024;
/// The most simple commands of a text.
pub const COMMANDS_MAX: usize = 1_000;
/// How deep commands are read inside of commands; the text itself is 1.
pub const DEPTH_MAX: u32 = 16;

/// The language of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Shell {
    /// POSIX and bash.
    #[default]
    Posix,
    /// PowerShell.
    PowerShell,
}

impl Shell {
    /// The language that a tool takes, by its name.
    #[must_use]
    pub fn of_tool(name: &str) -> Self {
        let name = name.to_lowercase().replace('_', "");
        match name.contains("powershell") || name.contains("pwsh") {
            true => Self::PowerShell,
            false => Self::Posix,
        }
    }
}

/// Reads a text. Commands that were read before the place that could not be are kept.
#[must_use]
pub fn read(text: &str, shell: Shell) -> Script {
    let mut out = Out::default();
    let read = read_into(text, shell, 1, Some(0), &mut out);
    out.script(read.err())
}

/// One simple command with these words, as a list of arguments gives it: nothing in it is expanded.
#[must_use]
pub fn from_words<'w>(words: impl IntoIterator<Item = &'w str>) -> Script {
    let mut out = Out::default();
    let words = words.into_iter().map(Word::literal_of).collect();
    let command = Command {
        words,
        ..Command::default()
    };
    let read = out
        .push(command)
        .and_then(|_| unfold::unfold(&mut out, 0, 1));
    out.script(read.err())
}

/// Reads a text into a list that may have commands already. `base`: where it begins in the whole text, if it
/// is a part of it as written.
fn read_into(
    text: &str,
    shell: Shell,
    depth: u32,
    base: Option<usize>,
    out: &mut Out,
) -> Result<(), Reason> {
    if depth > DEPTH_MAX {
        return Err(Reason::TooDeep);
    }
    if text.len() > TEXT_MAX {
        return Err(Reason::TooLong);
    }
    if text.contains('\0') {
        return Err(Reason::Nul);
    }
    let first = out.commands.len();
    match shell {
        Shell::Posix => posix::read(text, depth, base, out)?,
        Shell::PowerShell => powershell::read(text, depth, base, out)?,
    }
    unfold::unfold(out, first, depth)
}
