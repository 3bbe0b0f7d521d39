//! `hook`: one event of a coding agent on standard input, one answer on standard output.
//!
//! Refuses with exit code 2 and words on standard error whatever else goes wrong: any other code, and any text that is
//! no JSON, lets the call run.

use std::env;
use std::io::{self, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use countersign_hooks::{Answer, LARGEST, Options, Program, respond};
use countersign_sdk::{Risk, Which};
use tokio::runtime::Runtime;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::args::{Global, Hook};
use super::config;
use super::failure::Failure;
use super::gate;
use super::serve::Stop;

const AGENT_JSON: &str = "COUNTERSIGN_AGENT_JSON";
const STATE_DIR: &str = "COUNTERSIGN_STATE_DIR";
/// The event is there when the hook starts.
const FOR_THE_EVENT: Duration = Duration::from_secs(10);
const FOR_AN_ALARM: Duration = Duration::from_secs(10);

/// Answers and says with which code to end.
pub(super) fn main(global: &Global, hook: Hook) -> ExitCode {
    let answered = catch_unwind(AssertUnwindSafe(|| answer(global, hook)));
    let answer = match answered {
        Ok(Ok(answer)) => answer,
        Ok(Err(failure)) => Answer::fault(format!("nothing was run: {}", failure.text())),
        Err(_) => Answer::fault("nothing was run: an error in countersign itself"),
    };
    let written = || -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(answer.output.as_bytes())?;
        out.flush()
    };
    let answer = match written() {
        Ok(()) => answer,
        Err(error) => Answer::fault(format!("nothing was run: no answer was written: {error}")),
    };
    if let Some(words) = &answer.words {
        // With standard error gone the code still refuses.
        let _ = writeln!(io::stderr(), "{words}");
    }
    answer.exit_code().into()
}

fn answer(global: &Global, hook: Hook) -> Result<Answer, Failure> {
    let program = hook.program;
    let options = options(global, hook)?;
    let runtime = Runtime::new().map_err(|error| Failure::environment(error.to_string()))?;
    let answer = runtime.block_on(async {
        let mut stop = Stop::listen()?;
        let input = timeout(FOR_THE_EVENT, spawn_blocking(event)).await;
        let input = match input {
            Ok(Ok(Ok(input))) => input,
            Ok(Ok(Err(error))) => return Err(Failure::environment(error.to_string())),
            _ => return Err(Failure::environment("no event came on standard input")),
        };
        let answer = respond(program, &input, &options, stop.asked()).await;
        if let Some(tool) = &answer.never_asked {
            let raised = raise(global, program, &options, tool);
            let _ = timeout(FOR_AN_ALARM, raised).await;
        }
        Ok(answer)
    });
    // Standard input may still be read.
    runtime.shutdown_background();
    answer
}

/// The call is over: whatever goes wrong here is left to the next probe.
async fn raise(global: &Global, program: Program, options: &Options, tool: &str) {
    match config::load(global) {
        Ok(settings) => gate::never_asked(&settings, program, &options.agent_json, tool).await,
        Err(failure) => tracing::warn!("no alarm: {}", failure.text()),
    }
}

fn event() -> io::Result<Vec<u8>> {
    let mut input = Vec::new();
    let most = LARGEST as u64 + 1;
    io::stdin().lock().take(most).read_to_end(&mut input)?;
    Ok(input)
}

fn options(global: &Global, hook: Hook) -> Result<Options, Failure> {
    let agent_json = match hook.agent_json.or_else(|| named(AGENT_JSON)) {
        Some(path) => path,
        None => default_enrolment(global, hook.program)?,
    };
    let state = state_folder()?;
    let mut unasked = hook.asks.unasked;
    if unasked.is_empty() {
        unasked = hook
            .program
            .unasked()
            .iter()
            .map(ToString::to_string)
            .collect();
    }
    let which = Which::new(&hook.asks.ask, &unasked, &hook.asks.risk, Risk::High)
        .map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Options {
        phase: hook.event,
        entry: hook.entry.unwrap_or_default(),
        agent_json,
        state,
        timeout: Duration::from_secs(hook.asks.timeout),
        which,
        defer: hook.defer && hook.program == Program::ClaudeCode,
    })
}

fn named(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
}

/// Where hooks, and asks with a key, keep what outlives a process.
pub(super) fn state_folder() -> Result<PathBuf, Failure> {
    state(Some("hooks"))
}

/// The folder that the environment names, else one of the platform's.
pub(super) fn state(of_platform: Option<&str>) -> Result<PathBuf, Failure> {
    let platform = || {
        Some(
            dirs::state_dir()
                .or_else(dirs::data_local_dir)?
                .join("countersign"),
        )
    };
    named(STATE_DIR)
        .or_else(|| Some(platform()?.join(of_platform.unwrap_or_default())))
        .ok_or_else(|| Failure::environment(format!("no state folder; set {STATE_DIR}")))
}

fn default_enrolment(global: &Global, program: Program) -> Result<PathBuf, Failure> {
    let data = config::load(global)?.data_dir;
    Ok(data
        .join("agents/default")
        .join(program.name())
        .join("agent.json"))
}
