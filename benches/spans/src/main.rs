//! Sends spans over gRPC into a whole console and asks for decisions meanwhile, one at a time.
//!
//! Senders, agent and console are one process here, the embedded nats-server another: what is measured is a lower bound.

mod decisions;
mod senders;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Parser;
use countersign_core::{App, Options};
use countersign_load::{Figures, Login};
use countersign_otlp::receiver::{self, NotStored, Receiver, Sink, Storing};
use countersign_otlp::translate::Event;
use tokio::time::Instant;

/// Longer than anything here takes, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

#[derive(Parser)]
struct Args {
    /// How long spans are sent.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Spans a second to send at most; as many as are taken without it.
    #[arg(long)]
    rate: Option<u32>,
    /// Programs that send at the same time.
    #[arg(long, default_value_t = 4)]
    senders: usize,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
    /// Folder for the data of the run, on the disk to be measured.
    #[arg(long, default_value = "target")]
    folder: std::path::PathBuf,
}

struct Bus(App);

impl Sink for Bus {
    fn store(&self, events: Vec<Event>) -> Storing<'_> {
        let events = events
            .into_iter()
            .map(|event| (event.agent, event.payload.into()));
        let events = events.collect();
        Box::pin(async move {
            let stored = self.0.relay_events(events).await;
            stored.map_err(|error| NotStored {
                why: error.to_string(),
            })
        })
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let data = tempfile::tempdir_in(&args.folder)?;
    let app = App::start(Options::embedded(
        data.path().into(),
        "Bench",
        "bench".parse()?,
    ))
    .await?;
    ensure!(app.ready(LIMIT).await, "the console is not ready");
    let enrolment = app.enroll(&"bench/agent".parse()?).await?;
    let login: Login = serde_json::from_value(serde_json::to_value(&enrolment)?)?;
    let options = receiver::Options {
        http: None,
        grpc: "127.0.0.1:0".parse().ok(),
        allow_remote: false,
        require_token: false,
        workspace: "bench".parse()?,
        tokens: Default::default(),
    };
    let receiver = Receiver::start(options, Arc::new(Bus(app.clone()))).await?;
    let address = receiver.grpc.context("it listens")?;

    let until = Instant::now() + Duration::from_secs(args.seconds);
    let begun = Instant::now();
    let (sent, decided) = tokio::try_join!(
        senders::send(address, args.senders, args.rate, until),
        decisions::ask(&app, &login, until)
    )?;
    let taken = begun.elapsed();
    let projected = projected(&app, &sent, begun).await?;
    receiver.stop().await;
    app.shutdown().await;
    let sent: u64 = sent.iter().sum();
    let (acknowledged, stored) = (per_second(sent, taken), per_second(sent, projected));
    if args.json {
        let mut figures = Figures::default();
        figures.set("spans_acknowledged_per_s", acknowledged);
        figures.set("spans_stored_per_s", stored);
        decided.figures(&mut figures);
        println!("{}", serde_json::to_string(&figures)?);
    } else {
        println!("spans acknowledged                 {sent}");
        println!("a second, acknowledged             {acknowledged:.0}");
        println!("a second, until in the store       {stored:.0}");
        decided.print();
    }
    Ok(())
}

/// Until the store has the last trace of every sender.
async fn projected(app: &App, sent: &[u64], begun: Instant) -> anyhow::Result<Duration> {
    for (sender, sent) in (0..).zip(sent) {
        let Some(last) = sent.checked_sub(1) else {
            continue;
        };
        let (trace, spans) = senders::trace_of(sender, last);
        while app
            .trace(&trace)
            .await
            .map_or(0, |trace| trace.entries.len())
            < spans
        {
            ensure!(
                begun.elapsed() < LIMIT,
                "the spans are not in the store after {LIMIT:?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(begun.elapsed())
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}
