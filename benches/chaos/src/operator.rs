//! An operator: for some seconds decides what waits, through the core beside the console or with the
//! commands of the program, at random and in no agreement with the operator of the other console.
//!
//! It does not look at the other one's decisions: races are wanted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use countersign_core::bus::Credentials;
use countersign_core::ops::DecideCommand;
use countersign_core::ops::setup::SetupChange;
use countersign_core::ops::verdicts::Decided;
use countersign_core::store::request_list::Filter;
use countersign_core::{App, Fault, Options};
use countersign_wire::{AgentControl, AgentKey, RequestKey, Risk, Verdict};
use futures::future::join_all;
use rand::rngs::StdRng;
use rand::seq::IteratorRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};

use crate::agent::NOTES_KEY;
use crate::child::die_with_parent;
use crate::journal::{Event, Journal};
use crate::round::{AGENTS, agent_key};

/// Longer than any command of the program takes to give up.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);
const READY_LIMIT: Duration = Duration::from_secs(15);
/// Requests that one look at the inbox decides.
const AT_ONCE: usize = 6;

/// Arguments of the command `operator`.
#[derive(Debug, Clone, Args)]
pub(crate) struct OperatorArgs {
    /// The program `countersign`
    #[arg(long)]
    program: PathBuf,
    /// The console's folder
    #[arg(long)]
    data_dir: PathBuf,
    /// The outside server, if it is one
    #[arg(long)]
    nats_url: Option<String>,
    /// The console's login there
    #[arg(long)]
    nats_nkey: Option<PathBuf>,
    /// Where it writes down what it does
    #[arg(long)]
    journal: PathBuf,
    /// What its random choices come from
    #[arg(long)]
    seed: u64,
    /// How long it stays
    #[arg(long)]
    seconds: f64,
    /// How likely a look at the inbox is followed by a change of the shared policy
    #[arg(long)]
    restless: f64,
}

/// Decides for a while.
pub(crate) async fn run(args: OperatorArgs) -> anyhow::Result<()> {
    die_with_parent()?;
    let journal = Journal::open(&args.journal)?;
    let mut random = StdRng::seed_from_u64(args.seed);
    if random.random_bool(0.3) {
        with_commands(&args, &journal, &mut random).await?;
    } else {
        beside_the_console(&args, &journal, &mut random).await?;
    }
    journal.write(Event::Ended)
}

fn some_verdict(random: &mut StdRng) -> Verdict {
    match random.random_range(0..10) {
        0..=4 => Verdict::Approve,
        5 => Verdict::Modify,
        6 => Verdict::Skip,
        _ => Verdict::Deny,
    }
}

async fn beside_the_console(
    args: &OperatorArgs,
    journal: &Journal,
    random: &mut StdRng,
) -> anyhow::Result<()> {
    let mut options = Options::embedded(args.data_dir.clone(), "Operator", "default".parse()?);
    options.nats_url.clone_from(&args.nats_url);
    if let Some(path) = &args.nats_nkey {
        let seed = std::fs::read_to_string(path)?;
        options.credentials = Credentials::NkeySeed(seed.trim().to_owned());
    }
    let app = App::attach(options).await?;
    app.ready(READY_LIMIT).await;
    control(&app, random).await?;
    spare(&app, random).await?;
    let until = Instant::now() + Duration::from_secs_f64(args.seconds);
    while Instant::now() < until {
        let waiting = app.inbox(&Filter::default()).await?;
        let keys: Vec<RequestKey> = waiting.iter().filter_map(|row| row.key()).collect();
        let chosen: Vec<(RequestKey, Verdict)> = keys
            .into_iter()
            .sample(random, AT_ONCE)
            .into_iter()
            .map(|key| (key, some_verdict(random)))
            .collect();
        let given = chosen.into_iter().map(async |(key, verdict)| {
            let event = decide(&app, key, verdict).await;
            journal.write(event)
        });
        let written: anyhow::Result<Vec<()>> = join_all(given).await.into_iter().collect();
        written?;
        if random.random_bool(args.restless) {
            match random.random_bool(0.5) {
                true => control(&app, random).await?,
                false => spare(&app, random).await?,
            }
        }
        sleep(Duration::from_millis(random.random_range(50..600))).await;
    }
    app.shutdown().await;
    Ok(())
}

/// Turns automatic approvals off, all or those of one agent, or on again. That it fails is usual here: the
/// bus is what was broken.
async fn control(app: &App, random: &mut StdRng) -> anyhow::Result<()> {
    let agent: AgentKey = agent_key(random.random_range(0..AGENTS)).parse()?;
    let done = match random.random_range(0..10) {
        0 => app.set_panic(true).await,
        1..5 => app.set_panic(false).await,
        5 => app.set_control(&agent, AgentControl::Paused).await,
        6 => app.set_control(&agent, AgentControl::Stopped).await,
        _ => app.set_control(&agent, AgentControl::Running).await,
    };
    if let Err(error) = done {
        eprintln!("a control was not set: {error}");
    }
    Ok(())
}

/// Lets calls of an agent run without asking, for a while or by its setup key, or no longer. It fails as often.
async fn spare(app: &App, random: &mut StdRng) -> anyhow::Result<()> {
    let agent: AgentKey = agent_key(random.random_range(0..AGENTS)).parse()?;
    let key = || NOTES_KEY.to_owned();
    let value = json!(random.random_bool(0.7));
    let change = match random.random_range(0..10) {
        0..4 => {
            let up_to = [Risk::Low, Risk::Medium, Risk::High][random.random_range(0..3)];
            let lasting = Duration::from_millis(random.random_range(1_500..15_000));
            return tell(app.set_bypass(&agent, up_to, lasting).await);
        }
        4 => return tell(app.end_bypass(&agent).await),
        5..8 => SetupChange::Bind(key(), value, random.random_bool(0.2)),
        8 => SetupChange::Set(key(), value),
        _ => SetupChange::Unbind(key()),
    };
    tell(app.change_setup(&agent, &change).await)
}

fn tell<T>(done: Result<T, Fault>) -> anyhow::Result<()> {
    if let Err(error) = done {
        eprintln!("the shared policy was not changed: {error}");
    }
    Ok(())
}

async fn decide(app: &App, key: RequestKey, verdict: Verdict) -> Event {
    let mut command = DecideCommand::by_operator(key.clone(), verdict);
    if verdict == Verdict::Modify {
        command.edited_args = Some(json!({ "to": "somebody@example.org" }));
    }
    let (outcome, decision_id) = match app.decide(command).await {
        Ok(Decided::Stored { decision_id, .. }) => {
            ("stored".to_owned(), Some(decision_id.to_string()))
        }
        Ok(Decided::Held { .. }) => ("held".to_owned(), None),
        Ok(Decided::Voted { .. }) => ("voted".to_owned(), None),
        Err(error) => (error.code.to_string(), None),
    };
    Event::Verdict {
        key: key.to_string(),
        verdict: verdict.to_string(),
        outcome,
        decision_id,
        by_command: false,
    }
}

async fn with_commands(
    args: &OperatorArgs,
    journal: &Journal,
    random: &mut StdRng,
) -> anyhow::Result<()> {
    let inbox = command(args, &["inbox"]).await?;
    let lines = inbox.out.lines();
    let waiting: Vec<Value> = lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    for line in waiting.iter().take(AT_ONCE / 2) {
        let field = |name: &str| line[name].as_str().unwrap_or_default();
        let (ws, agent, id) = (field("workspace"), field("agent"), field("request_id"));
        let key = format!("{ws}/{agent}/{id}");
        let (verdict, arguments) = match random.random_bool(0.6) {
            true => ("approve", vec!["approve", key.as_str()]),
            false => ("deny", vec!["deny", key.as_str(), "--message", "not now"]),
        };
        let done = command(args, &arguments).await?;
        let error: Value = serde_json::from_str(&done.err).unwrap_or_default();
        let reported: Value = serde_json::from_str(&done.out).unwrap_or_default();
        let outcome = match done.code {
            Some(0) if reported["vote"].is_object() => "voted".to_owned(),
            Some(0) => "stored".to_owned(),
            Some(code) => error["error"]["code"]
                .as_str()
                .map_or_else(|| format!("exit {code}"), str::to_owned),
            None => "no end".to_owned(),
        };
        journal.write(Event::Verdict {
            key: key.clone(),
            verdict: verdict.to_owned(),
            outcome,
            decision_id: None,
            by_command: true,
        })?;
    }
    Ok(())
}

struct Done {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs the program with `--json`, not for ever.
async fn command(args: &OperatorArgs, arguments: &[&str]) -> anyhow::Result<Done> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["child", "--"]).arg(&args.program);
    command.args(arguments).arg("--json");
    settings(&mut command, args);
    command.kill_on_drop(true);
    let Ok(output) = timeout(COMMAND_LIMIT, command.output()).await else {
        return Ok(Done {
            code: None,
            out: String::new(),
            err: String::new(),
        });
    };
    let output = output?;
    Ok(Done {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

fn settings(command: &mut Command, args: &OperatorArgs) {
    let path = |path: &Path| path.to_owned().into_os_string();
    command.env("COUNTERSIGN_DATA_DIR", path(&args.data_dir));
    command.env("COUNTERSIGN_KEYS", "file");
    if let (Some(url), Some(nkey)) = (&args.nats_url, &args.nats_nkey) {
        command.env("COUNTERSIGN_NATS_URL", url);
        command.env("COUNTERSIGN_NATS_NKEY", path(nkey));
    }
}
