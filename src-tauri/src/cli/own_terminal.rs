//! What runs below a coding agent: what agents themselves need, and what only reads. Everything else wants a person's
//! own terminal.
//!
//! A border against a model's mistakes. An agent with the user's own shell can in the end do what the user can.

use std::env;
use std::ffi::OsString;

use clap::{ArgMatches, CommandFactory as _};
use countersign_wire::ErrorCode;

use super::args::Cli;
use super::failure::Failure;

/// What coding agents set for the processes that they start.
const VARIABLES: &str = "CLAUDECODE GEMINI_CLI CODEX_SANDBOX CURSOR_AGENT OPENCODE";
/// A new command is refused until it is named here.
const HARMLESS: &str = "agents, alarms, ask, audit head, audit verify, bridge commonground check, bridge commonground list, \
bus permissions, completions, doctor, export, feeds failed, feeds list, history, hook, inbox, keys show, man, mcp, mcp-proxy, operators list, operators log, \
practice report, reader list, rules check, rules import, rules list, rules show, rules simulate, rules suggest, setup list, show, \
status, trace, watch";
/// Flags by which one of those decides, changes or reveals something.
const NOT_HARMLESS: [&str; 3] = ["apply", "reveal", "run"];

/// Refuses a command that decides or changes something below a coding agent.
pub(super) fn required(arguments: &[OsString]) -> Result<(), Failure> {
    let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let Some(variable) = VARIABLES.split(' ').find(is_set) else {
        return Ok(());
    };
    match Cli::command().try_get_matches_from(arguments) {
        Ok(matches) if is_harmless(&matches) => Ok(()),
        _ => Err(Failure::new(
            ErrorCode::VerdictNotAllowed,
            format!(
                "a coding agent started this ({variable} is set), and this command is for a person: run it in a terminal of your own"
            ),
        )),
    }
}

fn is_harmless(mut matches: &ArgMatches) -> bool {
    let mut words = Vec::new();
    while let Some((word, inner)) = matches.subcommand() {
        words.push(word);
        matches = inner;
    }
    let has = |flag: &str| matches!(matches.try_get_one::<bool>(flag), Ok(Some(true)));
    // The window is a person's.
    words.is_empty()
        || has("dry_run") && matches!(words[..], ["connect" | "disconnect"])
        || HARMLESS.split(", ").any(|name| name == words.join(" "))
            && !NOT_HARMLESS.into_iter().any(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn harmless(line: &str) -> bool {
        let words = ["countersign"].into_iter().chain(line.split(' '));
        let matches = Cli::command().try_get_matches_from(words);
        is_harmless(&matches.unwrap_or_else(|error| panic!("{line}: {error}")))
    }

    #[test]
    fn only_what_reads_and_what_agents_need_is_harmless() {
        for line in [
            "ask --tool x",
            "audit head",
            "audit verify",
            "connect claude-code --dry-run",
            "doctor",
            "doctor --gate claude-code",
            "export --format csv",
            "history --tool x",
            "hook codex",
            "inbox",
            "mcp",
            "mcp-proxy -- x",
            "rules check f",
            "rules list",
            "rules show r",
            "rules simulate f",
            "rules import --from claude-code f",
            "show r1",
            "status",
            "trace t",
            "watch",
            "agents",
            "alarms",
            "setup list",
            "operators list",
            "operators log",
            "practice report",
            "reader list",
            "disconnect codex --dry-run",
        ] {
            assert!(harmless(line), "{line}");
        }
        for line in [
            "approve r1",
            "deny r1 --message no",
            "skip r1",
            "respond r1 --content x",
            "escalate r1",
            "bypass a/b --up-to low --for 1h",
            "bypass off a/b",
            "rules apply f",
            "rules remove r",
            "rules enable r",
            "rules disable r",
            "rules regret r1",
            "rules import --from claude-code f --apply",
            "setup set a/b k v",
            "setup bind a/b k --skips-when v",
            "panic off",
            "panic on",
            "pause a/b",
            "resume a/b",
            "stop a/b",
            "enroll a/b",
            "revoke a/b",
            "connect claude-code",
            "connect pydantic-ai",
            "disconnect claude-code",
            "alarms ack 1",
            "operators rotate",
            "keys move --to file",
            "practice off",
            "reader use claude-code --workspaces a",
            "reader off",
            "backup f",
            "restore f",
            "bus recover",
            "audit export",
            "maintenance habits",
            "serve",
            "show r1 --reveal",
            "doctor --gate claude-code --run",
        ] {
            assert!(!harmless(line), "{line}");
        }
    }
}
