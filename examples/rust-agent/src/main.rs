//! A disk janitor: it looks through a folder and asks before it deletes anything.
//!
//! The folder is one that it made itself, under the system's folder for temporary
//! files, and it is gone when the agent ends. Refuses to delete anything outside
//! it, whatever arguments come back.

mod janitor;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use countersign_sdk::wire::escape;
use countersign_sdk::{
    Ask, Decision, Effects, Gate, GateError, HelloTool, Introduction, Ran, Risk, Verdict,
};
use janitor::{Janitor, Refused};
use serde_json::{Value, json};

/// Looks through a folder of its own and asks before it deletes anything.
#[derive(Parser)]
struct Options {
    /// The enrolment (`countersign enroll` writes it).
    #[arg(long, env = "COUNTERSIGN_AGENT_JSON", value_name = "PATH")]
    agent_json: PathBuf,
    /// One round, then end.
    #[arg(long, conflicts_with = "repeat")]
    once: bool,
    /// Round after round until it is stopped (the default).
    #[arg(long)]
    repeat: bool,
    /// How long to wait for each answer, in seconds.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    timeout: u64,
    /// How long to rest between rounds, in seconds.
    #[arg(long, default_value_t = 5, value_name = "SECONDS")]
    pause: u64,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let gate = Gate::builder(options.agent_json.clone())
        .introduction(introduction())
        .default_timeout(Duration::from_secs(options.timeout))
        .connect()
        .await?;
    say(&format!("connected as {}", gate.agent()));
    let outcome = tokio::select! {
        outcome = work(&gate, &options) => outcome,
        () = stopped() => {
            say("stopping; what is still asked is taken back");
            Ok(())
        }
    };
    gate.close().await;
    outcome
}

async fn work(gate: &Gate, options: &Options) -> anyhow::Result<()> {
    for number in 1_u64.. {
        let outcome = round(gate, number).await;
        if options.once {
            return outcome;
        }
        // A bus that went away comes back; nothing was deleted meanwhile.
        if let Err(error) = outcome {
            say(&format!("round {number} went wrong: {error:#}"));
        }
        tokio::time::sleep(Duration::from_secs(options.pause)).await;
    }
    Ok(())
}

async fn round(gate: &Gate, number: u64) -> anyhow::Result<()> {
    let janitor = Janitor::move_in()?;
    let old = janitor.old_files()?;
    say(&format!(
        "round {number}: {} old files in {}",
        old.len(),
        janitor.folder().display()
    ));

    let logs = Ask::tool("delete_files", json!({ "names": old }))
        .describe("Deletes files of the folder by their names")
        .args_schema(names_schema())
        .risk(Risk::Medium)
        .effects(Effects::Write)
        .allow([Verdict::Approve, Verdict::Modify, Verdict::Deny])
        .title("Delete old logs")
        .explain("Nobody has written to these files for 30 days")
        .run_id(format!("round-{number}"));
    say("asking to delete old logs (medium)");
    let delete = |args: Value| async { janitor.delete_files(args) };
    report(gate.run(logs, delete).await)?;

    let archive = Ask::tool(
        "delete_archive",
        json!({ "folder": "archive", "keep_newest": 1 }),
    )
    .describe("Deletes the backups in the archive, the newest ones excepted")
    .args_schema(archive_schema())
    .risk(Risk::High)
    .effects(Effects::Irreversible)
    .allow([Verdict::Approve, Verdict::Modify, Verdict::Deny])
    .title("Delete old backups")
    .explain("The archive takes most of the room; there is no other copy of these backups")
    .run_id(format!("round-{number}"));
    say("asking to delete old backups (high, cannot be undone)");
    let delete = |args: Value| async { janitor.delete_archive(args) };
    report(gate.run(archive, delete).await)
}

fn report(outcome: Result<Ran<Vec<String>, Refused>, GateError>) -> anyhow::Result<()> {
    match outcome? {
        Ran::Done(gone, decision) => {
            say(&format!(
                "{}: deleted {}",
                answered(&decision),
                listed(&gone)
            ));
        }
        Ran::Failed(error, decision) => say(&format!("{}: failed: {error}", answered(&decision))),
        Ran::Not(decision) => say(&format!("{}: nothing deleted", answered(&decision))),
    }
    Ok(())
}

/// The answer in one line; an operator's text may hold control characters.
fn answered(decision: &Decision) -> String {
    let by = decision
        .decided_by()
        .map(|by| format!(" by {}", escape(&by.name).plain()));
    let why = decision
        .message()
        .map(|why| format!(" ({})", escape(why).plain()));
    format!(
        "{}{}{}",
        decision.verdict(),
        by.unwrap_or_default(),
        why.unwrap_or_default()
    )
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        names => names.join(", "),
    }
}

fn introduction() -> Introduction {
    let tool = |name: &str, risk: Risk, schema| HelloTool {
        gated: None,
        name: name.to_owned(),
        description: None,
        args_schema: Some(schema),
        risk: Some(risk.as_str().to_owned()),
        strict: Some(true),
        origin: None,
    };
    Introduction {
        agent_type: Some("janitor".to_owned()),
        tools: vec![
            tool("delete_files", Risk::Medium, names_schema()),
            tool("delete_archive", Risk::High, archive_schema()),
        ],
        ..Introduction::default()
    }
}

fn names_schema() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["names"],
        "properties": { "names": { "type": "array", "items": { "type": "string" } } },
    })
}

fn archive_schema() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["folder", "keep_newest"],
        "properties": {
            "folder": { "type": "string" },
            "keep_newest": { "type": "integer", "minimum": 0 },
        },
    })
}

/// Resolves when the agent is asked to stop.
async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    // Without signals only the end of the rounds ends it.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn say(line: &str) {
    println!("{line}");
}
