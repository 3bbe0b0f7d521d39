//! One simple command with its options and operands.

use crate::leaf::among;
use countersign_shell::folders::{folders, own};
use countersign_shell::options;
use countersign_shell::{Before, Command, How, Script, Word};

/// A simple command as the tables read it.
pub(crate) struct Line<'s> {
    pub(crate) script: &'s Script,
    pub(crate) index: usize,
    pub(crate) command: &'s Command,
    /// The program in lower case, without path and `.exe`.
    pub(crate) name: String,
    /// The words behind it.
    pub(crate) words: &'s [Word],
    /// Program of the command that it is inside of.
    pub(crate) parent: Option<String>,
    /// The folder that it most likely runs in, if the script went elsewhere.
    pub(crate) folder: Option<String>,
}

pub(crate) fn lines(script: &Script) -> Vec<Line<'_>> {
    let commands = script.commands.iter().zip(folders(script)).enumerate();
    let lines = commands.map(|(index, (command, folder))| Line {
        script,
        index,
        command,
        name: name_of(command),
        words: command.words.get(1..).unwrap_or_default(),
        parent: command
            .inside
            .and_then(|at| script.commands.get(at))
            .map(name_of),
        folder: own(command, &folder).likely(),
    });
    lines.collect()
}

pub(crate) fn name_of(command: &Command) -> String {
    let name = command.name().unwrap_or_default().to_lowercase();
    name.trim_end_matches(".exe")
        .trim_start_matches('\\')
        .to_owned()
}

impl<'s> Line<'s> {
    pub(crate) fn is(&self, names: &str) -> bool {
        among(names, &self.name)
    }

    /// Words that are no options; after `--` all of them.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &'s Word> + use<'s> {
        options::operands_behind(self.words, "")
    }

    /// Literal operands.
    pub(crate) fn texts(&self) -> Vec<&'s str> {
        self.operands().filter_map(Word::literal).collect()
    }

    pub(crate) fn options(&self) -> impl Iterator<Item = &'s str> + use<'s> {
        let options = options::sorted(self.words).filter(|(_, option)| *option);
        options.map(|(word, _)| word.text.as_str())
    }

    /// A letter in a cluster (`-rf`), or a long option, also with a value.
    pub(crate) fn has(&self, letters: &str, long: &str) -> bool {
        options::has_option(self.words, letters, long)
    }

    /// The value of `--name=value` or of the word behind.
    pub(crate) fn text_value(&self, names: &str) -> Option<&'s str> {
        options::value(self.words, names)
    }

    /// The pipeline's commands before it, nearest first. A wrapper's inner command reads what the wrapper reads.
    pub(crate) fn upstream(&self) -> Vec<&'s Command> {
        let commands = &self.script.commands;
        let mut index = self.index;
        while commands[index].how == How::Wrapped {
            match commands[index].inside {
                Some(outer) if outer < index => index = outer,
                _ => break,
            }
        }
        let mut found = Vec::new();
        while commands[index].before == Before::Pipe {
            let level = commands[index].inside;
            let Some(before) = (0..index).rev().find(|place| {
                commands[*place].inside == level && commands[*place].how != How::Wrapped
            }) else {
                break;
            };
            found.push(&commands[before]);
            // What a wrapper before it runs is upstream as well.
            found.extend(
                commands
                    .iter()
                    .filter(|inner| inner.inside == Some(before) && inner.how == How::Wrapped),
            );
            index = before;
        }
        found
    }

    /// Commands whose output is in its words.
    pub(crate) fn substituted(&self) -> impl Iterator<Item = &'s Command> + use<'s, '_> {
        let inside = |command: &&Command| {
            command.inside == Some(self.index) && command.how == How::Substituted
        };
        self.script.commands.iter().filter(inside)
    }

    /// Files that it writes by redirection.
    pub(crate) fn written(&self) -> impl Iterator<Item = &'s str> + use<'s> {
        let writes = self
            .command
            .redirections
            .iter()
            .filter(|to| to.kind.writes());
        writes.map(|to| to.target.text.as_str())
    }

    /// Program, its subcommand and options: what a person would call the same command.
    pub(crate) fn shape(&self) -> String {
        let mut shape = self.name.clone();
        for word in self.words.iter().take(12) {
            shape.push(' ');
            shape.push_str(&word.text);
        }
        shape.truncate(
            shape
                .char_indices()
                .nth(300)
                .map_or(shape.len(), |(at, _)| at),
        );
        shape
    }

    /// The command as a person reads it.
    pub(crate) fn shown(&self) -> String {
        crate::shown::shown(&self.shape())
    }
}
