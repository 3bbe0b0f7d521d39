//! Entries of Claude Code about commands: `Bash(…)`, `PowerShell(…)`.

use countersign_shell::{Command, Shell, read};

use super::claude_code::{Entry, WIDE, whole};
use super::text::quoted;
use super::{Desk, Parts, SourceFile, joined_id};
use crate::commands::{CommandPattern, POWERSHELL, as_word};
use crate::rule::Effect;

/// Tools that run whatever text they are given.
pub(super) const SHELLS: [&str; 2] = ["Bash", "PowerShell"];
const TOGETHER: &str = "every program of the command has to be allowed; an option by which it runs or writes something else asks, and so do other arguments than description and timeout; lasts 90 days";
const WRAPS: &str = "the command that it runs has to be allowed too; lasts 90 days";
const EXPANDS: &str =
    "what the shell expands is not known before: every command that begins like it asks";

fn shell_of(tool: &str) -> (Shell, Option<&'static str>) {
    match tool {
        "PowerShell" => (Shell::PowerShell, Some(POWERSHELL)),
        _ => (Shell::Posix, None),
    }
}

/// A specifier without `:*` or ` *` at its end, and whether it had one.
fn base(specifier: &str) -> (&str, bool) {
    let more = specifier
        .strip_suffix(":*")
        .or_else(|| specifier.strip_suffix(" *"));
    (more.unwrap_or(specifier), more.is_some())
}

/// The patterns here that a specifier is.
fn patterns(specifier: &str) -> Vec<String> {
    match base(specifier) {
        // A second wildcard makes the last one need a word, as there.
        (words, true) if words.contains('*') => vec![format!("{words} * *")],
        (words, true) => vec![format!("{words} *")],
        // Glued to the last word: its beginning, and whatever follows.
        _ if specifier.ends_with('*') => vec![specifier.to_owned(), format!("{specifier} *")],
        _ => vec![specifier.to_owned()],
    }
}

/// What the entries of one shell tool allow, together: a command may need more than one of them.
pub(super) struct Allowed {
    tool: &'static str,
    /// Places in the report.
    entries: Vec<usize>,
    texts: Vec<String>,
    patterns: Vec<String>,
}

impl Allowed {
    pub(super) fn new(tool: &'static str) -> Self {
        Self {
            tool,
            entries: Vec::new(),
            texts: Vec::new(),
            patterns: Vec::new(),
        }
    }

    pub(super) fn is_of(&self, tool: &str) -> bool {
        self.tool == tool
    }

    pub(super) fn add(&mut self, desk: &mut Desk<'_>, at: Entry<'_>, specifier: &str) {
        let (shell, _) = shell_of(self.tool);
        let list = patterns(specifier);
        let refused = list
            .iter()
            .find_map(|of| CommandPattern::new(of, shell, true).err());
        if let Some(why) = refused {
            return desk.leave(at.0, at.1, format!("the command {why}"));
        }
        let why = if wraps(base(specifier).0, shell) {
            WRAPS
        } else {
            TOGETHER
        };
        self.entries.push(desk.found.entries.len());
        desk.enter(
            at,
            (Some(Effect::Approve), Vec::new()),
            Some(why.to_owned()),
        );
        self.texts.push(at.1.to_owned());
        self.patterns.extend(list);
    }

    /// The rule of all of them.
    pub(super) fn carry(mut self, desk: &mut Desk<'_>, files: &[SourceFile]) -> Result<(), String> {
        if self.entries.is_empty() {
            return Ok(());
        }
        self.patterns.sort_unstable();
        self.patterns.dedup();
        let parts = Parts {
            tools: vec![self.tool.to_owned()],
            when: Some("args.all(k, k in ['command','description','timeout'])".to_owned()),
            command: self.patterns,
            shell: shell_of(self.tool).1,
            ..Parts::default()
        };
        let id = joined_id(files.iter(), &self.tool.to_lowercase());
        let named = ("claude-code", "allow", self.texts.join(", "));
        let named = (named.0, named.1, named.2.as_str());
        let rule = desk.with_id(id, named, Effect::Approve, parts)?;
        for place in self.entries {
            desk.found.entries[place].rules = vec![rule.id.clone()];
        }
        desk.found.rules.push(rule);
        Ok(())
    }
}

/// Whether what follows these words is run by them.
fn wraps(words: &str, shell: Shell) -> bool {
    const INNER: &str = "countersign-inner";
    let script = read(&format!("{words} {INNER}"), shell);
    let mut inner = script.commands.iter().filter(|of| of.inside.is_some());
    inner.any(|of| of.words.first().is_some_and(|word| word.text == INNER))
}

/// A command that is denied or asks.
pub(super) fn refuse(
    desk: &mut Desk<'_>,
    at: Entry<'_>,
    (tool, specifier): (&str, &str),
    effect: Effect,
) -> Result<(), String> {
    let (shell, word) = shell_of(tool);
    let list = patterns(specifier);
    let on = |command: Vec<String>| Parts {
        command,
        shell: word,
        ..whole(tool)
    };
    let is_read = |of: &String| CommandPattern::new(of, shell, false).is_ok();
    match (list.iter().all(is_read), beginnings(specifier, shell)) {
        (true, None) => desk.carry(at, vec![(effect, on(list))], None),
        (read, Some(begin)) if is_read(&begin) => {
            let mut rules = vec![(Effect::Ask, on(vec![begin]))];
            if effect == Effect::Deny {
                let (words, more) = base(specifier);
                let when = (!read).then(|| says(words, more));
                let command = if read { list } else { Vec::new() };
                rules.push((
                    effect,
                    Parts {
                        when,
                        ..on(command)
                    },
                ));
            }
            desk.carry(at, rules, Some(EXPANDS))
        }
        _ => {
            let mut rules = vec![(Effect::Ask, whole(tool))];
            let (words, more) = base(specifier);
            if effect == Effect::Deny && !words.contains('*') {
                let when = Some(says(words, more));
                rules.push((
                    effect,
                    Parts {
                        when,
                        ..whole(tool)
                    },
                ));
            }
            desk.carry(at, rules, Some(WIDE))
        }
    }
}

/// The command is these words, alone or followed by others.
fn says(words: &str, more: bool) -> String {
    let same = format!("args.command == {}", quoted(words));
    match more {
        false => same,
        true => format!(
            "({same} || args.command.startsWith({}))",
            quoted(&format!("{words} "))
        ),
    }
}

/// Where the shell expands a word of it: its commands up to such a word, with whatever follows. None where it
/// expands none; empty where a program is not known or the text cannot be read.
fn beginnings(specifier: &str, shell: Shell) -> Option<String> {
    // A star of the entry is not an expansion.
    let script = read(&base(specifier).0.replace('*', "x"), shell);
    if script.unreadable.is_some() {
        return Some(String::new());
    }
    let expands = |of: &Command| of.words.iter().any(|word| word.dynamic);
    let begin = |of: &Command| {
        let known = of.words.iter().take_while(|word| !word.dynamic);
        let known: Vec<String> = known.map(|word| as_word(&word.text)).collect();
        (!known.is_empty()).then(|| format!("{} *", known.join(" ")))
    };
    let listed = || script.commands.iter().filter(|of| of.inside.is_none());
    script.commands.iter().any(expands).then(|| {
        let all: Option<Vec<String>> = listed().map(begin).collect();
        all.unwrap_or_default().join(" ; ")
    })
}
