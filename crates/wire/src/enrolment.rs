//! `agent.json`: what an agent needs to connect and to trust (protocol, section 5).
//!
//! Refuses to print its seed.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{AgentKey, AgentName, TrustedKey, WorkspaceName};

/// The seed of an agent's login key. Never shown by `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NkeySeed(String);

impl NkeySeed {
    /// Takes a seed.
    pub fn new(seed: impl Into<String>) -> Self {
        Self(seed.into())
    }

    /// The seed, to log in with.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for NkeySeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NkeySeed(hidden)")
    }
}

/// An agent's enrolment file, mode 0600.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Enrolment {
    /// Where the bus is.
    pub nats_url: String,
    /// The agent's workspace.
    pub workspace: WorkspaceName,
    /// The agent's name.
    pub agent: AgentName,
    /// The seed of its login key.
    pub nkey_seed: NkeySeed,
    /// Its inbox prefix, `_INBOX_{agent nkey}`.
    pub inbox_prefix: String,
    /// The realm.
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub realm: Uuid,
    /// The keys whose decisions it takes.
    pub trusted_keys: Vec<TrustedKey>,
}

impl Enrolment {
    /// Which agent it is for.
    pub fn agent_key(&self) -> AgentKey {
        AgentKey {
            workspace: self.workspace.clone(),
            agent: self.agent.clone(),
        }
    }
}
