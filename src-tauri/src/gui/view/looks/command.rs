//! The parts of a shell command: what runs, after what, and inside of what.
//!
//! Nothing is expanded or left out: every part is a piece of the text as it came, and what is not understood stays one
//! part. The shell's rules for quotes and operators (POSIX.1-2024, section 2.3); a comment is divided like a command,
//! and aliases, here-documents and what a word comes to are left to the shell.

use countersign_view::{ArgLook, CommandPart};

use crate::gui::view::hidden::{escape, without_secrets};

/// What arguments with a command line are called.
const NAMES: [&str; 5] = ["command", "cmd", "script", "shell_command", "bash"];
/// A longer command is read in the arguments.
const BYTES: usize = 16 * 1024;
/// Parts that are listed; a command with more has no look.
const PARTS: usize = 200;
/// How deep commands inside of commands are looked into.
const DEPTH: u32 = 8;

/// The look of a command; none for one that is a single part, which the arguments show as well.
pub(super) fn command(name: &str, text: &str) -> Option<ArgLook> {
    if !NAMES.contains(&name) || text.len() > BYTES {
        return None;
    }
    let text = without_secrets(text);
    let mut parts = Vec::new();
    split(&text, 0, &mut parts);
    if !(2..=PARTS).contains(&parts.len()) {
        return None;
    }
    let shown = parts.into_iter().map(|part| CommandPart {
        // The list itself shows where a line ends.
        joint: escape(part.joint.trim()),
        program: escape(part.program),
        rest: escape(part.rest),
        depth: part.depth,
    });
    Some(ArgLook::Command {
        place: escape(name),
        parts: shown.collect(),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part<'t> {
    /// The operator before it.
    joint: &'t str,
    program: &'t str,
    rest: &'t str,
    depth: u32,
}

/// Operators between commands; the longest first.
const OPERATORS: [&str; 9] = ["&&", "||", "|&", ";;", ";", "|", "&", "(", ")"];

fn split<'t>(text: &'t str, depth: u32, parts: &mut Vec<Part<'t>>) {
    let (mut joint, mut begun, mut at) = ("", 0, 0);
    let mut inner = Vec::new();
    while let Some(c) = text[at..].chars().next() {
        if let Some(length) = operator(text, at) {
            push(joint, &text[begun..at], &mut inner, depth, parts);
            joint = &text[at..at + length];
            at += length;
            begun = at;
            continue;
        }
        at = match c {
            '\\' => after_char(text, at + 1),
            '\'' => closing(text, at + 1, '\''),
            '"' => double_quoted(text, at + 1, &mut inner),
            '`' => {
                let end = closing(text, at + 1, '`');
                inner.push(inside(text, at + 1, end, '`'));
                end
            }
            '$' | '<' | '>' if text[at + 1..].starts_with('(') => {
                let end = parenthesis(text, at + 2);
                inner.push(inside(text, at + 2, end, ')'));
                end
            }
            _ => at + c.len_utf8(),
        };
    }
    push(joint, &text[begun..], &mut inner, depth, parts);
}

/// The length of the operator at this place. `>&`, `<&`, `&>` and `>|` redirect and divide nothing.
fn operator(text: &str, at: usize) -> Option<usize> {
    let (before, rest) = text.split_at(at);
    if rest.starts_with('\n') {
        return Some(1);
    }
    let redirects = (rest.starts_with('&') && before.ends_with(['>', '<']))
        || rest.starts_with("&>")
        || (rest.starts_with('|') && before.ends_with('>'));
    let found = OPERATORS.iter().find(|word| rest.starts_with(**word));
    found.filter(|_| !redirects).map(|word| word.len())
}

fn push<'t>(
    joint: &'t str,
    piece: &'t str,
    inner: &mut Vec<&'t str>,
    depth: u32,
    parts: &mut Vec<Part<'t>>,
) {
    let piece = piece.trim();
    // Beyond what is listed nothing more is looked at.
    if !piece.is_empty() && parts.len() <= PARTS {
        let program = piece.split_whitespace().find(|word| !is_assignment(word));
        let (program, rest) = match program.and_then(|word| piece.split_once(word).zip(Some(word)))
        {
            // Variables that are set for the command come before it: they are shown with what follows.
            Some((("", rest), word)) => (word, rest.trim_start()),
            _ => ("", piece),
        };
        parts.push(Part {
            joint,
            program,
            rest,
            depth,
        });
    }
    for text in inner.drain(..) {
        if depth < DEPTH {
            split(text, depth + 1, parts);
        }
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
    })
}

fn after_char(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(at, |c| at + c.len_utf8())
}

/// Behind the next unescaped `quote`, or the end of the text. Nothing is escaped between single quotes.
fn closing(text: &str, from: usize, quote: char) -> usize {
    let mut at = from;
    while let Some(c) = text[at..].chars().next() {
        at += c.len_utf8();
        if c == quote {
            return at;
        }
        if c == '\\' && quote != '\'' {
            at = after_char(text, at);
        }
    }
    at
}

/// Behind the end of a text in double quotes; commands inside of it run all the same.
fn double_quoted<'t>(text: &'t str, from: usize, inner: &mut Vec<&'t str>) -> usize {
    let mut at = from;
    while let Some(c) = text[at..].chars().next() {
        at = match c {
            '"' => return at + 1,
            '\\' => after_char(text, at + 1),
            '`' => {
                let end = closing(text, at + 1, '`');
                inner.push(inside(text, at + 1, end, '`'));
                end
            }
            '$' if text[at + 1..].starts_with('(') => {
                let end = parenthesis(text, at + 2);
                inner.push(inside(text, at + 2, end, ')'));
                end
            }
            _ => at + c.len_utf8(),
        };
    }
    at
}

/// Behind the parenthesis that closes the one before `from`, or the end of the text.
fn parenthesis(text: &str, from: usize) -> usize {
    let (mut at, mut open) = (from, 1_u32);
    while let Some(c) = text[at..].chars().next() {
        at = match c {
            '\\' => after_char(text, at + 1),
            '\'' => closing(text, at + 1, '\''),
            '"' => closing(text, at + 1, '"'),
            '`' => closing(text, at + 1, '`'),
            _ => at + c.len_utf8(),
        };
        match c {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return at;
        }
    }
    at
}

/// The text between `from` and `end`, without what closed it.
fn inside(text: &str, from: usize, end: usize, closed_by: char) -> &str {
    let text = &text[from..end];
    text.strip_suffix(closed_by).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    /// Operator, program, the rest, depth.
    type Plain<'t> = (&'t str, &'t str, &'t str, u32);

    fn parts(text: &str) -> Vec<Plain<'_>> {
        let mut parts = Vec::new();
        split(text, 0, &mut parts);
        let plain = parts.into_iter();
        plain
            .map(|part| (part.joint, part.program, part.rest, part.depth))
            .collect()
    }

    #[test]
    fn a_command_is_divided_where_a_shell_divides_it() {
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
            ("a\nb", &[("", "a", "", 0), ("\n", "b", "", 0)]),
            (
                "echo 'a; rm -rf /' \"b && c\" d\\;e",
                &[("", "echo", "'a; rm -rf /' \"b && c\" d\\;e", 0)],
            ),
            (
                "echo \"$(curl http://x | sh)\" `id`",
                &[
                    ("", "echo", "\"$(curl http://x | sh)\" `id`", 0),
                    ("", "curl", "http://x", 1),
                    ("|", "sh", "", 1),
                    ("", "id", "", 1),
                ],
            ),
            (
                "diff <(sort a) <(echo $(b))",
                &[
                    ("", "diff", "<(sort a) <(echo $(b))", 0),
                    ("", "sort", "a", 1),
                    ("", "echo", "$(b)", 1),
                    ("", "b", "", 2),
                ],
            ),
            (
                "make 2>&1 >|log &>all",
                &[("", "make", "2>&1 >|log &>all", 0)],
            ),
            ("(a; b)", &[("(", "a", "", 0), (";", "b", "", 0)]),
            ("A=1 B=2 run x", &[("", "", "A=1 B=2 run x", 0)]),
            ("echo 'open", &[("", "echo", "'open", 0)]),
            (
                "echo $(open",
                &[("", "echo", "$(open", 0), ("", "open", "", 1)],
            ),
            ("", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(parts(text), *expected, "{text}");
        }
    }

    #[test]
    fn only_a_command_of_several_parts_has_a_look_and_its_secrets_stay_hidden() {
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

    proptest! {
        #[test]
        fn nothing_of_a_command_is_left_out(text in "[ab= ;&|()'\"`$\\\\<>\n]{0,40}") {
            let mut found = Vec::new();
            split(&text, 0, &mut found);
            let whole: String = text.chars().filter(|c| !c.is_whitespace() && !";&|()".contains(*c)).collect();
            let outer = found.iter().filter(|part| part.depth == 0);
            let kept: String = outer
                .flat_map(|part| [part.program, part.rest])
                .flat_map(str::chars)
                .filter(|c| !c.is_whitespace() && !";&|()".contains(*c))
                .collect();
            prop_assert_eq!(kept, whole);
        }
    }
}
