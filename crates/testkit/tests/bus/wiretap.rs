//! An agent's raw connection, with the errors that the server sends it.

use async_nats::{Client, Event, HeaderMap};
use bytes::Bytes;
use countersign_testkit::AgentCredentials;
use std::time::Duration;
use tokio::sync::mpsc;

const LIMIT: Duration = Duration::from_secs(5);

pub(crate) struct Wiretap {
    pub(crate) client: Client,
    errors: mpsc::Receiver<String>,
}

impl Wiretap {
    pub(crate) async fn connect(credentials: &AgentCredentials) -> Self {
        let (reported, errors) = mpsc::channel(100);
        let client = credentials
            .options()
            .event_callback(move |event| {
                if let Event::ServerError(error) = event {
                    reported.try_send(error.to_string()).unwrap();
                }
                std::future::ready(())
            })
            .connect(&credentials.url)
            .await
            .unwrap();
        Self { client, errors }
    }

    /// The next error must be a permissions violation that names `subject`.
    pub(crate) async fn expect_violation(&mut self, subject: &str) {
        let error = tokio::time::timeout(LIMIT, self.errors.recv())
            .await
            .unwrap_or_else(|_| panic!("{subject} was allowed"))
            .unwrap();
        assert!(
            error.contains("Permissions Violation") && error.contains(&format!("\"{subject}\"")),
            "{subject}: {error}"
        );
    }

    /// Publishes what must be refused.
    pub(crate) async fn publish_refused(&mut self, subject: &str) {
        self.client
            .publish(subject.to_owned(), "{}".into())
            .await
            .unwrap();
        self.expect_violation(subject).await;
    }

    /// Subscribes to what must be refused.
    pub(crate) async fn subscribe_refused(&mut self, subject: &str) {
        let _subscriber = self.client.subscribe(subject.to_owned()).await.unwrap();
        self.expect_violation(subject).await;
    }

    /// A publish with the write-once header, and the server's answer.
    pub(crate) async fn store(&self, subject: &str, payload: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Last-Subject-Sequence", "0");
        let reply = self
            .client
            .request_with_headers(subject.to_owned(), headers, Bytes::from(payload.to_owned()))
            .await
            .unwrap();
        String::from_utf8(reply.payload.to_vec()).unwrap()
    }
}
