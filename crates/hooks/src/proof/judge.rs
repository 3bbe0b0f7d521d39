//! What a program makes of a hook's end.

use serde_json::Value;

use super::configured::Configured;
use super::run::Ended;
use crate::program::Program;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The hook refuses the call, in these words.
    Denied(String),
    /// The hook failed, and that blocks the call.
    Blocked(String),
    Waits,
    Allowed,
    /// The program takes it for no objection; why.
    Open(String),
}

impl Effect {
    /// The lowest counts.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Denied(_) => 0,
            Self::Waits => 1,
            Self::Blocked(_) => 2,
            Self::Open(_) => 3,
            Self::Allowed => 4,
        }
    }
}

pub(super) fn judge(program: Program, hook: &Configured, ended: &Ended) -> Effect {
    let failed = |how: String| match hook.blocks {
        true => Effect::Blocked(how),
        false => Effect::Open(format!(
            "{how}; {} reads that as no objection",
            program.title()
        )),
    };
    if hook.background {
        return Effect::Open(
            "the hook runs in the background, and nothing waits for it".to_owned(),
        );
    }
    match ended {
        Ended::Waits => Effect::Waits,
        Ended::TimedOut => failed(format!(
            "the hook did not answer within its time-out of {} s",
            hook.timeout.as_secs_f64()
        )),
        Ended::NotStarted(why) => failed(format!("the hook could not be started: {why}")),
        Ended::Exited {
            code: Some(2), err, ..
        } => Effect::Denied(err.trim().to_owned()),
        Ended::Exited {
            code: Some(0), out, ..
        } => answered(program, hook, out),
        Ended::Exited {
            code: Some(127), ..
        } => failed(format!("the hook's program is missing: {}", hook.command)),
        Ended::Exited { code, .. } => failed(match code {
            Some(code) => format!("the hook ended with exit code {code}"),
            None => "the hook was ended by a signal".to_owned(),
        }),
    }
}

fn answered(program: Program, hook: &Configured, out: &str) -> Effect {
    if out.trim().is_empty() && !matches!(program, Program::Cursor | Program::OpenCode) {
        return Effect::Open("the hook had no objection".to_owned());
    }
    let reported = serde_json::from_str::<Value>(out)
        .ok()
        .filter(Value::is_object);
    let Some(reported) = reported else {
        let how = "the hook printed what is not JSON";
        // Only these two take that for a failure.
        return match hook.blocks && matches!(program, Program::Cursor | Program::OpenCode) {
            true => Effect::Blocked(how.to_owned()),
            false => Effect::Open(format!(
                "{how}; {} reads that as no objection",
                program.title()
            )),
        };
    };
    let own = &reported["hookSpecificOutput"];
    let (decision, words) = match program {
        Program::ClaudeCode if own["decision"]["behavior"].is_string() => {
            (&own["decision"]["behavior"], &own["decision"]["message"])
        }
        Program::ClaudeCode if reported["continue"] == false => {
            return Effect::Denied(text(&reported["stopReason"]));
        }
        Program::Codex if reported["continue"] == false => {
            let why = "the hook ends the run, which makes Codex run the call";
            return Effect::Open(why.to_owned());
        }
        Program::ClaudeCode | Program::Codex => {
            (&own["permissionDecision"], &own["permissionDecisionReason"])
        }
        Program::Cursor => (&reported["permission"], &reported["agent_message"]),
        Program::Copilot => (
            &reported["permissionDecision"],
            &reported["permissionDecisionReason"],
        ),
        Program::Gemini | Program::OpenCode => (&reported["decision"], &reported["reason"]),
    };
    match decision.as_str() {
        // A deferred call does not run before it was asked about again.
        Some("deny" | "block" | "defer") => Effect::Denied(text(words)),
        Some("allow") => Effect::Allowed,
        _ if program == Program::OpenCode && decision != "unasked" => {
            Effect::Blocked("the hook gave no decision".to_owned())
        }
        _ => Effect::Open("the hook had no objection".to_owned()),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Why the time that the program gives a hook of ours cannot be what was meant.
pub(super) fn time_out(program: Program, hook: &Configured) -> Option<String> {
    let words = hook.command.split_whitespace();
    let mut after = words.skip_while(|&word| word != "--timeout").skip(1);
    let answer = match after.next() {
        Some(seconds) => seconds.parse().ok()?,
        None => 3_600_u64,
    };
    let unit = match program {
        Program::Gemini => "milliseconds",
        _ => "seconds",
    };
    let (given, name) = (hook.timeout.as_secs_f64(), program.title());
    let far = hook.ours && program != Program::OpenCode;
    match hook.timeout.as_secs() {
        seconds if far && seconds < answer => Some(format!(
            "the hook's time-out of {given} s is shorter than the answer may take ({answer} s); {name} counts {unit}"
        )),
        seconds if far && seconds / 1_000 >= answer => Some(format!(
            "the hook's time-out of {given} s is a thousand times what the answer may take ({answer} s); {name} counts {unit}"
        )),
        _ => None,
    }
}
