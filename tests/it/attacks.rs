//! Attacks of an agent on the bus (protocol, section 1), tried with its own login.

use std::time::Duration;

use async_nats::Client;
use serde_json::{Value, json};

const GET: &str = "$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.decision.";
const GET_POLICY: &str = "$JS.API.DIRECT.GET.KV_CS_POLICY.$KV.CS_POLICY.";
/// How long an attack has to leave a trace on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_millis(400);

/// Agent `acme/bot` and a console of one bus, on which `acme/victim` has a decision for `theirs`.
pub(crate) struct Attack<'a> {
    pub(crate) agent: &'a Client,
    pub(crate) console: &'a Client,
}

impl Attack<'_> {
    /// The names of the attacks that worked.
    pub(crate) async fn all(&self) -> Vec<&'static str> {
        let mut worked = Vec::new();
        for (name, works) in [
            ("forge", self.forge().await),
            ("poison", self.poison().await),
            (
                "read another's decision",
                self.answered(&format!("{GET}acme.victim.theirs")).await,
            ),
            ("hear another's decisions", self.hear().await),
            (
                "read the policy",
                self.answered(&format!("{GET_POLICY}panic")).await,
            ),
            ("speak for another", self.speak().await),
        ] {
            if works {
                worked.push(name);
            }
        }
        worked
    }

    async fn forge(&self) -> bool {
        let subject = "countersign.v1.decision.acme.victim.forged";
        self.agent.publish(subject, "{}".into()).await.unwrap();
        self.is_stored("CS_DECISIONS", subject).await
    }

    /// The server's own acknowledgement of a permitted publish becomes the stored decision.
    async fn poison(&self) -> bool {
        let reply = "countersign.v1.decision.acme.victim.poisoned";
        let own = "countersign.v1.request.acme.bot.bait";
        let sent = self.agent.publish_with_reply(own, reply, "{}".into());
        sent.await.unwrap();
        self.is_stored("CS_DECISIONS", reply).await
    }

    async fn speak(&self) -> bool {
        let subject = "countersign.v1.request.acme.victim.spoken";
        self.agent.publish(subject, "{}".into()).await.unwrap();
        self.is_stored("CS_REQUESTS", subject).await
    }

    async fn hear(&self) -> bool {
        let theirs = "countersign.v1.decided.acme.victim.*";
        let mut heard = self.agent.subscribe(theirs).await.unwrap();
        self.agent.flush().await.unwrap();
        tokio::time::sleep(PATIENCE / 4).await;
        let spoken = "countersign.v1.decided.acme.victim.hint";
        self.console.publish(spoken, "{}".into()).await.unwrap();
        let next = futures::StreamExt::next(&mut heard);
        matches!(tokio::time::timeout(PATIENCE, next).await, Ok(Some(_)))
    }

    async fn answered(&self, subject: &str) -> bool {
        let asked = self.agent.request(subject.to_owned(), "".into());
        matches!(tokio::time::timeout(PATIENCE, asked).await, Ok(Ok(_)))
    }

    async fn is_stored(&self, stream: &str, subject: &str) -> bool {
        self.agent.flush().await.unwrap();
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            let ask = json!({ "last_by_subj": subject }).to_string();
            let from = format!("$JS.API.STREAM.MSG.GET.{stream}");
            let answer = self.console.request(from, ask.into()).await.unwrap();
            let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
            if answer["message"].is_object() {
                return true;
            }
            if tokio::time::Instant::now() > until {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// What works where everybody may do everything.
pub(crate) const EVERYTHING: [&str; 6] = [
    "forge",
    "poison",
    "read another's decision",
    "hear another's decisions",
    "read the policy",
    "speak for another",
];
