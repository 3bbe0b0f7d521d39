//! Finds out what an agent's login could do that it must not, by trying it.
//!
//! It leaves nothing behind: whatever a stream would store names another stream in `Nats-Expected-Stream`, so the
//! server rejects it once it has passed the permissions, and every name belongs to a workspace that nobody has. What is
//! sent cannot be taken for a decision: it is unsigned and empty.

use super::connection::{BusOptions, Order, REQUEST_LIMIT};
use super::{Bus, BusError};
use async_nats::{Client, Event, HeaderMap, Message};
use bytes::Bytes;
use futures::StreamExt;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How long the answers to everything together may take.
const ANSWERS: Duration = Duration::from_millis(1_500);
/// No stream has this name.
const NO_STREAM: &str = "CS_DOCTOR";

/// JetStream is not enabled for the account, nor on the server; no such stream.
const ELSEWHERE: [u64; 3] = [10_039, 10_076, 10_059];

/// Something that an agent must not be able to do (protocol, section 1 "Accounts").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weakness {
    /// Publish on a decision's subject.
    Forge,
    /// Have the server's own answer stored on a subject that it may not publish on.
    Poison,
    /// Read what was decided for others.
    ReadDecisions,
    /// Hear decisions, requests or answers that are for others.
    Overhear,
    /// Ask, withdraw or report in another agent's name.
    SpeakForOthers,
    /// Read the shared policy.
    ReadPolicy,
    /// Write the shared policy.
    WritePolicy,
    /// Use JetStream's administration.
    AdministerStreams,
}

/// Whose login is tried.
pub struct ProbedLogin {
    /// How it connects.
    pub options: BusOptions,
    /// `_INBOX_{agent nkey}`; none for a login without one.
    pub inbox_prefix: Option<String>,
    /// Workspace and name, where the login belongs to an agent.
    pub agent: Option<(String, String)>,
}

#[derive(Default)]
struct Forbidden(Mutex<Vec<String>>);

impl Forbidden {
    fn note(&self, text: &str) {
        let mut noted = self.0.lock();
        noted.push(text.to_ascii_lowercase());
    }

    fn names(&self, subject: &str) -> bool {
        let subject = format!("\"{}\"", subject.to_ascii_lowercase());
        let noted = self.0.lock();
        noted.iter().any(|text| text.contains(&subject))
    }
}

impl Bus {
    /// What this login could do, in the order of [`Weakness`]; nothing of it is done.
    pub async fn probe(&self, login: ProbedLogin) -> Result<Vec<Weakness>, BusError> {
        let forbidden = Arc::new(Forbidden::default());
        let heard = Arc::clone(&forbidden);
        let (connect, address) = super::connection::prepared(&login.options, Order::Any).await?;
        let mut connect = connect.event_callback(move |event| {
            if let Event::ServerError(error) = event {
                heard.note(&error.to_string());
            }
            std::future::ready(())
        });
        if let Some(prefix) = &login.inbox_prefix {
            connect = connect.custom_inbox_prefix(prefix);
        }
        let client = super::connection::first_connection(&address, connect).await?;
        let trial = Trial {
            console: self.client(),
            agent: &client,
            forbidden: &forbidden,
            nobody: format!("doctor-{:08x}", rand::random::<u32>()),
            own: login.agent,
        };
        let mut found = trial.published().await?;
        found.extend(trial.overheard().await);
        if trial.poisoned().await {
            found.push(Weakness::Poison);
        }
        // Fails only when it is closed already.
        let _ = tokio::time::timeout(REQUEST_LIMIT, client.drain()).await;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

impl Bus {
    /// Asks the server to take a message of so many bytes, for [`Bus::max_payload`] to report; nothing is stored. A
    /// server that does not take it ends this connection, which then reconnects.
    pub async fn try_largest(&self, bytes: usize) {
        let subject = format!(
            "countersign.v1.decision.doctor-{:08x}.doctor.largest",
            rand::random::<u32>()
        );
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Stream", NO_STREAM);
        let payload = Bytes::from(vec![0; bytes]);
        // Whatever is answered: too large is what ends the connection.
        if let Err(error) = self.request(&subject, Some(headers), payload).await {
            tracing::debug!(code = error.code(), "the largest message was not answered");
        }
    }
}

struct Trial<'a> {
    console: &'a Client,
    agent: &'a Client,
    forbidden: &'a Forbidden,
    /// A workspace that nobody has.
    nobody: String,
    own: Option<(String, String)>,
}

impl Trial<'_> {
    fn subjects(&self) -> Vec<(Weakness, String)> {
        let nobody = &self.nobody;
        let another = format!("{nobody}.probe");
        let on = |word: &str, rest: &str| format!("countersign.v1.{word}.{rest}");
        let mut all = vec![
            (Weakness::Forge, on("decision", &format!("{another}.x"))),
            (Weakness::Forge, on("vote", &format!("{another}.x.key"))),
            (Weakness::Forge, on("realm", "999999999999999")),
            (
                Weakness::ReadDecisions,
                format!(
                    "$JS.API.DIRECT.GET.CS_DECISIONS.{}",
                    on("decision", &format!("{another}.x"))
                ),
            ),
            (
                Weakness::ReadDecisions,
                "$JS.API.STREAM.MSG.GET.CS_DECISIONS".into(),
            ),
            (
                Weakness::ReadPolicy,
                "$JS.API.DIRECT.GET.KV_CS_POLICY.$KV.CS_POLICY.panic".into(),
            ),
            (
                Weakness::ReadPolicy,
                "$JS.API.STREAM.MSG.GET.KV_CS_POLICY".into(),
            ),
            (Weakness::WritePolicy, format!("$KV.CS_POLICY.{nobody}")),
            (Weakness::WritePolicy, format!("$KV.CS_POLICY.ask.{nobody}")),
            (
                Weakness::AdministerStreams,
                "$JS.API.STREAM.INFO.CS_DECISIONS".into(),
            ),
            (
                Weakness::AdministerStreams,
                "$JS.API.CONSUMER.LIST.CS_DECISIONS".into(),
            ),
        ];
        for word in ["request", "withdraw", "tighten", "receipt"] {
            all.push((Weakness::SpeakForOthers, on(word, &format!("{another}.x"))));
        }
        for word in ["event", "hello"] {
            all.push((Weakness::SpeakForOthers, on(word, &another)));
        }
        if let Some((workspace, agent)) = &self.own {
            let own = on("decision", &format!("{workspace}.{agent}.{nobody}"));
            all.push((Weakness::Forge, own));
        }
        all
    }

    /// Every subject on which a publish was answered: it passed the permissions and reached somebody.
    async fn published(&self) -> Result<Vec<Weakness>, BusError> {
        let inbox = self.agent.new_inbox();
        let own = format!("{inbox}.*");
        let deaf = |_| BusError::Disconnected;
        let mut answers = self.agent.subscribe(own.clone()).await.map_err(deaf)?;
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Stream", NO_STREAM);
        let mut open = HashMap::new();
        for (number, (weakness, subject)) in self.subjects().into_iter().enumerate() {
            let reply = format!("{inbox}.{number}");
            let sent = self.agent.publish_with_reply_and_headers(
                subject.clone(),
                reply.clone(),
                headers.clone(),
                Bytes::new(),
            );
            if sent.await.is_ok() {
                open.insert(reply, (weakness, subject));
            }
        }
        let mut found = Vec::new();
        let give_up = tokio::time::Instant::now() + ANSWERS;
        while !open.is_empty() {
            let Ok(Some(answer)) = tokio::time::timeout_at(give_up, answers.next()).await else {
                break;
            };
            if let Some((weakness, _)) = open.remove(answer.subject.as_str())
                && !nobody_listens(&answer)
            {
                found.push(weakness);
            }
            open.retain(|_, (_, subject)| !self.forbidden.names(subject));
        }
        if self.forbidden.names(&own) {
            // It would not have heard any answer, which proves nothing.
            return Err(BusError::TimedOut { what: own });
        }
        Ok(found)
    }

    /// Whether the agent hears what is published for somebody else.
    async fn overheard(&self) -> Option<Weakness> {
        let hint = format!("countersign.v1.decided.{}.probe.x", self.nobody);
        let mut heard = Vec::new();
        for subject in [">", "countersign.v1.decided.>", "_INBOX.>"] {
            heard.push(self.agent.subscribe(subject).await.ok()?);
        }
        self.settled(self.agent).await;
        let inbox = format!("_INBOX.{}", self.nobody);
        for subject in [hint, inbox] {
            self.console.publish(subject, Bytes::new()).await.ok()?;
        }
        let named = |message: &Message| message.subject.contains(self.nobody.as_str());
        let mut all = futures::stream::select_all(heard);
        let listen = async {
            while let Some(message) = all.next().await {
                if named(&message) {
                    return true;
                }
            }
            false
        };
        let listened = tokio::time::timeout(ANSWERS / 3, listen).await;
        (listened == Ok(true)).then_some(Weakness::Overhear)
    }

    /// Whether an answer of the server to this agent arrives on a subject of the consoles. The subject is in no
    /// stream; a decision's would be as good.
    async fn poisoned(&self) -> bool {
        let (workspace, agent) = match &self.own {
            Some((workspace, agent)) => (workspace.as_str(), agent.as_str()),
            None => (self.nobody.as_str(), "probe"),
        };
        let bait = format!(
            "$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.decision.{workspace}.{agent}.{}",
            self.nobody
        );
        let target = format!("countersign.v1.doctor.{}", self.nobody);
        let Ok(mut arrived) = self.console.subscribe(target.clone()).await else {
            return false;
        };
        self.settled(self.console).await;
        let sent = self.agent.publish_with_reply(bait, target, Bytes::new());
        if sent.await.is_err() {
            return false;
        }
        let next = tokio::time::timeout(ANSWERS / 3, arrived.next()).await;
        matches!(next, Ok(Some(message)) if !nobody_listens(&message))
    }

    /// Waits until the server has read everything so far.
    async fn settled(&self, client: &Client) {
        let inbox = client.new_inbox();
        if let Ok(mut own) = client.subscribe(inbox.clone()).await
            && client.publish(inbox, Bytes::new()).await.is_ok()
        {
            // Where the login may not do even that, this is a pause.
            let _ = tokio::time::timeout(ANSWERS / 5, own.next()).await;
        }
    }
}

/// Nobody, or only the JetStream of an account without our streams.
fn nobody_listens(answer: &Message) -> bool {
    let reported: Option<Refusal> = serde_json::from_slice(&answer.payload).ok();
    answer.status == Some(async_nats::StatusCode::NO_RESPONDERS)
        || reported.is_some_and(|reported| ELSEWHERE.contains(&reported.error.err_code))
}

#[derive(serde::Deserialize)]
struct Refusal {
    error: RefusalCode,
}

#[derive(serde::Deserialize)]
struct RefusalCode {
    err_code: u64,
}
