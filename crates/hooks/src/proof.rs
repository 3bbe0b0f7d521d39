//! Whether the gate that a program is configured with denies: a probe through every hook that the program would run.
//!
//! Judged by the program's own rules, by which many faults let a call run.

mod codex;
mod configured;
mod elsewhere;
mod judge;
mod others;
mod own;
mod rules;
mod run;
mod settings;

use std::path::{Path, PathBuf};

use futures::future::join_all;

use crate::connect::flag;
use crate::program::Program;
use configured::{Configured, Kind};
use judge::{Effect, judge, time_out};
pub use rules::Version;
use settings::Settings;

/// Where a program is configured, and what it is.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// The settings files that it reads, those that count less first; some may be missing.
    pub files: Vec<PathBuf>,
    /// The folder in which it is started.
    pub folder: PathBuf,
    /// The one of these that an administrator sets for everybody: its hooks cannot be tried.
    pub managed: Option<PathBuf>,
    /// The enrolment of an entry that names none.
    pub default_agent: PathBuf,
    /// None where it could not be read.
    pub version: Option<Version>,
    /// Whether the other hooks of the event are run, which then act.
    pub others: bool,
}

/// What became of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Whether the gate denies what nobody approved, and waits as long as an answer may take.
    pub holds: bool,
    /// `deny`; `block`: the hook failed, and the program blocks the call; `allow`; `none`: nothing objected; `waits`.
    pub verdict: &'static str,
    /// Whether the call ran, or would have.
    pub ran: bool,
    /// What lets a call run; of a gate that holds, how, where no console denied the probe.
    pub why: Option<String>,
    /// One command or sentence.
    pub fix: Option<String>,
    /// Nothing that lets a call run was found, but not everything was tried.
    pub unproven: bool,
}

impl Proof {
    /// A gate that does not hold.
    #[must_use]
    pub fn open(verdict: &'static str, why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            holds: false,
            verdict,
            ran: matches!(verdict, "allow" | "none"),
            why: Some(why.into()),
            fix: Some(fix.into()),
            unproven: false,
        }
    }

    /// A gate that holds.
    #[must_use]
    pub fn held(verdict: &'static str, why: Option<String>) -> Self {
        Self {
            holds: true,
            verdict,
            ran: false,
            why,
            fix: None,
            unproven: false,
        }
    }

    /// The same gate with what else is wrong with it.
    fn but(self, weaknesses: Vec<(String, String)>, unproven: bool) -> Self {
        let (whys, fixes): (Vec<_>, Vec<_>) = weaknesses.into_iter().unzip();
        if whys.is_empty() || !self.holds {
            return self;
        }
        Self {
            unproven,
            ..Self::open(self.verdict, whys.join("; "), fixes.join("; "))
        }
    }
}

/// Sends a probe through the hooks that the program would run for a call that asks.
pub async fn prove(program: Program, configuration: &Configuration) -> Proof {
    let connect = format!("countersign connect {}", program.name());
    let settings = match Settings::read(program, configuration) {
        Ok(settings) => settings,
        Err(why) => return Proof::open("none", why, "correct the file"),
    };
    if let Some(file) = settings.off {
        let whose = match configuration.files.first() == Some(&file) {
            true => "your settings",
            false => "the settings of this project",
        };
        let why = format!("{whose} turn hooks off ({})", file.display());
        let fix = format!("take {} out of {}", program.switch(), file.display());
        return Proof::open("none", why, fix);
    }
    let (trusted, untrusted): (Vec<_>, Vec<_>) = settings
        .hooks
        .into_iter()
        .partition(|hook| hook.untrusted.is_none());
    let (own, others): (Vec<_>, Vec<_>) = trusted.iter().partition(|hook| hook.ours);
    if own.is_empty()
        && let Some(why) = untrusted.into_iter().find_map(|hook| hook.untrusted)
    {
        let fix = "start codex, enter /hooks, and trust the hooks of countersign";
        return Proof::open("none", why, fix);
    }
    let mut asked = own.clone();
    if configuration.others {
        let run = |hook: &&&Configured| hook.of_shell && hook.is_run_beside();
        asked.extend(others.iter().filter(run));
    }
    if asked.is_empty() {
        let why = format!("no hook of {} runs before a call", program.title());
        return Proof::open("none", why, connect);
    }
    let probe = &run::probe();
    let probes = asked.into_iter().map(|hook| async move {
        let ended = run::run(program, hook, &configuration.folder, probe).await;
        (hook, judge(program, hook, &ended))
    });
    let mut effects = join_all(probes).await;
    // That another hook denies a tool that it does not know proves nothing about other calls.
    let denies = |effect: &Effect| matches!(effect, Effect::Denied(_) | Effect::Blocked(_));
    effects.retain(|(hook, effect)| hook.ours || !denies(effect));
    let mut proof = proof_of(program, effects, connect);
    let mut open = own::weaknesses(program, &own, configuration);
    let mut untried = Vec::from_iter(own::untried(program, configuration.version));
    let (denying, rewriting): (Vec<_>, Vec<_>) = others
        .into_iter()
        .partition(|hook| hook.kind == Kind::OnlyDenies);
    if configuration.others {
        let tried = rewriting.iter();
        let tried = tried.map(|hook| others::weakness(program, hook, &configuration.folder));
        open.extend(join_all(tried).await.into_iter().flatten());
    } else if !rewriting.is_empty() {
        let fix = format!("countersign doctor --gate {}", program.name());
        untried.push(("other hooks were not tried".to_owned(), fix));
    }
    if let Some(hook) = denying.first() {
        let (what, file) = (&hook.command, hook.file.display());
        let why = format!("{what} in {file} cannot be tried; it can only deny");
        proof.why.get_or_insert(why);
    }
    let unproven = open.is_empty();
    open.extend(untried);
    proof.but(open, unproven)
}

/// The strictest answer counts.
fn proof_of(program: Program, mut effects: Vec<(&Configured, Effect)>, connect: String) -> Proof {
    effects.sort_by_key(|(hook, effect)| (effect.rank(), !hook.ours));
    let Some((hook, effect)) = effects.into_iter().next() else {
        return Proof::open("none", "no hook runs before a call", connect);
    };
    match effect {
        Effect::Denied(words) => match time_out(program, hook) {
            Some(why) => Proof::open("deny", why, connect),
            None => Proof::held("deny", (!words.ends_with(": probe")).then_some(words)),
        },
        Effect::Blocked(why) => match time_out(program, hook) {
            Some(late) => Proof::open("block", late, connect),
            None => Proof::held("block", Some(why)),
        },
        Effect::Waits => Proof::open(
            "waits",
            "no console denied the probe; the hook waits for an answer",
            "countersign serve",
        ),
        Effect::Open(why) => Proof::open("none", why, connect),
        Effect::Allowed => {
            let why = "a hook of this event allows the call, and none denies it";
            let file = hook.file.display();
            let fix = format!("take {:?} out of {file}, or {connect}", hook.command);
            Proof::open("allow", why, fix)
        }
    }
}

/// The commands of other hooks that a probe runs.
#[must_use]
pub fn other_hooks(program: Program, configuration: &Configuration) -> Vec<String> {
    let settings = Settings::read(program, configuration);
    let hooks = settings.map_or_else(|_| Vec::new(), |settings| settings.hooks);
    let run = hooks.into_iter().filter(Configured::is_run_beside);
    run.map(|hook| hook.command).collect()
}

/// The hook of ours that a program asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnHook {
    /// The enrolment that it names.
    pub agent_json: Option<PathBuf>,
    /// It is asked only where the program asks for permission itself, not before every call.
    pub at_prompt: bool,
}

/// None where there is none, or its settings cannot be read.
#[must_use]
pub fn own_hook(program: Program, configuration: &Configuration) -> Option<OwnHook> {
    let settings = Settings::read(program, configuration).ok()?;
    let own = settings.hooks.into_iter().find(|hook| hook.ours)?;
    Some(OwnHook {
        agent_json: flag(&own.command, "--agent-json").0.map(PathBuf::from),
        at_prompt: own.event == "PermissionRequest",
    })
}

/// Whether the settings of a program have a hook of ours; for a list of what is connected.
#[must_use]
pub fn is_connected(program: Program, file: &Path) -> bool {
    settings::has_ours(program, file)
}

#[cfg(test)]
mod tests;
