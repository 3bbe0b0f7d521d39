//! The names that identify a request (protocol, "Names").
//!
//! A name must match the grammar: it becomes part of a NATS subject, so a stray `.`, `*` or `>` would address somebody
//! else.

use std::{fmt, str::FromStr, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text_newtype::text_newtype;

/// A name outside the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not a workspace name.
    #[error(
        "a workspace name is 1 to 63 of a-z, 0-9, _ and -, and starts with a letter or a digit"
    )]
    Workspace,
    /// Not an agent name.
    #[error("an agent name is 1 to 63 of a-z, 0-9, _ and -, and starts with a letter or a digit")]
    Agent,
    /// Not a request id.
    #[error(
        "a request id is 1 to 64 letters, digits, _ and -, and starts with a letter or a digit"
    )]
    RequestId,
    /// Not two names with a slash between them.
    #[error("write WORKSPACE/AGENT")]
    AgentKey,
    /// Not two names and an id with slashes between them.
    #[error("write WORKSPACE/AGENT/REQUEST_ID")]
    RequestKey,
}

/// A workspace's name, `[a-z0-9][a-z0-9_-]{0,62}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspaceName(Arc<str>);

/// An agent's name, `[a-z0-9][a-z0-9_-]{0,62}`, unique in its workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentName(Arc<str>);

/// A request's id, `[A-Za-z0-9][A-Za-z0-9_-]{0,63}`, unique for its agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(Arc<str>);

fn is_name(text: &str) -> bool {
    let lower = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    matches!(text.as_bytes(), [first, rest @ ..]
        if lower(first) && rest.len() <= 62 && rest.iter().all(|b| lower(b) || matches!(b, b'_' | b'-')))
}

fn is_request_id(text: &str) -> bool {
    matches!(text.as_bytes(), [first, rest @ ..]
        if first.is_ascii_alphanumeric()
            && rest.len() <= 63
            && rest.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')))
}

impl WorkspaceName {
    fn check(text: &str) -> Result<(), NameError> {
        is_name(text).then_some(()).ok_or(NameError::Workspace)
    }
}

impl AgentName {
    fn check(text: &str) -> Result<(), NameError> {
        is_name(text).then_some(()).ok_or(NameError::Agent)
    }
}

impl RequestId {
    fn check(text: &str) -> Result<(), NameError> {
        is_request_id(text)
            .then_some(())
            .ok_or(NameError::RequestId)
    }
}

text_newtype!(
    WorkspaceName,
    NameError,
    "^[a-z0-9][a-z0-9_-]{0,62}$",
    "A workspace's name"
);
text_newtype!(
    AgentName,
    NameError,
    "^[a-z0-9][a-z0-9_-]{0,62}$",
    "An agent's name"
);
text_newtype!(
    RequestId,
    NameError,
    "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
    "A request's id"
);

/// One agent of one workspace. Written `WORKSPACE/AGENT`.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct AgentKey {
    /// The workspace.
    pub workspace: WorkspaceName,
    /// The agent.
    pub agent: AgentName,
}

/// What identifies a request: always taken from the NATS subject. Written
/// `WORKSPACE/AGENT/REQUEST_ID`.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RequestKey {
    /// The workspace.
    pub workspace: WorkspaceName,
    /// The agent.
    pub agent: AgentName,
    /// The id which the agent gave.
    pub request_id: RequestId,
}

impl RequestKey {
    /// The agent that asked.
    pub fn agent_key(&self) -> AgentKey {
        AgentKey {
            workspace: self.workspace.clone(),
            agent: self.agent.clone(),
        }
    }
}

impl fmt::Display for AgentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.workspace, self.agent)
    }
}

impl FromStr for AgentKey {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (workspace, agent) = text.split_once('/').ok_or(NameError::AgentKey)?;
        Ok(Self {
            workspace: workspace.parse()?,
            agent: agent.parse()?,
        })
    }
}

impl fmt::Display for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.workspace, self.agent, self.request_id)
    }
}

impl FromStr for RequestKey {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('/');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(workspace), Some(agent), Some(id), None) => Ok(Self {
                workspace: workspace.parse()?,
                agent: agent.parse()?,
                request_id: id.parse()?,
            }),
            _ => Err(NameError::RequestKey),
        }
    }
}
