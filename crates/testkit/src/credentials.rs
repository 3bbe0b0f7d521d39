//! Keys and logins made for one test.

use async_nats::{Client, ConnectOptions};
use countersign_core::bus::AgentAccess;
use nkeys::KeyPair;
use std::time::Duration;

/// A user nkey.
#[derive(Clone)]
pub struct UserKey {
    /// `U…`
    pub public: String,
    /// `SU…`
    pub seed: String,
}

impl UserKey {
    /// A new key.
    pub fn new() -> Self {
        let pair = KeyPair::new_user();
        Self {
            public: pair.public_key(),
            seed: pair.seed().expect("a new key pair has its seed"),
        }
    }
}

impl Default for UserKey {
    fn default() -> Self {
        Self::new()
    }
}

/// What an enrolled agent has.
#[derive(Clone)]
pub struct AgentCredentials {
    /// Where its bus is.
    pub url: String,
    /// Its workspace.
    pub workspace: String,
    /// Its name.
    pub agent: String,
    /// Its login.
    pub key: UserKey,
}

impl AgentCredentials {
    /// The prefix of its inboxes, the only ones it may subscribe to.
    pub fn inbox_prefix(&self) -> String {
        format!("_INBOX_{}", self.key.public)
    }

    /// What a console enrols.
    pub fn access(&self) -> AgentAccess {
        AgentAccess {
            workspace: self.workspace.clone(),
            agent: self.agent.clone(),
            nkey: self.key.public.clone(),
        }
    }

    /// `countersign.v1.{word}.{ws}.{agent}`, and `.{id}` unless `id` is empty.
    pub fn subject(&self, word: &str, id: &str) -> String {
        let base = format!("countersign.v1.{word}.{}.{}", self.workspace, self.agent);
        if id.is_empty() {
            base
        } else {
            format!("{base}.{id}")
        }
    }

    /// Connects as this agent, as the protocol says agents do.
    pub async fn connect(&self) -> Client {
        self.options()
            .connect(&self.url)
            .await
            .expect("an enrolled agent can connect")
    }

    /// The options of [`Self::connect`], for tests that watch events.
    pub fn options(&self) -> ConnectOptions {
        ConnectOptions::with_nkey(self.key.seed.clone())
            .custom_inbox_prefix(self.inbox_prefix())
            .request_timeout(Some(Duration::from_secs(2)))
    }
}
