//! Shell commands: what they destroy, fetch, send, open, start and switch off.

mod destroys;
mod fetches;
pub(crate) mod line;
mod opens;
mod persists;
mod safeguards;
pub(crate) mod scripts;
mod sends;
mod unset;

use countersign_shell::{Reason, Script};

use crate::call::Call;
use crate::direction;
use crate::finding::{Code, Hazard, Weight};
use crate::leaf::among;

pub(crate) use line::{Line, lines, name_of};
pub(crate) use scripts::scripts;

/// Something remarkable in a command.
pub(crate) struct Act {
    pub(crate) code: Code,
    pub(crate) weight: Weight,
    /// Program and options: what makes another one the same.
    pub(crate) same: String,
    /// What it does, behind "The command".
    pub(crate) what: String,
}

impl Act {
    pub(crate) fn stop(code: Code, same: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            code,
            weight: Weight::Stop,
            same: same.into(),
            what: what.into(),
        }
    }

    pub(crate) fn look(code: Code, same: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            weight: Weight::Look,
            ..Self::stop(code, same, what)
        }
    }
}

pub(crate) fn hazards(call: &Call<'_>) -> Vec<Hazard> {
    let mut found = Vec::new();
    let scheduler = crate::persists::is_scheduler(call);
    for (leaf, at, script) in scripts(call) {
        let text = leaf.text().unwrap_or_default();
        found.extend(crate::own::of_script(call, at, text, script));
        for act in acts(script) {
            if act.code == Code::Persists && scheduler {
                continue;
            }
            let mut message = format!("The command {}.", act.what);
            let from = crate::net::urls_in(text)
                .into_iter()
                .find_map(|url| crate::net::host_of(&crate::net::url(url)?));
            if let Some(host) = from.filter(|_| act.code == Code::RunsWhatItFetches) {
                message = format!(
                    "The command {}, from {}.",
                    act.what,
                    crate::shown::shown(&host)
                );
            }
            // Of what only the run knows, the variables that nothing sets are what is wrong.
            if is_of_variable(&act, text) {
                let Some((name, what)) = unset::unset(text) else {
                    continue;
                };
                let what = crate::shown::shown(&what);
                message = format!(
                    "If {name} is empty, this removes all of {what}; nothing in the command sets it."
                );
            }
            // Of a file only what surely harms.
            let file = !crate::role::is_command(leaf, call) && !leaf.place.ends_with("/*");
            if file && (act.weight == Weight::Look || act.code == Code::UnreadableCommand) {
                continue;
            }
            found.push(Hazard::new(act.code, act.weight, at, act.same, message));
        }
    }
    found
}

/// Whether it removes what a variable names.
fn is_of_variable(act: &Act, text: &str) -> bool {
    let known = act
        .what
        .strip_prefix("removes ")
        .and_then(|what| what.split_once('…'))
        .map(|(known, _)| known);
    let all = act.what.contains("known only at run time") && text.contains('$');
    all || known.is_some_and(|known| text.contains(&format!("{known}$")))
}

/// Everything remarkable, each kind once with its strongest first.
pub(crate) fn acts(script: &Script) -> Vec<Act> {
    let lines = lines(script);
    let mut found = Vec::new();
    for line in &lines {
        let sent = sends::act(line);
        found.extend(sent.filter(|act| act.weight == Weight::Stop || !direction::is_dry(line)));
        if direction::is_dry(line) {
            continue;
        }
        found.extend(destroys::act(line));
        let named = opens::act(line)
            .into_iter()
            .chain(persists::act(line))
            .map(|act| match act.what.contains(": ") {
                true => act,
                false => Act {
                    what: format!("{}: {}", act.what, line.shown()),
                    ..act
                },
            });
        found.extend(named);
        found.extend(safeguards::act(line));
    }
    found.extend(fetches::act(&lines));
    found.extend(unreadable(script, &lines));
    found.sort_by_key(|act| (act.code, act.weight));
    found.dedup_by_key(|act| act.code);
    found
}

fn unreadable(script: &Script, lines: &[Line<'_>]) -> Option<Act> {
    if let Some(reason) = script.unreadable {
        let what = match reason {
            Reason::Syntax => "cannot be read".to_owned(),
            reason => {
                let why = reason.message();
                let why = why.strip_prefix("the command ").unwrap_or(why);
                format!("{why}, so it is not read whole")
            }
        };
        return Some(Act::look(Code::UnreadableCommand, "unreadable", what));
    }
    // Programs with a text of another language are readable by a person; a name that only the run knows is not.
    let unknown = lines.iter().any(|line| {
        let dynamic = line
            .command
            .words
            .first()
            .is_some_and(|word| word.dynamic && word.gives.is_empty());
        let by_interpreter =
            line.command.how == countersign_shell::How::Text && line.command.words.len() == 1;
        let inner = line
            .parent
            .as_deref()
            .is_some_and(|parent| !among("sh bash zsh dash ksh eval source .", parent));
        let wrapped = line.command.how == countersign_shell::How::Wrapped;
        dynamic
            && !by_interpreter
            && !inner
            && !wrapped
            && line
                .command
                .words
                .first()
                .is_some_and(|word| word.text.is_empty() || !word.text.contains('/'))
    });
    unknown.then(|| {
        Act::look(
            Code::UnreadableCommand,
            "dynamic",
            "runs a program whose name is only known when it runs",
        )
    })
}
