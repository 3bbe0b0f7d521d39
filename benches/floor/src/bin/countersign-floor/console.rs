//! Stream, batch, commit, decision: nothing else.

use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::{Client, HeaderMap};
use countersign_load::{ConsoleArgs, Login, Mode, Ready, Report, monotonic_ns};
use futures::StreamExt;
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

use crate::server::Server;
use crate::store::{self, Arrival};
use crate::streams;

const QUEUE: usize = 2_000;
const BATCH: usize = 500;
/// Decisions under way at the same time.
const DECIDING: usize = 1_000;

pub(crate) async fn run(args: &ConsoleArgs) -> anyhow::Result<()> {
    let server = Server::start(&args.data).await?;
    let client = async_nats::connect(&server.url).await?;
    let context = async_nats::jetstream::new(client.clone());
    streams::create(&context).await?;
    let connection = store::open(&args.data.join("floor.db")).await?;
    let agents = (0..args.agents)
        .map(|number| Login {
            nats_url: server.url.clone(),
            workspace: "bench".to_owned(),
            agent: format!("agent-{number}"),
            nkey_seed: None,
            inbox_prefix: None,
        })
        .collect();
    let (sender, arrivals) = mpsc::channel(QUEUE);
    let reader = tokio::spawn(read(context, sender));
    let writer = tokio::spawn(write(arrivals, connection, client, args.mode));
    tell(&Ready { agents })?;
    tokio::select! {
        () = countersign_load::until_told_to_stop() => {}
        done = reader => done??,
        done = writer => done??,
    }
    server.stop().await
}

fn tell(line: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, line)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

async fn read(
    context: async_nats::jetstream::Context,
    arrivals: mpsc::Sender<Arrival>,
) -> anyhow::Result<()> {
    let config = pull::Config {
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: 1 },
        ack_policy: AckPolicy::None,
        memory_storage: true,
        ..pull::Config::default()
    };
    let consumer = context
        .create_consumer_on_stream(config, streams::REQUESTS)
        .await?;
    let mut messages = consumer
        .stream()
        .max_messages_per_batch(1_000)
        .messages()
        .await?;
    while let Some(message) = messages.next().await {
        let message = message?;
        let info = message.info().map_err(|error| anyhow::anyhow!("{error}"))?;
        let arrival = Arrival {
            seq: i64::try_from(info.stream_sequence)?,
            stamp_ms: i64::try_from(info.published.unix_timestamp_nanos() / 1_000_000)?,
            subject: message.subject.to_string(),
            payload: message.payload.clone(),
        };
        if arrivals.send(arrival).await.is_err() {
            break;
        }
    }
    Ok(())
}

async fn write(
    mut arrivals: mpsc::Receiver<Arrival>,
    mut connection: sqlx::SqliteConnection,
    client: Client,
    mode: Mode,
) -> anyhow::Result<()> {
    let places = Arc::new(Semaphore::new(DECIDING));
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        batch.clear();
        // The cooperative budget would cut the batches to 65.
        if tokio::task::unconstrained(arrivals.recv_many(&mut batch, BATCH)).await == 0 {
            return Ok(());
        }
        store::commit(&mut connection, &batch).await?;
        if !matches!(mode, Mode::Decide | Mode::ByRule) {
            tell(&Report::Listed {
                count: batch.len().try_into()?,
                at: monotonic_ns(),
            })?;
        }
        if mode == Mode::Keep {
            continue;
        }
        if mode == Mode::DecideLater {
            tokio::time::sleep(Mode::PAUSE).await;
            tell(&Report::Deciding { at: monotonic_ns() })?;
        }
        for arrival in batch.drain(..) {
            let place = Arc::clone(&places).acquire_owned().await?;
            let client = client.clone();
            tokio::spawn(async move {
                if let Err(error) = decide(&client, &arrival.subject).await {
                    // The agent waits in vain and the round fails: this line says why.
                    eprintln!("{error:#}");
                }
                drop(place);
            });
        }
    }
}

/// As many bytes as a decision of the product, with headers of the same length.
async fn decide(client: &Client, request: &str) -> anyhow::Result<()> {
    let subject = request.replacen(".request.", ".decision.", 1);
    let id = request.rsplit('.').next().unwrap_or_default();
    let decision = json!({
        "v": 1, "decision_id": id, "request_id": id, "request_digest": "d".repeat(71),
        "verdict": "approve", "args_digest": "d".repeat(71), "scope": "once", "origin": "operator",
        "decided_by": { "name": "Bench", "key": "U".repeat(56) },
        "decided_at": "2026-01-01T00:00:00.000Z",
    });
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Expected-Last-Subject-Sequence", "0");
    headers.insert("CS-Key", "U".repeat(56));
    headers.insert("CS-Sig", "s".repeat(86));
    let payload = serde_json::to_vec(&decision)?;
    let answer = client
        .request_with_headers(subject, headers, payload.into())
        .await?;
    let answer: serde_json::Value = serde_json::from_slice(&answer.payload)?;
    answer["seq"]
        .as_u64()
        .with_context(|| format!("refused: {answer}"))?;
    Ok(())
}
