//! NATS subjects of the protocol (protocol, section 1).
//!
//! A subject must match the grammar; identity is read from here and never from a payload.

use std::{fmt, sync::Arc};

use crate::{
    keys::Signer,
    names::{AgentKey, RequestKey},
    realm::{REALM_SUBJECT, slot_of},
    streams::{SUBJECT_PREFIX, Stream},
    text_newtype::text_newtype,
};

/// A console id outside the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a console id is 1 to 64 letters, digits, _ and -")]
pub struct ConsoleIdError;

/// A console's id: 1 to 64 of `A-Z a-z 0-9 _ -`, in practice a UUID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConsoleId(Arc<str>);

impl ConsoleId {
    fn check(text: &str) -> Result<(), ConsoleIdError> {
        let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        ((1..=64).contains(&text.len()) && text.bytes().all(legal))
            .then_some(())
            .ok_or(ConsoleIdError)
    }
}

impl From<uuid::Uuid> for ConsoleId {
    fn from(id: uuid::Uuid) -> Self {
        Self(id.to_string().into())
    }
}

text_newtype!(
    ConsoleId,
    ConsoleIdError,
    "^[A-Za-z0-9_-]{1,64}$",
    "A console's id"
);

/// A subject of the protocol, read or to be written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// An agent asks.
    Request(RequestKey),
    /// An agent no longer wants the answer.
    Withdraw(RequestKey),
    /// An agent shortens its deadline.
    Tighten(RequestKey),
    /// A console's decision, stored once.
    Decision(RequestKey),
    /// One operator's vote, by the key that signs it.
    Vote(RequestKey, Signer),
    /// A decision that the server republished: a hint.
    Decided(RequestKey),
    /// What the agent did with the decision.
    Receipt(RequestKey),
    /// Spans of an agent.
    Event(AgentKey),
    /// An agent introduces itself.
    Hello(AgentKey),
    /// An agent is still there.
    Heartbeat(AgentKey),
    /// A head of a console's audit chain.
    Audit(ConsoleId),
    /// A slot of the realm log.
    Realm(u64),
}

impl Subject {
    /// Reads a subject; `None` when it is not one of the protocol's, in every detail.
    pub fn parse(subject: &str) -> Option<Self> {
        let rest = subject.strip_prefix(SUBJECT_PREFIX)?;
        let mut tokens = rest.split('.');
        let word = tokens.next()?;
        if word == "realm" {
            return slot_of(subject).map(Self::Realm);
        }
        if word == "audit" {
            let console = tokens.next()?.parse().ok()?;
            return tokens.next().is_none().then_some(Self::Audit(console));
        }
        let agent = AgentKey {
            workspace: tokens.next()?.parse().ok()?,
            agent: tokens.next()?.parse().ok()?,
        };
        let with_id: Option<fn(RequestKey) -> Self> = match word {
            "request" => Some(Self::Request),
            "withdraw" => Some(Self::Withdraw),
            "tighten" => Some(Self::Tighten),
            "decision" => Some(Self::Decision),
            "decided" => Some(Self::Decided),
            "receipt" => Some(Self::Receipt),
            _ => None,
        };
        let parsed = match (with_id, word) {
            (Some(make), _) => make(request_key(agent, tokens.next()?)?),
            (None, "vote") => {
                let key = request_key(agent, tokens.next()?)?;
                Self::Vote(key, tokens.next()?.parse().ok()?)
            }
            (None, "event") => Self::Event(agent),
            (None, "hello") => Self::Hello(agent),
            (None, "alive") => Self::Heartbeat(agent),
            _ => return None,
        };
        tokens.next().is_none().then_some(parsed)
    }

    /// The request that the subject names, if it names one.
    pub fn request_key(&self) -> Option<&RequestKey> {
        match self {
            Self::Request(key)
            | Self::Withdraw(key)
            | Self::Tighten(key)
            | Self::Decision(key)
            | Self::Vote(key, _)
            | Self::Decided(key)
            | Self::Receipt(key) => Some(key),
            Self::Event(_)
            | Self::Hello(_)
            | Self::Heartbeat(_)
            | Self::Audit(_)
            | Self::Realm(_) => None,
        }
    }

    /// The stream which stores the subject; `None` for those that no stream stores.
    pub fn stream(&self) -> Option<Stream> {
        match self {
            Self::Request(_) | Self::Withdraw(_) | Self::Tighten(_) => Some(Stream::Requests),
            Self::Decision(_) | Self::Vote(..) | Self::Realm(_) => Some(Stream::Decisions),
            Self::Receipt(_) => Some(Stream::Receipts),
            Self::Event(_) => Some(Stream::Events),
            Self::Hello(_) => Some(Stream::Agents),
            Self::Audit(_) => Some(Stream::Audit),
            Self::Decided(_) | Self::Heartbeat(_) => None,
        }
    }
}

fn request_key(agent: AgentKey, id: &str) -> Option<RequestKey> {
    let AgentKey { workspace, agent } = agent;
    Some(RequestKey {
        workspace,
        agent,
        request_id: id.parse().ok()?,
    })
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::Request(key) => request_subject(key),
            Self::Withdraw(key) => withdraw_subject(key),
            Self::Tighten(key) => tighten_subject(key),
            Self::Decision(key) => decision_subject(key),
            Self::Vote(key, voter) => vote_subject(key, voter),
            Self::Decided(key) => decided_subject(key),
            Self::Receipt(key) => receipt_subject(key),
            Self::Event(agent) => event_subject(agent),
            Self::Hello(agent) => hello_subject(agent),
            Self::Heartbeat(agent) => alive_subject(agent),
            Self::Audit(console) => audit_subject(console),
            Self::Realm(slot) => realm_subject(*slot),
        })
    }
}

fn for_request(word: &str, key: &RequestKey) -> String {
    format!(
        "{SUBJECT_PREFIX}{word}.{}.{}.{}",
        key.workspace, key.agent, key.request_id
    )
}

fn for_agent(word: &str, key: &AgentKey) -> String {
    format!("{SUBJECT_PREFIX}{word}.{}.{}", key.workspace, key.agent)
}

/// `countersign.v1.request.{ws}.{agent}.{id}`
pub fn request_subject(key: &RequestKey) -> String {
    for_request("request", key)
}

/// `countersign.v1.withdraw.{ws}.{agent}.{id}`
pub fn withdraw_subject(key: &RequestKey) -> String {
    for_request("withdraw", key)
}

/// `countersign.v1.tighten.{ws}.{agent}.{id}`
pub fn tighten_subject(key: &RequestKey) -> String {
    for_request("tighten", key)
}

/// `countersign.v1.decision.{ws}.{agent}.{id}`
pub fn decision_subject(key: &RequestKey) -> String {
    for_request("decision", key)
}

/// `countersign.v1.vote.{ws}.{agent}.{id}.{key}`
pub fn vote_subject(key: &RequestKey, voter: &Signer) -> String {
    format!("{}.{voter}", for_request("vote", key))
}

/// `countersign.v1.decided.{ws}.{agent}.{id}`
pub fn decided_subject(key: &RequestKey) -> String {
    for_request("decided", key)
}

/// `countersign.v1.receipt.{ws}.{agent}.{id}`
pub fn receipt_subject(key: &RequestKey) -> String {
    for_request("receipt", key)
}

/// `countersign.v1.event.{ws}.{agent}`
pub fn event_subject(agent: &AgentKey) -> String {
    for_agent("event", agent)
}

/// `countersign.v1.hello.{ws}.{agent}`
pub fn hello_subject(agent: &AgentKey) -> String {
    for_agent("hello", agent)
}

/// `countersign.v1.alive.{ws}.{agent}`
pub fn alive_subject(agent: &AgentKey) -> String {
    for_agent("alive", agent)
}

/// `countersign.v1.audit.{console}`
pub fn audit_subject(console: &ConsoleId) -> String {
    format!("{SUBJECT_PREFIX}audit.{console}")
}

/// `countersign.v1.realm.{slot}`
pub fn realm_subject(slot: u64) -> String {
    format!("{REALM_SUBJECT}.{slot}")
}
