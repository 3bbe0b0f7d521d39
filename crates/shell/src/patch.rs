//! Patches as `apply_patch` takes them: `*** Begin Patch` to `*** End Patch`.

use crate::script::{Command, Kind};

/// The files that the patches of a text change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    /// As they are written, those that a file is moved to included.
    pub targets: Vec<String>,
    /// All of the text was read: there are no other targets.
    pub whole: bool,
}

/// Whether a tool or a program takes patches, by its name.
#[must_use]
pub fn takes_patches(name: &str) -> bool {
    matches!(name, "apply_patch" | "applypatch")
}

/// The line that a patch is in.
enum At {
    Outside,
    /// Where only the head of a file may follow.
    Heads,
    Added,
    /// Behind the head of an update, where its new name may follow.
    Updated,
    Hunk,
}

/// Reads every patch of a text.
#[must_use]
pub fn patch(text: &str) -> Patch {
    let mut found = Patch {
        targets: Vec::new(),
        whole: true,
    };
    let mut at = At::Outside;
    for line in text.lines() {
        let head = |word: &str| line.strip_prefix(word).map(str::trim);
        let file = [
            ("*** Add File: ", At::Added),
            ("*** Delete File: ", At::Heads),
            ("*** Update File: ", At::Updated),
            ("*** Move to: ", At::Hunk),
        ];
        let file = file
            .into_iter()
            .find_map(|(word, next)| Some((head(word)?, next)));
        at = match (at, file, line.trim_end()) {
            (At::Outside, _, "*** Begin Patch") => At::Heads,
            (At::Outside, _, "") => At::Outside,
            (At::Outside, ..) => {
                found.whole = false;
                At::Outside
            }
            (_, None, "*** End Patch") => At::Outside,
            (at, Some((path, next)), _) if !path.is_empty() => {
                found.targets.push(path.to_owned());
                // Only an update has another name, at once.
                found.whole &= matches!(at, At::Updated) || !matches!(next, At::Hunk);
                next
            }
            (At::Added, None, _) if line.starts_with('+') => At::Added,
            (At::Updated | At::Hunk, None, "" | "*** End of File") => At::Hunk,
            (At::Updated | At::Hunk, None, _) if line.starts_with([' ', '+', '-', '@']) => At::Hunk,
            (at, ..) => {
                found.whole = false;
                at
            }
        };
    }
    found.whole &= matches!(at, At::Outside) && !found.targets.is_empty();
    found
}

/// The patch that a command applies; None of another command.
#[must_use]
pub fn applied(command: &Command) -> Option<Patch> {
    command.name().filter(|name| takes_patches(name))?;
    let here = command.redirections.iter();
    let here = here.filter(|of| of.kind == Kind::Here).map(|of| &of.target);
    let mut all = Patch {
        targets: Vec::new(),
        whole: true,
    };
    for word in command.words[1..].iter().chain(here) {
        let read = patch(&word.text);
        all.targets.extend(read.targets);
        all.whole &= read.whole && !word.dynamic;
    }
    // It may come from a pipe.
    all.whole &= !all.targets.is_empty();
    Some(all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Shell, read};

    const BEGIN: &str = "*** Begin Patch\n";
    const END: &str = "*** End Patch\n";

    #[test]
    fn every_target_of_every_patch_counts() {
        let three = "*** Add File: notes.txt\n+hello\n*** Add File: .git/hooks/pre-commit\n+#!/bin/sh\n*** Update File: .env\n@@\n+A=1\n";
        let moved = "*** Update File: src/a.ts\n*** Move to: ../x.ts\n@@ fn a\n-a\n+b\n \n*** End of File\n*** Delete File: b\n";
        for (text, targets) in [
            (
                format!("{BEGIN}{three}{END}"),
                vec!["notes.txt", ".git/hooks/pre-commit", ".env"],
            ),
            (
                format!("{BEGIN}{moved}{END}"),
                vec!["src/a.ts", "../x.ts", "b"],
            ),
            (
                format!("\n{BEGIN}*** Add File: a b \n+x\n{END}\n{BEGIN}*** Delete File: c\n{END}"),
                vec!["a b", "c"],
            ),
            (
                format!("{BEGIN}*** Update File: a\r\n first\r\n+x\r\n{END}"),
                vec!["a"],
            ),
            (
                format!("{BEGIN}*** Update File: a\n@@\n *** Add File: only context\n+x\n{END}"),
                vec!["a"],
            ),
        ] {
            let read = patch(&text);
            assert_eq!(read.targets, targets, "{text}");
            assert!(read.whole, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_whole() {
        for text in [
            String::new(),
            "git apply x".to_owned(),
            format!("{BEGIN}{END}"),
            format!("{BEGIN}*** Update File: a\n@@\n-a\n+b\n"),
            format!("{BEGIN}*** Add File: a\n+x\n *** Add File: /etc/passwd\n+y\n{END}"),
            format!("{BEGIN}*** Add File: \n+x\n{END}"),
            format!("{BEGIN}*** Add File: a\n*** Move to: b\n{END}"),
            format!("{BEGIN}*** Rename File: a\n{END}"),
            format!("*** Add File: a\n{BEGIN}*** Add File: b\n+x\n{END}"),
            format!("{BEGIN}*** Add File: b\n+x\n{END}rm -rf ~"),
            format!("{BEGIN}*** Add File: b\nx\n{END}"),
            format!("{BEGIN}*** Delete File: b\n+x\n{END}"),
        ] {
            assert!(!patch(&text).whole, "{text}");
        }
    }

    #[test]
    fn a_command_applies_its_here_document_or_its_word() {
        let body = format!("{BEGIN}*** Add File: .git/hooks/x\n+y\n{END}");
        for (text, targets, whole) in [
            (
                format!("cd /w && apply_patch <<'EOF'\n{body}EOF"),
                vec![".git/hooks/x"],
                true,
            ),
            (
                format!("/usr/bin/apply_patch '{body}'"),
                vec![".git/hooks/x"],
                true,
            ),
            (
                format!("apply_patch \"{body}$X\""),
                vec![".git/hooks/x"],
                false,
            ),
            ("cat x | apply_patch".to_owned(), vec![], false),
        ] {
            let script = read(&text, Shell::Posix);
            let applied = script.commands.iter().find_map(applied).unwrap();
            assert_eq!(applied.targets, targets, "{text}");
            assert_eq!(applied.whole, whole, "{text}");
        }
        assert!(
            read("git apply x", Shell::Posix)
                .commands
                .iter()
                .all(|of| applied(of).is_none())
        );
    }
}
