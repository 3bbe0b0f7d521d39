//! `ask`: asks as an agent, so that any shell script can be gated.
//!
//! It ends with success only when a person allowed exactly the arguments that it prints.

use std::env;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_core::data_dir::DataDir;
use countersign_core::ops::enroll::LOCAL_AGENT;
use countersign_redaction::Hiding;
use countersign_sdk::{
    Ask as Question, Decision, DecisionVerdict, EnrolmentSource, Gate, GateBuilder, GateError,
    Verdict,
};
use countersign_wire::{Enrolment, ErrorCode, Origin, Timestamp};
use serde_json::{Map, Value, json};

use super::args::Ask;
use super::config::Settings;
use super::failure::Failure;
use super::hook::state_folder;
use super::input;
use super::output::Output;
use super::serve::Stop;
use countersign_view::secrets;

pub(super) const AGENT_JSON: &str = "COUNTERSIGN_AGENT_JSON";
/// What a caller can honour who sees the exit code and the printed decision. Ending the run is not
/// among them: nobody makes a script stop.
const ALLOWED: [Verdict; 6] = [
    Verdict::Approve,
    Verdict::Modify,
    Verdict::Deny,
    Verdict::Skip,
    Verdict::Respond,
    Verdict::Escalate,
];

const KEPT: &str = "stopped here; the request stays, and the same --key resumes waiting for it";

/// Asks, waits, prints what may run.
pub(crate) async fn run(settings: &Settings, out: Output, ask: Ask) -> Result<(), Failure> {
    let mut stop = Stop::listen()?;
    let question = question(&ask)?;
    let enrolment = enrolment(settings, ask.agent_json)?;
    warn_of_readers(out, &enrolment);
    hide_under_login_of(&enrolment);
    let enrolment = EnrolmentSource::from(enrolment).read().await;
    let enrolment = enrolment.map_err(|error| failed(&error))?;
    let journal = match ask.key {
        Some(_) => Some(countersign_hooks::journal(&state_folder()?, &enrolment)),
        None => None,
    };
    let mut gate = Gate::builder(enrolment)
        .framework("countersign ask", env!("CARGO_PKG_VERSION"))
        .one_shot("ask");
    if let Some(journal) = journal {
        gate = gate.journal(journal);
    }
    let gate = connected(gate, ask.timeout).await?;
    let since = ask
        .key
        .as_ref()
        .map_or("", |_| " from the first ask with this --key");
    out.remark(&format!(
        "waiting up to {}{since} for an answer (--timeout)",
        span(ask.timeout)
    ));
    let mut asking = gate.ask(question);
    let handle = asking.handle();
    let (answer, stopped) = tokio::select! {
        answer = &mut asking => (answer, false),
        () = stop.asked() => {
            if ask.key.is_some() {
                drop(asking);
                gate.close().await;
                return Err(Failure::new(ErrorCode::Failed, KEPT));
            }
            handle.cancel("stopped where it was asked");
            (asking.await, true)
        }
    };
    let delivered = gate.close().await;
    let taken_back = |decision: &Decision| matches!(decision.verdict(), DecisionVerdict::Withdrawn);
    if stopped && !delivered && answer.as_ref().is_ok_and(taken_back) {
        return Err(Failure::new(
            ErrorCode::BusUnreachable,
            "the withdrawal did not reach the bus: if the request was stored, its card stays until the deadline, and an answer has no effect",
        ));
    }
    if !delivered {
        tracing::warn!("not everything was sent to the console before the time limit");
    }
    match &answer {
        Ok(decision) => print_decision(out, decision),
        Err(error) => Err(failed(error)),
    }
}

/// A server that takes the connection and says nothing is not waited for longer than a person would be.
async fn connected(gate: GateBuilder, seconds: u64) -> Result<Gate, Failure> {
    let limit = Duration::from_secs(seconds);
    match tokio::time::timeout(limit, gate.connect()).await {
        Ok(gate) => gate.map_err(|error| failed(&error)),
        Err(_) => Err(Failure::new(
            ErrorCode::BusUnreachable,
            format!(
                "the agent could not log in to the bus within {} s; is the console running?",
                limit.as_secs()
            ),
        )),
    }
}

/// In the largest unit that says it whole.
fn span(seconds: u64) -> String {
    let units = [
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
        (1, "second"),
    ];
    let whole = units
        .into_iter()
        .find(|(unit, _)| seconds.is_multiple_of(*unit));
    let (unit, name) = whole.unwrap_or((1, "second"));
    match seconds / unit {
        1 => format!("1 {name}"),
        many => format!("{many} {name}s"),
    }
}

/// Whoever can read an enrolment can ask, and withdraw, in the agent's name.
pub(super) fn warn_of_readers(out: Output, enrolment: &Path) {
    let mode = std::fs::metadata(enrolment).map(|file| file.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o077 != 0) {
        let file = enrolment.display();
        out.remark(&format!(
            "{file} holds a secret and others can read it; run: chmod 600 {file}"
        ));
    }
}

/// What an operator writes may hold a secret, and standard error often is a log. Whoever asks has no
/// console, so the digests of hidden values are under its own login key.
pub(super) fn hide_under_login_of(enrolment: &Path) {
    let read = std::fs::read(enrolment).ok();
    if let Some(read) = read.and_then(|text| countersign_wire::read_json::<Enrolment>(&text).ok()) {
        secrets::hide_under(Hiding::from_seed(read.nkey_seed.reveal()));
    }
}

fn question(ask: &Ask) -> Result<Question, Failure> {
    if ask.tool.trim().is_empty() {
        return Err(Failure::new(
            ErrorCode::InvalidArgs,
            "--tool must name the tool",
        ));
    }
    let args = input::json("--args", &ask.args)?;
    let mut question = Question::tool(&ask.tool, args)
        .risk(ask.risk.into())
        .allow(ALLOWED)
        .timeout(Duration::from_secs(ask.timeout));
    if let Some(text) = &ask.explain {
        question = question.explain(input::text("--explain", text.clone())?);
    }
    if let Some(file) = &ask.schema {
        question = question.args_schema(input::json_file("--schema", file)?);
    }
    if let Some(origin) = ask.origin {
        question = question.origin(origin);
    }
    if let Some(key) = &ask.key {
        question = question.key(key);
    }
    if let Some(id) = &ask.call_id {
        question = question.call_id(id);
    }
    if let Some(id) = &ask.thread {
        question = question.thread_id(id);
    }
    Ok(question)
}

pub(super) fn enrolment(settings: &Settings, named: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let from_env = || {
        env::var_os(AGENT_JSON)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
    };
    if let Some(path) = named.or_else(from_env) {
        return Ok(path);
    }
    let none = |folder: String| {
        Failure::environment(format!(
            "no console has run in {folder}, so no agent is enrolled; start one with `countersign serve`, or name an enrolment with --agent-json"
        ))
    };
    let folder = settings.data_dir.display().to_string();
    if !settings.data_dir.is_dir() {
        return Err(none(folder));
    }
    let data = DataDir::open(&settings.data_dir)
        .map_err(|error| Failure::environment(error.to_string()))?;
    let path = data.enrolment(settings.workspace.as_ref(), LOCAL_AGENT);
    if path.is_file() {
        Ok(path)
    } else {
        Err(none(folder))
    }
}

fn print_decision(out: Output, decision: &Decision) -> Result<(), Failure> {
    let reported = match (out.json, decision.args()) {
        (true, _) => as_json(decision).and_then(|json| Ok(out.json_line(&json)?)),
        (false, Some(args)) => out.json_line(args).map_err(Failure::from),
        (false, None) => Ok(()),
    };
    if decision.allowed() {
        return reported.map_err(unread);
    }
    Failure::answered(reported, Err(not_allowed(decision)))
}

/// A caller that did not get the arguments would run its own, which a person may have edited.
fn unread(failure: Failure) -> Failure {
    match failure {
        Failure::NobodyReads => Failure::new(
            ErrorCode::Failed,
            "allowed, but the arguments that may run could not be printed; do not run the call, and ask again",
        ),
        other => other,
    }
}

/// The fields of a decision (protocol, section 5), in its order.
const DECISION: [&str; 16] = [
    "v",
    "decision_id",
    "request_id",
    "request_digest",
    "verdict",
    "message",
    "args_digest",
    "edited_args",
    "response",
    "scope",
    "origin",
    "rule",
    "policy_digest",
    "decided_by",
    "decided_at",
    "votes",
];

/// The decision as it is on the wire, and beside it what the gate made of it. Where no decision counts,
/// what is known without one; the rest is null.
fn as_json(decision: &Decision) -> Result<Value, Failure> {
    let key = decision.request();
    let wire = match decision.signed() {
        Some(signed) => serde_json::to_value(signed).map_err(|error| {
            Failure::new(
                ErrorCode::Failed,
                format!("JSON could not be written: {error}"),
            )
        })?,
        None => json!({
            "decision_id": decision.decision_id(),
            "request_id": key.request_id.to_string(),
            "verdict": decision.verdict().as_str(),
            "message": decision.message(),
            "origin": who_ended(decision.verdict()),
        }),
    };
    let mut reported: Map<String, Value> = DECISION
        .iter()
        .map(|name| ((*name).to_owned(), Value::Null))
        .collect();
    if let Value::Object(wire) = wire {
        reported.extend(wire);
    }
    let gate = [
        ("workspace", json!(key.workspace.to_string())),
        ("agent", json!(key.agent.to_string())),
        ("allowed", json!(decision.allowed())),
        ("args", json!(decision.args())),
        (
            "stored_at",
            json!(
                decision
                    .stored_at()
                    .map(|at| Timestamp::new(at).to_string())
            ),
        ),
        ("stream_seq", json!(decision.sequence())),
        ("fault", json!(decision.fault().map(|fault| fault.as_str()))),
    ];
    reported.extend(gate.map(|(name, value)| (name.to_owned(), value)));
    Ok(Value::Object(reported))
}

/// Who decided where the agent itself knows the end and no decision counts (protocol, section 5).
fn who_ended(verdict: &DecisionVerdict) -> Option<Origin> {
    match verdict {
        DecisionVerdict::Expired => Some(Origin::Timeout),
        DecisionVerdict::Withdrawn => Some(Origin::Agent),
        _ => None,
    }
}

/// One sentence for whoever waits at the script.
fn not_allowed(decision: &Decision) -> Failure {
    if let Some(why) = decision.unread() {
        let code = code_of(why);
        let why = format!(
            "the bus could not be read at the deadline, so it is not known whether anybody answered: {why}; do not run the call, and check `countersign history`"
        );
        return Failure::new(code, why);
    }
    let (code, what, then) = match decision.verdict() {
        DecisionVerdict::Expired => (
            ErrorCode::Expired,
            "nobody allowed it before the deadline",
            None,
        ),
        DecisionVerdict::Rejected => (
            ErrorCode::NotApprovable,
            "the console rejected the request",
            None,
        ),
        DecisionVerdict::Withdrawn => (ErrorCode::Failed, "the request was withdrawn", None),
        DecisionVerdict::Skip => (ErrorCode::Failed, "skipped", Some("the call must not run")),
        DecisionVerdict::Respond => (ErrorCode::Failed, "answered instead of run", Some("")),
        DecisionVerdict::Escalate => (
            ErrorCode::Failed,
            "escalated",
            Some("ask your own next approver"),
        ),
        _ => (ErrorCode::Failed, "denied", Some("")),
    };
    let mut sentence = what.to_owned();
    if let (Some(then), Some(by)) = (then, decision.decided_by()) {
        sentence.push_str(&format!(" by {}", by.name));
        if !then.is_empty() {
            sentence.push_str(&format!(": {then}"));
        }
    }
    let answer = decision.response().map(|response| match &response.content {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    for words in [decision.message().map(str::to_owned), answer]
        .into_iter()
        .flatten()
    {
        sentence.push_str(": ");
        sentence.push_str(&words);
    }
    Failure::new(code, sentence)
}

fn failed(error: &GateError) -> Failure {
    Failure::new(code_of(error), error.to_string())
}

fn code_of(error: &GateError) -> ErrorCode {
    match error {
        GateError::BadEnrolment { .. }
        | GateError::NoLog
        | GateError::LoginRefused
        | GateError::Forbidden { .. }
        | GateError::Journal { .. }
        | GateError::Tls { .. } => ErrorCode::Environment,
        GateError::Unreachable { .. } | GateError::NoStreams | GateError::NotPlaced { .. } => {
            ErrorCode::BusUnreachable
        }
        GateError::InvalidRequest { .. } => ErrorCode::InvalidArgs,
        _ => ErrorCode::Failed,
    }
}
