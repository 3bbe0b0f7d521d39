//! `bridge commonground`: runs and looks after the bridge.

use std::io::Write as _;
use std::time::Duration;

use countersign_bridge::{
    BridgeError, Config, State, check, list, push, register, run as run_bridge,
};
use serde_json::Value;

use super::args::{Bridge, Commonground, Register};
use super::failure::Failure;
use super::output::{Output, plain, table};
use super::serve::Stop;

pub(crate) async fn run(out: Output, Bridge::Commonground(what): Bridge) -> Result<(), Failure> {
    match what {
        Commonground::Run(file) => serve(out, Config::read(&file.config)?).await,
        Commonground::Check(file) => {
            let found = check(&Config::read(&file.config)?).await?;
            match out.json {
                true => Ok(out.json_line(&found)?),
                false => Ok(out.line("both buses, the streams and the API answer")?),
            }
        }
        Commonground::List { file, state } => {
            let state = state.as_deref().map(state_of).transpose()?;
            lines(out, &Config::read(&file.config)?, state)
        }
        Commonground::Register(wanted) => guarded(out, &wanted).await,
    }
}

async fn serve(out: Output, config: Config) -> Result<(), Failure> {
    let mut stop = Stop::listen()?;
    let ready = |line: Value| {
        // A bridge whose ready line nobody reads still does its work.
        let _ = out.json_line(&line);
    };
    tokio::select! {
        ended = run_bridge(config, ready) => Ok(ended?),
        () = stop.asked() => {
            let _ = std::io::stdout().flush();
            // Its tasks are not dropped: that would take their requests back.
            std::process::exit(0)
        }
    }
}

fn state_of(word: &str) -> Result<State, Failure> {
    State::from_word(word).ok_or_else(|| Failure::usage(format!("unknown state {word:?}")))
}

fn lines(out: Output, config: &Config, state: Option<State>) -> Result<(), Failure> {
    let listed = list(&config.data_dir, state)?;
    let values = listed
        .iter()
        .map(|line| serde_json::to_value(line).unwrap_or_default());
    if out.json {
        for value in values {
            out.json_line(&value)?;
        }
        return Ok(());
    }
    let columns = [
        "state",
        "project_id",
        "tool_name",
        "agent_id",
        "tool_call_id",
        "report",
        "received_at",
    ];
    let mut shown = table(&[
        "State", "Project", "Tool", "Agent", "Call", "Report", "Received",
    ]);
    for value in values {
        shown.add_row(columns.map(|name| plain(value[name].as_str().unwrap_or_default())));
    }
    Ok(out.table(&shown)?)
}

async fn guarded(out: Output, wanted: &Register) -> Result<(), Failure> {
    let config = Config::read(&wanted.file.config)?;
    let file = &wanted.tool;
    let yaml = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    let suspend = wanted.suspend_timeout.map(Duration::from_secs);
    let guarded = register(&config, &wanted.project, &yaml, suspend)?;
    print!("{guarded}");
    std::io::stdout().flush()?;
    if wanted.push {
        push(&config, &wanted.project, guarded).await?;
        out.remark("CommonGround accepted it");
    }
    Ok(())
}

impl From<BridgeError> for Failure {
    fn from(error: BridgeError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}
