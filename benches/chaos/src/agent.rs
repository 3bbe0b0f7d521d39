//! An agent: asks through the real SDK, runs what it may, writes down everything.
//!
//! The journal's line is written first: whatever runs is in the journal.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use countersign_sdk::wire::Confirm;
use countersign_sdk::{Ask, Decision, Gate, Introduction, RequestId, Risk, Verdict};
use futures::future::join_all;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::child::die_with_parent;
use crate::journal::{Event, Journal};

const CONNECT_PAUSE: Duration = Duration::from_millis(500);
/// The shortest and the longest wait for an answer, in milliseconds.
const PATIENCE: std::ops::Range<u64> = 1_500..20_000;
/// Between an answer and the next question, in milliseconds.
const REST: std::ops::Range<u64> = 50..1_000;

/// A tool that the workspace's rule lets run.
pub(crate) const LOOK_UP: &str = "look_up";
/// A tool for which the workspace's other rule asks, whatever would spare the question.
pub(crate) const PAY: &str = "pay";
/// A tool that asks unless its setup key spares the question.
const TAKE_NOTE: &str = "take_note";
/// That key.
pub(crate) const NOTES_KEY: &str = "free_notes";

/// Arguments of the command `agent`.
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// Its enrolment
    #[arg(long)]
    agent_json: PathBuf,
    /// Where it writes down what it does
    #[arg(long)]
    journal: PathBuf,
    /// What its random choices come from
    #[arg(long)]
    seed: u64,
    /// Questions at the same time
    #[arg(long)]
    lanes: u64,
}

/// Asks until SIGTERM, then waits for what is still open.
pub(crate) async fn run(args: AgentArgs) -> anyhow::Result<()> {
    die_with_parent()?;
    let journal = Arc::new(Journal::open(&args.journal)?);
    let (stop, stopping) = watch::channel(false);
    let mut terminate = signal(SignalKind::terminate())?;
    let asked_to_stop = async {
        terminate.recv().await;
        stop.send_replace(true);
    };
    let work = async {
        let Some(gate) = connect(&args, stopping.clone()).await else {
            return Ok(());
        };
        println!("{{}}");
        let lanes = (0..args.lanes).map(|lane| {
            let random = StdRng::seed_from_u64(args.seed.wrapping_mul(1_000).wrapping_add(lane));
            ask_on(&gate, &journal, random, stopping.clone())
        });
        let ends: anyhow::Result<Vec<()>> = join_all(lanes).await.into_iter().collect();
        gate.close().await;
        ends.map(|_| ())
    };
    let (ended, ()) = tokio::join!(work, asked_to_stop);
    ended?;
    journal.write(Event::Ended)
}

/// A gate, however long that takes; none when it is to stop before.
async fn connect(args: &AgentArgs, stopping: watch::Receiver<bool>) -> Option<Gate> {
    loop {
        let gate = Gate::builder(args.agent_json.as_path()).introduction(introduction());
        match gate.connect().await {
            Ok(gate) => return Some(gate),
            Err(error) => eprintln!("{}: {error}", error.code()),
        }
        if *stopping.borrow() {
            return None;
        }
        sleep(CONNECT_PAUSE).await;
    }
}

async fn ask_on(
    gate: &Gate,
    journal: &Journal,
    mut random: StdRng,
    mut stopping: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    while !*stopping.borrow() {
        ask(gate, journal, &mut random).await?;
        let rest = Duration::from_millis(random.random_range(REST));
        tokio::select! {
            () = sleep(rest) => {}
            _ = stopping.wait_for(|stop| *stop) => {}
        }
    }
    Ok(())
}

async fn ask(gate: &Gate, journal: &Journal, random: &mut StdRng) -> anyhow::Result<()> {
    let id: RequestId = uuid::Uuid::now_v7().to_string().parse()?;
    let key = format!("{}/{id}", gate.agent());
    let limit = Duration::from_millis(random.random_range(PATIENCE));
    let risks = [Risk::Low, Risk::Medium, Risk::High, Risk::Critical];
    let risk = risks[random.random_range(0..risks.len())];
    let args = json!({ "to": "customer@example.org", "copies": random.random_range(1..9) });
    // Some calls need both operators.
    let approvals = if random.random_bool(0.2) { 2 } else { 1 };
    // Some a rule may let run, as long as nobody panics.
    let looks_up = approvals == 1 && random.random_bool(0.25);
    let (tool, risk) = match (looks_up, random.random_range(0..10)) {
        (true, _) => (LOOK_UP, Risk::Low),
        (false, 0..3) => (TAKE_NOTE, risk),
        (false, 3) => (PAY, risk),
        (false, _) => ("send_mail", risk),
    };
    let mut question = Ask::tool(tool, args);
    // A payment names the key too, and must ask all the same.
    if matches!(tool, TAKE_NOTE | PAY) {
        question = question.confirm(Confirm {
            setup_key: Some(NOTES_KEY.to_owned()),
            command: None,
            explanation: None,
        });
    }
    let question = question
        .approvals_required(approvals)
        .request_id(id)
        .risk(risk)
        .allow([
            Verdict::Approve,
            Verdict::Modify,
            Verdict::Deny,
            Verdict::Skip,
        ])
        .timeout(limit);
    let limit_ms = i64::try_from(limit.as_millis())?;
    journal.write(Event::Asked {
        key: key.clone(),
        limit_ms,
    })?;
    let begun = Instant::now();
    let mut asking = gate.ask(question);
    let changes_its_mind = random.random_bool(0.1);
    let shortens = random.random_bool(0.1);
    let moment = limit.mul_f64(random.random_range(0.05..0.95));
    if shortens {
        asking.handle().tighten(moment);
    }
    let answer = tokio::select! {
        answer = &mut asking => answer,
        () = sleep(moment), if changes_its_mind && !shortens => {
            journal.write(Event::Cancelled { key: key.clone() })?;
            asking.cancel("no longer needed");
            asking.await
        }
    };
    let waited_ms = i64::try_from(begun.elapsed().as_millis())?;
    match answer {
        Ok(decision) => {
            journal.write(Event::Answered {
                key: key.clone(),
                verdict: decision.verdict().to_string(),
                allowed: decision.allowed(),
                decision_id: decision.decision_id().map(str::to_owned),
                waited_ms,
            })?;
            run_tool(journal, key, &decision).await
        }
        Err(error) => journal.write(Event::Failed {
            key,
            code: error.code().to_owned(),
            waited_ms,
        }),
    }
}

/// What it declares: one setup key.
fn introduction() -> Introduction {
    let field = json!({
        "bs_name": NOTES_KEY, "bs_type": "bool", "bs_default": true, "bs_group": "Notes",
    });
    Introduction {
        setup_schema: Some(json!([field])),
        ..Introduction::default()
    }
}

/// The tool is the line in the journal.
async fn run_tool(journal: &Journal, key: String, decision: &Decision) -> anyhow::Result<()> {
    let Some(args) = decision.args() else {
        return Ok(());
    };
    journal.write(Event::Ran {
        key,
        args_digest: countersign_wire::args_digest(args)?.to_string(),
        decision_id: decision.decision_id().map(str::to_owned),
    })?;
    // A receipt that the bus does not take now is sent later by the SDK.
    if let Err(error) = decision.executed(args).await {
        eprintln!("{}: {error}", error.code());
    }
    Ok(())
}
