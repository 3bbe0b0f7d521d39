//! What is wrong with entries of ours that all deny a probe.

use super::Configuration;
use super::configured::Configured;
use super::others::Weakness;
use super::rules::Version;
use crate::connect::flag;
use crate::program::Program;

/// Of the entries that are asked about one call.
pub(super) fn weaknesses(
    program: Program,
    own: &[&Configured],
    configuration: &Configuration,
) -> Vec<Weakness> {
    let name = program.name();
    let old_cursor = program == Program::Cursor && program.is_old(configuration.version);
    let one = format!("countersign disconnect {name} --scope user, or --scope project");
    let mut found: Vec<_> = twice(program, own, configuration)
        .map(|why| (why, one))
        .into_iter()
        .collect();
    for hook in own {
        let file = hook.file.display();
        let mut wrong = |why| found.push((why, format!("countersign connect {name}")));
        if flag(&hook.command, "--event").0.as_deref() != Some("before") {
            wrong(format!(
                "the hook in {file} has no --event before: what it does not know may run"
            ));
        }
        if old_cursor && hook.event == "preToolUse" {
            wrong(format!(
                "Cursor before 2.4 does not know the event of {file}"
            ));
        }
    }
    found
}

/// A version whose events nobody has tried.
pub(super) fn untried(program: Program, version: Option<Version>) -> Option<Weakness> {
    let (version, tried) = (version?, program.tried()?);
    let text = |version: Version| version.map(|part| part.to_string()).join(".");
    let (title, new, old) = (program.title(), text(version), text(tried));
    let why = format!("{title} {new} is newer than {old}: nobody has tried its events");
    let fix = format!("countersign doctor --gate {} --run", program.name());
    (version > tried).then_some((why, fix))
}

fn twice(program: Program, own: &[&Configured], configuration: &Configuration) -> Option<String> {
    let ids = program.own_ids();
    let are_two = |one: &Configured, other: &Configured| {
        let ((entry, asks), (another, asks_too)) =
            (options(one, configuration), options(other, configuration));
        // Cursor's older events are for different calls; `preToolUse` is for each of them.
        let of_one_call =
            one.event == other.event || [one.event, other.event].contains(&"preToolUse");
        of_one_call && !(ids && entry != another && asks == asks_too)
    };
    let pairs = own.iter().enumerate();
    let mut pairs = pairs.flat_map(|(at, one)| own[at + 1..].iter().map(move |other| (one, other)));
    let (one, other) = pairs.find(|(one, other)| are_two(one, other))?;
    let (one, other) = (one.file.display(), other.file.display());
    let how = if ids { " with other options" } else { "" };
    Some(format!(
        "Countersign is connected in {one} and{how} in {other}: a call is asked about twice"
    ))
}

/// The name of an entry, and everything that decides how it asks.
fn options(hook: &Configured, configuration: &Configuration) -> (Option<String>, String) {
    let (agent, rest) = flag(&hook.command, "--agent-json");
    let agent = agent.unwrap_or_else(|| configuration.default_agent.display().to_string());
    let (entry, rest) = flag(&rest, "--entry");
    let flags = rest
        .split_once(" hook ")
        .map_or("", |(_, flags)| flags.trim());
    (entry, format!("{agent} {flags}"))
}
