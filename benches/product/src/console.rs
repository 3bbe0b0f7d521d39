//! The whole console with an approver in place of the operator.

use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use countersign::{Feeds, SecondReader};
use countersign_core::ops::DecideCommand;
use countersign_core::ops::rules::RulesChange;
use countersign_core::policy::read_file;
use countersign_core::{App, AppEvent, Options};
use countersign_load::{ConsoleArgs, Login, Mode, Ready, Report, monotonic_ns};
use countersign_wire::{AgentKey, Verdict};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::sync::broadcast::error::RecvError;

use crate::receiver::{feed, receive};

/// Decisions under way at the same time.
const DECIDING: usize = 1_000;
/// More than one phase publishes: the limit is not what is measured.
const WAITING_LIMIT: i64 = 10_000_000;
/// Approves what the agents of the bench ask.
const RULE: &str = r#"
schema = 1
[[rule]]
id = "bench"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["delete_invoice"]
risk = ["medium"]
args."/invoice_id" = { glob = "INV-*" }
only_args = true
"#;

/// A reader as slow as the longest that one waits for.
const READER: &str = r#"
[reader]
workspaces = ["bench"]
command = ["/bin/sleep", "20"]
timeout_s = 60
"#;

pub(crate) async fn run(args: &ConsoleArgs) -> anyhow::Result<()> {
    if args.reader {
        std::fs::write(args.data.join("config.toml"), READER)?;
    }
    if args.feed {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let feed = feed("request.*", listener.local_addr()?);
        std::fs::write(args.data.join("config.toml"), feed)?;
        tokio::spawn(receive(listener, None));
    }
    let mut options = Options::embedded(args.data.clone(), "Bench", "bench".parse()?);
    options.waiting_limit = WAITING_LIMIT;
    let app = App::start(options).await?;
    let mut caught_up = app.caught_up();
    caught_up.wait_for(|done| *done).await?;
    let mut agents = Vec::with_capacity(args.agents);
    for number in 0..args.agents {
        let agent = AgentKey {
            workspace: "bench".parse()?,
            agent: format!("agent-{number}").parse()?,
        };
        let enrolment = app.enroll(&agent).await?;
        // The file that a real agent reads has the shape of the bench's logins.
        agents.push(serde_json::from_value::<Login>(serde_json::to_value(
            &enrolment,
        )?)?);
    }
    let reader = args.reader.then(|| SecondReader::start(&app));
    let feeds = match args.feed {
        true => Some(Feeds::start(&app).await),
        false => None,
    };
    let approver = match args.mode {
        Mode::ByRule => {
            allow(&app).await?;
            tokio::spawn(std::future::ready(Ok(())))
        }
        mode => tokio::spawn(approve(app.clone(), mode)),
    };
    tell(&Ready { agents })?;
    countersign_load::until_told_to_stop().await;
    approver.abort();
    match approver.await {
        Ok(done) => done?,
        Err(error) if error.is_cancelled() => {}
        Err(error) => return Err(error.into()),
    }
    if let Some(reader) = reader {
        reader.stop().await;
    }
    if let Some(feeds) = feeds {
        feeds.stop().await;
    }
    app.shutdown().await;
    Ok(())
}

/// Lets every call of the bench run by a rule.
async fn allow(app: &App) -> anyhow::Result<()> {
    let rules = read_file(RULE).map_err(|problems| anyhow::anyhow!("{problems:?}"))?;
    let change = RulesChange::Replace { rules, seen: None };
    app.change_rules(&"bench".parse()?, &change).await?;
    Ok(())
}

fn tell(line: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, line)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Reads what is new as a front end does, and approves it.
async fn approve(app: App, mode: Mode) -> anyhow::Result<()> {
    let mut events = app.subscribe();
    let places = Arc::new(Semaphore::new(DECIDING));
    loop {
        let (rows, new) = match events.recv().await {
            Ok(AppEvent::Changed { rows, arrived, .. }) => (rows, arrived),
            Ok(AppEvent::Status) => continue,
            Err(RecvError::Lagged(count)) => anyhow::bail!("{count} events were missed"),
            Err(RecvError::Closed) => return Ok(()),
        };
        if mode == Mode::Keep {
            tell(&Report::Listed {
                count: rows.len().try_into()?,
                at: monotonic_ns(),
            })?;
            continue;
        }
        if mode == Mode::DecideLater && !new.is_empty() {
            tell(&Report::Listed {
                count: new.len().try_into()?,
                at: monotonic_ns(),
            })?;
            tokio::time::sleep(Mode::PAUSE).await;
            tell(&Report::Deciding { at: monotonic_ns() })?;
        }
        for key in new.iter().cloned() {
            let place = Arc::clone(&places).acquire_owned().await?;
            let app = app.clone();
            tokio::spawn(async move {
                let name = key.to_string();
                let decided = app
                    .decide(DecideCommand::by_operator(key, Verdict::Approve))
                    .await;
                if let Err(error) = decided.context(name) {
                    // The agent waits in vain and the round fails: this line says why.
                    eprintln!("{error:#}");
                }
                drop(place);
            });
        }
    }
}
