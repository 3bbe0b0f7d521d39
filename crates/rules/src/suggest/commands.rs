//! Commands that people approve again and again, as patterns: a program, its subcommand and the words that all of
//! them have, with whatever follows.
//!
//! No pattern covers a command that a person denied; a command is never listed as a text.

use std::collections::{BTreeMap, BTreeSet};

use countersign_redaction::secret_spans;
use countersign_shell::options::subcommands;
use countersign_shell::wrappers::is_transparent;
use countersign_shell::{Command, Shell, Word, base_name, read};
use countersign_wire::KeptJson;
use serde_json::Value;

use super::{APPROVALS_MIN, Decided, Exact};
use crate::commands::{CommandPattern, Reading, as_word};
use crate::rule::{Effect, Matchers};

/// What such a rule lets stand beside the command.
pub(super) const BESIDE: &str = "args.all(k, k in ['command','description','timeout'])";
const POINTER: &str = "/command";
/// Calls of one agent, tool and risk that are looked at.
const CALLS_MAX: usize = 2_000;
/// Programs whose first word says what they do; of those in `TWO` the second one says it.
const SUBCOMMANDS: &str = "git npm pnpm yarn bun cargo docker podman kubectl helm gh go pip pip3 uv poetry terraform make \
    gmake just systemctl apt apt-get brew rustup dotnet mvn gradle ./gradlew ./mvnw composer bundle rake mix deno flutter \
    aws gcloud az npx uvx pipx bunx";
const TWO: &str = "npm:run pnpm:run yarn:run bun:run docker:compose docker:container docker:image docker:volume docker:network \
    gh:pr gh:issue gh:run gh:repo gh:api uv:run uv:pip poetry:run aws:s3 aws:ec2 gcloud:compute cargo:xtask dotnet:tool \
    bundle:exec git:remote git:stash git:worktree git:submodule";
/// Without a fixed word behind them these may do anything.
const WIDE: &str = "rm rmdir mv dd chmod chown curl wget ssh scp rsync python python3 node perl ruby php deno bun bash sh zsh \
    sudo doas env eval source . docker podman kubectl terraform aws gcloud az helm npx uvx pipx bunx watch kill pkill osascript tee";

/// The language of a call's command, where a command is all that it says.
pub(super) fn shell_of(tool: &str, args: &Value) -> Option<Shell> {
    let map = args.as_object()?;
    let known = ["command", "description", "timeout"];
    let is_one =
        map.get("command")?.is_string() && map.keys().all(|key| known.contains(&key.as_str()));
    is_one.then(|| Shell::of_tool(tool))
}

/// One call.
#[derive(Debug, Clone)]
struct Call {
    args: Value,
    native: Option<KeptJson>,
    by: Exact,
}

impl Call {
    fn of(call: &Decided<'_>) -> Option<Self> {
        let mut by = Exact::default();
        by.take(call);
        Some(Self {
            args: call.asked.args?.clone(),
            native: call.asked.native.cloned(),
            by,
        })
    }

    fn text(&self) -> &str {
        self.args
            .pointer(POINTER)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

/// Calls of one agent and tool.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// Some were not kept.
    full: bool,
}

impl Calls {
    pub(super) fn take(&mut self, call: &Decided<'_>) {
        match self.calls.len() < CALLS_MAX {
            true => self.calls.extend(Call::of(call)),
            false => self.full = true,
        }
    }
}

/// A program's commands that are alike.
#[derive(Debug, Clone)]
struct Alike {
    /// Words that all of them begin with.
    words: Vec<String>,
    /// All of them are these words and nothing else.
    exact: bool,
    calls: BTreeSet<usize>,
}

/// Matchers of the commands among these that repeat, and what they represent; none where none do.
pub(super) fn patterns(
    approved: &Calls,
    denied: Option<&Calls>,
    (base, shell): (Matchers, Shell),
) -> Option<(Matchers, Exact)> {
    // What was not kept may have been denied.
    if denied.is_some_and(|denied| denied.full) {
        return None;
    }
    let mut alike: BTreeMap<Vec<String>, Alike> = BTreeMap::new();
    for (place, call) in approved.calls.iter().enumerate() {
        // Every console of the realm reads a rule.
        if !secret_spans(call.text()).is_empty() {
            continue;
        }
        for command in &read(call.text(), shell).commands {
            let Some(key) = key_of(command) else { continue };
            let (words, exact) = known_words(command);
            let of = alike.entry(key).or_insert_with(|| Alike {
                words: words.clone(),
                exact,
                calls: BTreeSet::new(),
            });
            let same = of
                .words
                .iter()
                .zip(&words)
                .take_while(|(a, b)| a == b)
                .count();
            of.exact &= exact && same == words.len() && same == of.words.len();
            of.words.truncate(same);
            of.calls.insert(place);
        }
    }
    let often = usize::try_from(APPROVALS_MIN).unwrap_or(usize::MAX);
    alike.retain(|key, of| of.calls.len() >= often && (of.exact || is_narrow(key, of)));
    let mut matchers = Matchers { shell, ..base };
    let refused: Vec<&Call> = denied.map_or_else(Vec::new, |denied| denied.calls.iter().collect());
    let given: Vec<&Call> = approved.calls.iter().collect();
    let (given_read, refused_read) = (readings(&given), readings(&refused));
    loop {
        let list = alike
            .values()
            .filter_map(|of| CommandPattern::new(&of.text(), shell, true).ok());
        matchers.command = BTreeMap::from([(POINTER.to_owned(), list.collect())]);
        let covered = |(call, reading): (&&Call, &Reading<'_>)| covers(&matchers, call, reading);
        let wrong = refused
            .iter()
            .zip(&refused_read)
            .find(|of| covered((of.0, of.1)));
        let Some((call, _)) = wrong else { break };
        // The pattern of it that represents the fewest goes.
        let keys: Vec<Vec<String>> = read(call.text(), shell)
            .commands
            .iter()
            .filter_map(key_of)
            .collect();
        let least = keys
            .into_iter()
            .filter(|key| alike.contains_key(key))
            .min_by_key(|key| alike.get(key).map_or(0, |of| of.calls.len()))?;
        alike.remove(&least);
    }
    let places: Vec<usize> = given
        .iter()
        .zip(&given_read)
        .enumerate()
        .filter(|(_, (call, reading))| covers(&matchers, call, reading))
        .map(|(place, _)| place)
        .collect();
    let used = |of: &&Alike| places.iter().any(|place| of.calls.contains(place));
    let list = alike.values().filter(used);
    let list = list.filter_map(|of| CommandPattern::new(&of.text(), shell, true).ok());
    matchers.command = BTreeMap::from([(POINTER.to_owned(), list.collect())]);
    let mut exact = Exact::default();
    places
        .iter()
        .for_each(|place| exact.merge(&given[*place].by));
    (exact.approvals >= APPROVALS_MIN).then_some((matchers, exact))
}

fn readings<'c>(calls: &[&'c Call]) -> Vec<Reading<'c>> {
    calls
        .iter()
        .map(|call| Reading::of(call.native.as_ref()))
        .collect()
}

fn covers(matchers: &Matchers, call: &Call, reading: &Reading<'_>) -> bool {
    matchers.command.iter().all(|(pointer, list)| {
        let value = call.args.pointer(pointer);
        let held = matchers.command_holds(Effect::Approve, (pointer, list), value, reading);
        held == Ok(true)
    })
}

impl Alike {
    fn text(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| as_word(word)).collect();
        match self.exact {
            true => words.join(" "),
            false => format!("{} *", words.join(" ")),
        }
    }
}

fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Whether a pattern says more than a program that may do anything.
fn is_narrow(key: &[String], of: &Alike) -> bool {
    of.words.len() > 1 || !key.first().is_some_and(|name| has(WIDE, base_name(name)))
}

/// What makes commands alike: the program and its subcommand. None for what no pattern is made of.
fn key_of(command: &Command) -> Option<Vec<String>> {
    let program = command.program()?;
    let name = base_name(program);
    if !command.assignments.is_empty() || is_transparent(name) {
        return None;
    }
    let mut key = vec![program.to_owned()];
    if has(SUBCOMMANDS, name) || has(SUBCOMMANDS, program) {
        // Behind another option it is not at its place for a pattern.
        let first = subcommands(name, &command.words).0.first() == Some(&1);
        let word = |at: usize| command.words.get(at).and_then(Word::literal);
        let sub = word(1).filter(|_| first)?;
        key.push(sub.to_owned());
        if has(TWO, &format!("{name}:{sub}")) {
            key.push(word(2)?.to_owned());
        }
    }
    Some(key)
}

/// The words of a command that a pattern can write, from the first, and whether those are all.
fn known_words(command: &Command) -> (Vec<String>, bool) {
    let plain = |word: &&Word| !word.dynamic && !word.text.contains('*');
    let words: Vec<String> = command
        .words
        .iter()
        .take_while(plain)
        .map(|word| word.text.clone())
        .collect();
    let all = words.len() == command.words.len();
    (words, all)
}
