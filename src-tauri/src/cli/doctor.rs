//! `doctor`: checks everything that must be right and reports what is wrong, read-only.
//!
//! A failed look is reported, too.

mod checks;
mod folder;
mod realm;
mod tried;

use std::path::PathBuf;

use countersign_core::App;
use countersign_core::bus::Bus;
use countersign_wire::ErrorCode;
use serde_json::json;

use super::args::Doctor;
use super::config::Settings;
use super::connect::place;
use super::console::options;
use super::failure::Failure;
use super::feeds;
use super::gate;
use super::output::{Output, doubtful, plain, wrong};
use super::version;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    /// Nothing is broken; a person should know.
    Warning,
    /// Could not be looked at.
    Unknown,
    Failed,
}

#[derive(Debug)]
struct Check {
    name: &'static str,
    verdict: Verdict,
    detail: String,
}

impl Check {
    fn new(name: &'static str, verdict: Verdict, detail: impl Into<String>) -> Self {
        Self {
            name,
            verdict,
            detail: detail.into(),
        }
    }
}

countersign_wire::words!(Verdict {
    Ok => "ok", Warning => "warning", Unknown => "unknown", Failed => "failed",
});

/// Prints a line for each check; fails when one of them failed.
pub(crate) async fn run(settings: &Settings, out: Output, wanted: Doctor) -> Result<(), Failure> {
    if let Some(name) = &wanted.gate {
        return gate::run(settings, out, name, &wanted).await;
    }
    let (agent_json, with_feeds) = (wanted.agent_json, wanted.feeds);
    let mut found = vec![Check::new("install", Verdict::Ok, version::installed())];
    found.extend(folder::checks(settings));
    found.extend(folder::reader(settings));
    if settings.nats_url.is_none() {
        found.push(checks::nats_server().await);
    }
    let console = options(settings)?;
    match App::read(console, true).await {
        Ok(app) => {
            found.extend(of_console(settings, &app, agent_json).await);
            app.shutdown().await;
        }
        Err(error)
            if error.code == ErrorCode::Environment
                && found.iter().all(|c| c.verdict != Verdict::Failed) =>
        {
            found.push(Check::new("console", Verdict::Unknown, error.to_string()));
            found.extend(checks::first_bus(settings).await);
        }
        Err(error) => found.push(Check::new("console", Verdict::Failed, error.to_string())),
    }
    if with_feeds {
        found.extend(of_feeds(feeds::tries(settings).await));
    }
    found.extend(gates(settings).await);
    let printed = found.iter().try_for_each(|check| print(out, check));
    let answer = match found.iter().any(|check| check.verdict == Verdict::Failed) {
        true => Err(Failure::Printed(ErrorCode::Failed)),
        false => Ok(()),
    };
    Failure::answered(printed, answer)
}

fn of_feeds(looked: Result<Vec<(bool, String)>, Failure>) -> Vec<Check> {
    let check = |verdict, detail| Check::new("feed", verdict, detail);
    match looked {
        Ok(feeds) => feeds
            .into_iter()
            .map(|(is_well, words)| match is_well {
                true => check(Verdict::Ok, words),
                false => check(Verdict::Failed, words),
            })
            .collect(),
        Err(failure) => vec![check(Verdict::Failed, failure.text())],
    }
}

/// The programs that Countersign is in front of, and whether its gate holds.
async fn gates(settings: &Settings) -> Vec<Check> {
    let runs = gate::console_runs(settings);
    let mut found = Vec::new();
    for program in gate::connected() {
        let name = program.name();
        let (verdict, detail) = match runs {
            false => (
                Verdict::Unknown,
                format!("{name} is connected; start a console to check whether its gate denies"),
            ),
            // Other hooks would act; only `--gate` runs them.
            true => match gate::configuration(settings, program, None) {
                Ok(mut configuration) => {
                    configuration.version = place::version(program).await;
                    let proof = gate::of_program(settings, program, &configuration).await;
                    let verdict = match (proof.holds, proof.unproven) {
                        (true, _) => Verdict::Ok,
                        (false, true) => Verdict::Warning,
                        (false, false) => Verdict::Failed,
                    };
                    (verdict, gate::words(name, &proof).join("; "))
                }
                Err(failure) => (Verdict::Unknown, failure.text()),
            },
        };
        found.push(Check::new("gate", verdict, detail));
    }
    found
}

async fn of_console(settings: &Settings, app: &App, agent_json: Option<PathBuf>) -> Vec<Check> {
    let mut found = vec![checks::running(app).await, checks::keys(app)];
    let mut missing = Vec::new();
    match app.bus() {
        Some(bus) => {
            found.extend(of_bus(app, &bus, &mut missing, settings.stream_replicas).await);
            found.extend(tried::checks(settings, app, &bus, agent_json).await);
        }
        None => found.push(checks::no_bus(settings, app).await),
    }
    found.extend(realm::checks(app).await);
    found.push(checks::store(app).await);
    found.push(checks::writable(app, &missing).await);
    found.push(checks::outbox(app).await);
    found.push(checks::alarms(app).await);
    found.extend(of_feeds(feeds::states(settings, app).await));
    found.extend(checks::port(app).await);
    found.push(checks::audit(app).await);
    if let Some(bus) = app.bus() {
        // Last: where the server takes less than it says, it ends the connection.
        found.push(checks::payload(&bus).await);
    }
    found
}

async fn of_bus(
    app: &App,
    bus: &Bus,
    missing: &mut Vec<&'static str>,
    replicas: usize,
) -> Vec<Check> {
    let state = bus.state().borrow().clone();
    let mut found = vec![
        checks::bus(&state),
        checks::version(&state),
        checks::insecure(&state),
    ];
    found.extend(checks::streams(bus, missing).await);
    found.push(checks::storage(bus, missing, replicas).await);
    found.push(checks::clock(app));
    found
}

fn print(out: Output, check: &Check) -> Result<(), Failure> {
    let (name, verdict) = (check.name, check.verdict.as_str());
    let detail = plain(&check.detail);
    if out.json {
        return Ok(out.json_line(&json!({ "check": name, "verdict": verdict, "detail": detail }))?);
    }
    let word = format!("{verdict:<8}");
    let word = match check.verdict {
        Verdict::Ok => word,
        Verdict::Warning | Verdict::Unknown => doubtful(&word),
        Verdict::Failed => wrong(&word),
    };
    Ok(out.line(&format!("{word} {name:<12} {detail}"))?)
}
