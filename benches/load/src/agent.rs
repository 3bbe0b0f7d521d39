//! One agent: publishes requests and hears its decisions.
//!
//! A request counts once the stream acknowledged it, a decision if it approves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use async_nats::{Client, ConnectOptions, HeaderMap};
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::clock::monotonic_ns;
use crate::payload::Payload;

/// Longer than anything here takes, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// How an agent connects; the product's enrolment files have this shape.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Login {
    /// Where the bus is.
    pub nats_url: String,
    /// Its workspace.
    pub workspace: String,
    /// Its name.
    pub agent: String,
    /// Seed of its login key; none where the server asks for none.
    pub nkey_seed: Option<String>,
    /// Prefix of its inboxes.
    pub inbox_prefix: Option<String>,
}

#[derive(Deserialize)]
struct Acknowledgement {
    #[serde(default)]
    seq: u64,
}

#[derive(Deserialize)]
struct Decision<'a> {
    verdict: &'a str,
}

type Waiting = Arc<Mutex<HashMap<String, oneshot::Sender<(i64, bool)>>>>;

/// A connected agent.
pub struct Agent {
    client: Client,
    payload: Payload,
    prefix: String,
    waiting: Waiting,
    heard: tokio::task::JoinHandle<()>,
}

impl Agent {
    /// Connects and listens for its decisions.
    pub async fn connect(login: &Login) -> anyhow::Result<Self> {
        let mut options = match &login.nkey_seed {
            Some(seed) => ConnectOptions::with_nkey(seed.clone()),
            None => ConnectOptions::new(),
        };
        if let Some(prefix) = &login.inbox_prefix {
            options = options.custom_inbox_prefix(prefix);
        }
        let client = options
            .request_timeout(Some(LIMIT))
            .connect(&login.nats_url)
            .await
            .with_context(|| format!("agent {} cannot connect", login.agent))?;
        let (ws, agent) = (&login.workspace, &login.agent);
        let mut decided = client
            .subscribe(format!("countersign.v1.decided.{ws}.{agent}.*"))
            .await?;
        let unused =
            format!("$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.decision.{ws}.{agent}.none");
        client
            .request(unused, "".into())
            .await
            .context("the subscription is not in force")?;
        let waiting = Waiting::default();
        let waiters = Arc::clone(&waiting);
        let heard = tokio::spawn(async move {
            while let Some(message) = decided.next().await {
                let at = monotonic_ns();
                let approved = serde_json::from_slice::<Decision<'_>>(&message.payload)
                    .is_ok_and(|decision| decision.verdict == "approve");
                let id = message.subject.rsplit('.').next().unwrap_or_default();
                let waiter = waiters.lock().ok().and_then(|mut all| all.remove(id));
                if let Some(waiter) = waiter {
                    // A lane that gave up no longer listens.
                    let _ = waiter.send((at, approved));
                }
            }
        });
        let prefix = format!("countersign.v1.request.{ws}.{agent}.");
        Ok(Self {
            client,
            payload: Payload::new(ws, agent)?,
            prefix,
            waiting,
            heard,
        })
    }

    /// Publishes a new request and waits for the acknowledgement.
    pub async fn publish(&self) -> anyhow::Result<()> {
        self.publish_as(&Uuid::now_v7().to_string()).await
    }

    async fn publish_as(&self, id: &str) -> anyhow::Result<()> {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Last-Subject-Sequence", "0");
        let subject = format!("{}{id}", self.prefix);
        let answer = self
            .client
            .request_with_headers(subject, headers, self.payload.with_id(id))
            .await?;
        let acknowledged: Acknowledgement = serde_json::from_slice(&answer.payload)?;
        if acknowledged.seq == 0 {
            bail!("refused: {}", String::from_utf8_lossy(&answer.payload));
        }
        Ok(())
    }

    /// Publishes a new request and waits until it is approved; when the decision came.
    pub async fn ask(&self) -> anyhow::Result<i64> {
        let id = Uuid::now_v7().to_string();
        let (sender, decided) = oneshot::channel();
        if let Ok(mut waiting) = self.waiting.lock() {
            waiting.insert(id.clone(), sender);
        }
        self.publish_as(&id).await?;
        let (at, approved) = tokio::time::timeout(LIMIT, decided)
            .await
            .context("no decision in time")??;
        ensure!(approved, "{id} was not approved");
        Ok(at)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.heard.abort();
    }
}

/// Publishes `count` requests that nobody decides.
pub async fn fill(login: &Login, count: usize) -> anyhow::Result<()> {
    let agent = Agent::connect(login).await?;
    let mut published = futures::stream::iter(0..count)
        .map(|_| agent.publish())
        .buffer_unordered(64);
    while let Some(done) = published.next().await {
        done?;
    }
    Ok(())
}
