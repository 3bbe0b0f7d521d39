//! Agents that are started without their gate.

use countersign_shell::{Word, base_name};

use super::Own;
use crate::command::Line;
use crate::finding::Code;
use crate::leaf::among;

const AGENTS: &str =
    "claude claude-code codex gemini gemini-cli copilot cursor-agent opencode opencode-ai";
/// Hooks do not run, or everything is allowed.
const SWITCHES: &str = "--bare --safe-mode --settings --setting-sources --allow-all-tools --allow-all --yolo --pure \
    --allow-dangerously-skip-permissions bypassPermissions --permission-mode=bypassPermissions yolo --approval-mode=yolo \
    danger-full-access --sandbox=danger-full-access";

/// `npx @openai/codex@latest` starts `codex`.
fn agent(program: &str) -> &str {
    base_name(program).split('@').next().unwrap_or_default()
}

pub(super) fn is_agent(program: &str) -> bool {
    among(AGENTS, agent(program))
}

pub(super) fn of_line(line: &Line<'_>, inner: &[Word]) -> Option<Own> {
    let (name, words) = match is_agent(&line.name) {
        true => (agent(&line.name), line.words),
        false => {
            let at = inner.iter().position(|word| is_agent(&word.text))?;
            (agent(&inner[at].text), &inner[at + 1..])
        }
    };
    let options = words.iter().take_while(|word| word.text != "--");
    let mut options = options.map(|word| word.text.as_str());
    let switch = options.find(|option| is_switch(name, option));
    let switch = switch.map(|option| match among(SWITCHES, option) {
        true => option,
        false => option.split('=').next().unwrap_or(option),
    });
    let written = switch.or_else(|| moved(line))?;
    let what = format!("starts an agent without its gate: {name} with {written}");
    Some((Code::UngatedAgent, written.to_owned(), what))
}

fn is_switch(agent: &str, option: &str) -> bool {
    let of_agent = match agent {
        "gemini" | "gemini-cli" => option == "-y",
        "cursor-agent" => among("-f --force", option),
        "codex" => option.contains("hooks=") || among("hooks codex_hooks", option),
        _ => false,
    };
    let name = option.split('=').next().unwrap_or(option);
    of_agent
        || among(SWITCHES, option)
        || (name.starts_with('-') && among(SWITCHES, name))
        || name.starts_with("--dangerously-")
}

/// A variable by which it finds other settings, set for it or before it.
fn moved<'s>(line: &Line<'s>) -> Option<&'s str> {
    const SETS: &str = "export env declare typeset local set setenv setx sudo doas";
    let before = line.script.commands.get(..=line.index)?;
    before.iter().find_map(|command| {
        let set = command.assignments.iter().map(|of| of.name.as_str());
        let sets = among(SETS, &crate::command::name_of(command));
        let words = command.words.iter().filter(|_| sets);
        let words = words.map(|word| word.text.as_str());
        let mut names = set
            .chain(words)
            .map(|text| text.split('=').next().unwrap_or(text));
        names.find(|name| moves(name.trim_start_matches("env:")))
    })
}

fn moves(name: &str) -> bool {
    const OWN: [&str; 6] = [
        "CLAUDE_",
        "CODEX_",
        "GEMINI_",
        "COPILOT_",
        "CURSOR_",
        "OPENCODE_",
    ];
    const WHERE: [&str; 7] = ["HOME", "DIR", "CONFIG", "PATH", "DISABLE", "SIMPLE", "SAFE"];
    among("HOME USERPROFILE XDG_CONFIG_HOME", name)
        || (OWN.iter().any(|own| name.starts_with(own))
            && WHERE.iter().any(|part| name.contains(part)))
}
