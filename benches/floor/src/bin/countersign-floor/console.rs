//! Stream, batch, commit, decision: nothing else.

use std::sync::Arc;

use async_nats::Client;
use countersign_floor::read::Arrival;
use countersign_floor::{decision, read, ready, streams, tell};
use countersign_load::{ConsoleArgs, Mode, Report, monotonic_ns};
use futures::StreamExt;
use tokio::sync::{Semaphore, mpsc};

use crate::store;

const QUEUE: usize = 2_000;
const BATCH: usize = 500;
/// Decisions under way at the same time.
const DECIDING: usize = 1_000;

pub(crate) async fn run(args: &ConsoleArgs) -> anyhow::Result<()> {
    let (server, client) = countersign_floor::bus(args).await?;
    let context = async_nats::jetstream::new(client.clone());
    let connection = store::open(&args.data.join("floor.db")).await?;
    let (sender, arrivals) = mpsc::channel(QUEUE);
    let reader = tokio::spawn(read(context, sender));
    let writer = tokio::spawn(write(arrivals, connection, client, args.mode));
    tell(&ready(args, &server))?;
    tokio::select! {
        () = countersign_load::until_told_to_stop() => {}
        done = reader => done??,
        done = writer => done??,
    }
    server.stop().await
}

async fn read(
    context: async_nats::jetstream::Context,
    arrivals: mpsc::Sender<Arrival>,
) -> anyhow::Result<()> {
    let mut messages = read::from_the_beginning(&context, streams::REQUESTS).await?;
    while let Some(message) = messages.next().await {
        if arrivals.send(message?).await.is_err() {
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

async fn decide(client: &Client, request: &str) -> anyhow::Result<()> {
    let (subject, payload) = decision::of_request(request)?;
    decision::publish(client, subject, payload).await
}
