//! An agent that speaks the protocol by hand.

use std::path::Path;

use async_nats::{Client, ConnectOptions, HeaderMap};
use serde_json::Value;

use super::{LIMIT, Request};

/// A connected agent.
pub(crate) struct Agent {
    pub(crate) client: Client,
    pub(crate) workspace: String,
    pub(crate) name: String,
}

impl Agent {
    /// Connects with an enrolment file.
    pub(crate) async fn connect(enrolment: impl AsRef<Path>) -> Self {
        let text = std::fs::read_to_string(enrolment).expect("an enrolment file");
        let enrolment: Value = serde_json::from_str(&text).expect("JSON");
        let field = |name: &str| enrolment[name].as_str().expect("a text").to_owned();
        let client = ConnectOptions::with_nkey(field("nkey_seed"))
            .custom_inbox_prefix(field("inbox_prefix"))
            .request_timeout(Some(LIMIT))
            .connect(field("nats_url"))
            .await
            .expect("an enrolled agent can connect");
        Self {
            client,
            workspace: field("workspace"),
            name: field("agent"),
        }
    }

    pub(crate) fn request(&self, id: &str) -> Request {
        Request::new(&self.workspace, &self.name, id)
    }

    /// Publishes on `countersign.v1.{word}.{ws}.{agent}.{id}`; its sequence in the stream.
    pub(crate) async fn publish(&self, word: &str, id: &str, payload: impl Into<Vec<u8>>) -> u64 {
        let subject = format!(
            "countersign.v1.{word}.{}.{}.{id}",
            self.workspace, self.name
        );
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Last-Subject-Sequence", "0");
        let payload = payload.into();
        let answer = self
            .client
            .request_with_headers(subject, headers, payload.into())
            .await;
        let answer: Value =
            serde_json::from_slice(&answer.expect("an answer").payload).expect("JSON");
        answer["seq"]
            .as_u64()
            .unwrap_or_else(|| panic!("refused: {answer}"))
    }

    /// Publishes a request.
    pub(crate) async fn ask(&self, request: &Request) -> u64 {
        let id = request.0["request_id"].as_str().expect("a text").to_owned();
        self.publish("request", &id, request.bytes()).await
    }

    /// What is stored as the decision on a request, if anything.
    pub(crate) async fn decision(&self, id: &str) -> Option<Value> {
        let subject = format!(
            "$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.decision.{}.{}.{id}",
            self.workspace, self.name
        );
        let answer = self
            .client
            .request(subject, "".into())
            .await
            .expect("an answer");
        serde_json::from_slice(&answer.payload).ok()
    }
}
