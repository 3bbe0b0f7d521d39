//! The three transactions of a request: its arrival, its decision on the way, and the decision back from the stream.

use async_nats::Client;
use countersign_floor::read::{self, Arrival};
use countersign_floor::{decision, ready, streams, tell};
use countersign_load::{ConsoleArgs, Mode, Report, monotonic_ns};
use futures::StreamExt;
use tokio::sync::mpsc;

use crate::store::{Asked, Store};

const QUEUE: usize = 2_000;
const BATCH: usize = 500;

/// A message of one of the two streams.
enum Message {
    Request(Arrival),
    Decision(Arrival),
}

pub(crate) async fn run(args: &ConsoleArgs) -> anyhow::Result<()> {
    let (server, client) = countersign_floor::bus(args).await?;
    let context = async_nats::jetstream::new(client.clone());
    let store = Store::open(&args.data.join("rows.db")).await?;
    let (sender, messages) = mpsc::channel(QUEUE);
    let requests = tokio::spawn(read(
        context.clone(),
        streams::REQUESTS,
        Message::Request,
        sender.clone(),
    ));
    let decisions = tokio::spawn(read(context, streams::DECISIONS, Message::Decision, sender));
    let writer = tokio::spawn(write(messages, store, client, args.mode));
    tell(&ready(args, &server))?;
    tokio::select! {
        () = countersign_load::until_told_to_stop() => {}
        done = requests => done??,
        done = decisions => done??,
        done = writer => done??,
    }
    server.stop().await
}

async fn read(
    context: async_nats::jetstream::Context,
    stream: &str,
    what: fn(Arrival) -> Message,
    messages: mpsc::Sender<Message>,
) -> anyhow::Result<()> {
    let mut arrivals = read::from_the_beginning(&context, stream).await?;
    while let Some(arrival) = arrivals.next().await {
        if messages.send(what(arrival?)).await.is_err() {
            break;
        }
    }
    Ok(())
}

async fn write(
    mut messages: mpsc::Receiver<Message>,
    mut store: Store,
    client: Client,
    mode: Mode,
) -> anyhow::Result<()> {
    let mut batch = Vec::with_capacity(BATCH);
    let mut to_decide: Vec<Asked> = Vec::new();
    loop {
        if to_decide.is_empty() {
            // The cooperative budget would cut the batches to 65.
            let taken = messages.recv_many(&mut batch, BATCH);
            if tokio::task::unconstrained(taken).await == 0 {
                return Ok(());
            }
        } else {
            while batch.len() < BATCH {
                match messages.try_recv() {
                    Ok(message) => batch.push(message),
                    Err(_) => break,
                }
            }
        }
        let (mut requests, mut decisions) = (Vec::new(), Vec::new());
        for message in batch.drain(..) {
            match message {
                Message::Request(arrival) => requests.push(arrival),
                Message::Decision(arrival) => decisions.push(arrival),
            }
        }
        let decided = std::mem::take(&mut to_decide);
        let (asked, outgoing) = tokio::task::block_in_place(|| {
            let tx = store.begin()?;
            let asked = tx.arrived(&requests)?;
            let outgoing = tx.decided(&decided)?;
            tx.stored(&decisions)?;
            tx.commit()?;
            anyhow::Ok((asked, outgoing))
        })?;
        if !matches!(mode, Mode::Decide | Mode::ByRule) && !asked.is_empty() {
            tell(&Report::Listed {
                count: asked.len().try_into()?,
                at: monotonic_ns(),
            })?;
        }
        for (subject, payload) in outgoing {
            let client = client.clone();
            tokio::spawn(async move {
                if let Err(error) = decision::publish(&client, subject, payload).await {
                    // The agent waits in vain and the round fails: this line says why.
                    eprintln!("{error:#}");
                }
            });
        }
        match mode {
            Mode::Keep => {}
            Mode::DecideLater if asked.is_empty() => {}
            Mode::DecideLater => {
                tokio::time::sleep(Mode::PAUSE).await;
                tell(&Report::Deciding { at: monotonic_ns() })?;
                to_decide = asked;
            }
            Mode::Decide | Mode::ByRule => to_decide = asked,
        }
    }
}
