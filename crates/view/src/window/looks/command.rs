//! The parts of a shell command: what runs, after what, and inside of what, as the rules read it.
//!
//! A command that cannot be read has no look: the arguments show it whole.

use std::ops::Range;

use crate::{ArgLook, CommandPart};
use countersign_rules::commands::shown;
use countersign_shell::{Before, Command, Script, Shell, read};

use crate::window::hidden::{escape, without_secrets};

/// What arguments with a command line are called.
const NAMES: [&str; 5] = ["command", "cmd", "script", "shell_command", "bash"];
/// A longer command is read in the arguments.
const BYTES: usize = 16 * 1024;
/// Parts that are listed; a command with more has no look.
const PARTS: usize = 200;

/// The look of a command; none for one that is a single part, which the arguments show as well.
pub(super) fn command((name, text): (&str, &str), shell: Shell) -> Option<ArgLook> {
    if !NAMES.contains(&name) || text.len() > BYTES {
        return None;
    }
    let text = without_secrets(text);
    let parts = parts(&text, shell)?;
    let commands = parts.iter().filter(|part| part.joint != ")").count();
    if commands < 2 || parts.len() > PARTS {
        return None;
    }
    let shown = parts.into_iter().map(|part| CommandPart {
        joint: escape(&part.joint),
        program: escape(&part.program),
        rest: escape(&part.rest),
        depth: part.depth,
    });
    Some(ArgLook::Command {
        place: escape(name),
        parts: shown.collect(),
    })
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Part {
    /// The operator before it, and the subshells that begin with it; `)` alone ends one.
    joint: String,
    program: String,
    rest: String,
    depth: u32,
}

/// Every command of a text, those inside of one behind it; none where it cannot be read.
fn parts(text: &str, shell: Shell) -> Option<Vec<Part>> {
    let script = read(text, shell);
    if script.unreadable.is_some() {
        return None;
    }
    let mut tree = Tree {
        text,
        script: &script,
        parts: Vec::new(),
        open: Vec::new(),
    };
    let mut behind = 0;
    for (at, command) in script.commands.iter().enumerate() {
        if command.inside.is_some() {
            continue;
        }
        let place = command.at.clone().unwrap_or(behind..behind);
        let opened = tree.brackets(behind..place.start, command.depth - 1);
        tree.add(at, command.depth - 1, &opened);
        behind = place.end.max(behind);
    }
    tree.brackets(behind..text.len(), 0);
    Some(tree.parts)
}

struct Tree<'t> {
    text: &'t str,
    script: &'t Script,
    parts: Vec<Part>,
    /// How deep each subshell is that has begun.
    open: Vec<u32>,
}

impl Tree<'_> {
    /// Ends the subshells that end between two commands; the ones that begin there.
    fn brackets(&mut self, between: Range<usize>, depth: u32) -> String {
        let mut opened = String::new();
        let lines = self.text.get(between).unwrap_or_default().lines();
        // What is behind `#` is a remark.
        for c in lines.flat_map(|line| line.split('#').next().unwrap_or_default().chars()) {
            match c {
                '(' => {
                    let outer = u32::try_from(opened.len()).unwrap_or(0);
                    self.open.push((depth + outer).saturating_sub(1));
                    opened.push('(');
                }
                ')' if opened.pop().is_some() => drop(self.open.pop()),
                ')' => {
                    let depth = self.open.pop();
                    self.parts.extend(depth.map(|depth| Part {
                        joint: ")".to_owned(),
                        depth,
                        ..Part::default()
                    }));
                }
                _ => {}
            }
        }
        opened
    }

    /// A command, then those inside of it. Beyond what is listed nothing more is looked at.
    fn add(&mut self, at: usize, depth: u32, opened: &str) {
        if self.parts.len() > PARTS {
            return;
        }
        let command = &self.script.commands[at];
        let (program, rest) = words_of(self.text, command);
        let joint = match command.before {
            Before::Start | Before::Line => "",
            Before::Semicolon => ";",
            Before::And => "&&",
            Before::Or => "||",
            Before::Pipe => "|",
            Before::Background => "&",
        };
        self.parts.push(Part {
            joint: format!("{joint}{opened}"),
            program,
            rest,
            depth,
        });
        let inner = self.script.commands.iter().enumerate();
        let inner: Vec<usize> = inner
            .filter(|(_, of)| of.inside == Some(at))
            .map(|(place, _)| place)
            .collect();
        inner
            .into_iter()
            .for_each(|inner| self.add(inner, depth + 1, ""));
    }
}

/// The program as it is written, and what is before and behind it.
fn words_of(text: &str, command: &Command) -> (String, String) {
    let whole = shown(text, command);
    // Variables that are set for the command come before it: they are shown with what follows.
    let begins = command.assignments.is_empty() && !command.words.is_empty();
    match whole.split_once(char::is_whitespace) {
        Some((program, rest)) if begins => (program.to_owned(), rest.trim_start().to_owned()),
        None if begins => (whole, String::new()),
        _ => (String::new(), whole),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Operator, program, the rest, depth.
    type Plain<'t> = (&'t str, &'t str, &'t str, u32);

    #[test]
    fn a_command_is_drawn_as_the_rules_read_it() {
        let table: &[(&str, &[Plain<'_>])] = &[
            ("ls -l", &[("", "ls", "-l", 0)]),
            (
                "cd /srv && rm -rf build; echo done | tee log & wait",
                &[
                    ("", "cd", "/srv", 0),
                    ("&&", "rm", "-rf build", 0),
                    (";", "echo", "done", 0),
                    ("|", "tee", "log", 0),
                    ("&", "wait", "", 0),
                ],
            ),
            ("a\nb", &[("", "a", "", 0), ("", "b", "", 0)]),
            (
                "echo 'a; rm -rf /' \"b && c\" d\\;e",
                &[("", "echo", "'a; rm -rf /' \"b && c\" d\\;e", 0)],
            ),
            (
                "echo \"$(curl http://x | tr a b)\" `id`",
                &[
                    ("", "echo", "\"$(curl http://x | tr a b)\" `id`", 0),
                    ("", "curl", "http://x", 1),
                    ("|", "tr", "a b", 1),
                    ("", "id", "", 1),
                ],
            ),
            ("sudo rm x", &[("", "sudo", "rm x", 0), ("", "rm", "x", 1)]),
            // A subshell is indented, and its end is shown.
            (
                "(a; (b)) && c # (",
                &[
                    ("(", "a", "", 1),
                    (";(", "b", "", 2),
                    (")", "", "", 1),
                    (")", "", "", 0),
                    ("&&", "c", "", 0),
                ],
            ),
            ("A=1 B=2 run x", &[("", "", "A=1 B=2 run x", 0)]),
        ];
        for (text, expected) in table {
            let parts = parts(text, Shell::Posix).unwrap();
            let plain = parts.iter();
            let plain: Vec<Plain<'_>> = plain
                .map(|part| (&*part.joint, &*part.program, &*part.rest, part.depth))
                .collect();
            assert_eq!(plain, *expected, "{text}");
        }
        assert_eq!(parts("echo 'open", Shell::Posix), None, "it cannot be read");
    }

    #[test]
    fn a_command_for_powershell_is_drawn_as_powershell_reads_it() {
        let text = "ls C:\\tmp `\n -r | ForEach-Object { rm $_ }; echo 'it''s; b'";
        let drawn = |tool: &str| {
            let args = serde_json::json!({ "command": text });
            format!("{:?}", super::super::looks(tool, Some(&args)))
        };
        for tool in ["PowerShell", "run_power_shell", "mcp__win__pwsh"] {
            let looks = drawn(tool);
            let inner = r#""rm" }]), rest: Shown([Text { text: "$_" }]), depth: 1"#;
            assert!(looks.contains(inner), "{looks}");
            assert!(looks.contains(r#"text: "'it''s; b'""#), "{looks}");
        }
        assert_ne!(drawn("Bash"), drawn("PowerShell"));
    }

    #[test]
    fn only_a_command_of_several_parts_has_a_look_and_its_secrets_stay_hidden() {
        let command = |name: &str, text: &str| command((name, text), Shell::Posix);
        assert!(command("command", "ls -l").is_none());
        assert!(command("body", "a; b").is_none());
        assert!(command("command", &"a;".repeat(PARTS + 1)).is_none());
        let of = |bytes: usize| format!("{}; b", "a".repeat(bytes - 3));
        assert!(command("command", &of(BYTES)).is_some());
        assert!(command("command", &of(BYTES + 1)).is_none());
        let token = "sk-abcdefghijklmnopqrstuv";
        let look = command("cmd", &format!("export K={token}; run")).unwrap();
        assert!(!format!("{look:?}").contains(token), "{look:?}");
    }
}
