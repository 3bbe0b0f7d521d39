//! What can go wrong between an agent and its answer.
//!
//! An error is never a permission: whoever gets one does not run the call.

use std::time::Duration;

use countersign_wire::RequestId;

use crate::log::LogFault;

/// Why an answer is missing. Every variant means that the call must not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// `agent.json` cannot be read or contradicts itself.
    #[error("cannot use the enrolment: {why}; enrol the agent again")]
    BadEnrolment {
        /// What is wrong with it.
        why: String,
    },
    /// The enrolment names no log of operators (protocol, section 8).
    #[error(
        "the enrolment names no log of operators, so no answer could be believed; enrol the agent again"
    )]
    NoLog,
    /// The bus's log of operators lacks an entry that the agent knows.
    #[error(
        "the bus's log of operators lacks an entry that the agent knows ({}); look with `countersign doctor`", .0.as_str()
    )]
    Log(LogFault),
    /// The bus did not answer within the limit.
    #[error("cannot reach the bus: {why}; is the console running?")]
    Unreachable {
        /// What happened.
        why: String,
    },
    /// The bus speaks no TLS that can be trusted; nothing was sent without it.
    #[error(
        "no TLS connection to the bus: {why}; check tls_ca, tls_cert and tls_key in agent.json, and the host in nats_url"
    )]
    Tls {
        /// What is wrong.
        why: String,
    },
    /// The bus does not know the agent's key.
    #[error("the bus refused the agent's key; enrol the agent again")]
    LoginRefused,
    /// The bus answers, but holds no stream of decisions.
    #[error("the bus has no decisions to read; start the console once, it prepares the bus")]
    NoStreams,
    /// The agent's permissions do not cover a subject of the protocol.
    #[error("the bus forbids the agent to publish on {subject}; enrol the agent again")]
    Forbidden {
        /// The subject.
        subject: String,
    },
    /// The bus refused a message for good.
    #[error("the bus refused the message: {description} ({code})")]
    Refused {
        /// JetStream's code.
        code: u64,
        /// JetStream's words.
        description: String,
    },
    /// The console would reject the request, so it was not sent.
    #[error("the request is not valid ({code}): {detail}")]
    InvalidRequest {
        /// The protocol's code, such as `integer_out_of_range`.
        code: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// This gate already waits for a request of this id.
    #[error("request {request_id} is already waiting; use a new id for each call")]
    AlreadyWaiting {
        /// The id.
        request_id: RequestId,
    },
    /// A request of this key waits in this or another process.
    #[error("{key:?} is already waiting, in this or another process")]
    KeyWaiting {
        /// The key.
        key: String,
    },
    /// The folder of pending requests cannot be read or written; nothing was asked, or no answer is handed out.
    #[error("the journal of pending requests failed: {why}; check its disk and its permissions")]
    Journal {
        /// What happened.
        why: String,
    },
    /// The bus holds a request of this id, from an earlier life of this agent or from
    /// another instance. Its answer is not this call's.
    #[error("a request {request_id} was made before; use a new id for each call")]
    AlreadyAsked {
        /// The id.
        request_id: RequestId,
    },
    /// As many requests wait as the gate allows.
    #[error("{limit} requests are already waiting; wait for answers before asking more")]
    TooManyWaiting {
        /// The limit.
        limit: usize,
    },
    /// The bus took no request before the deadline.
    #[error("the bus took no request within {} s; {}", .waited.as_secs_f32(), why_not_placed(.refused.as_deref()))]
    NotPlaced {
        /// How long it was tried.
        waited: Duration,
        /// What the bus said when it last refused the request; none where it said nothing.
        refused: Option<String>,
    },
    /// A receipt needs a stored decision, and none is there.
    #[error("nobody decided, so there is nothing to report on")]
    NoDecision,
    /// The gate was closed.
    #[error("the gate is closed")]
    Closed,
}

fn why_not_placed(refused: Option<&str>) -> String {
    match refused {
        Some(refused) => format!("it last said: {refused}; look with `countersign doctor`"),
        None => "is the console running?".to_owned(),
    }
}

impl GateError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadEnrolment { .. } => "bad_enrolment",
            Self::NoLog => "no_log",
            Self::Log(fault) => fault.as_str(),
            Self::Unreachable { .. } => "bus_unreachable",
            Self::Tls { .. } => "bus_tls",
            Self::LoginRefused => "bus_login_refused",
            Self::NoStreams => "bus_no_streams",
            Self::Forbidden { .. } => "bus_forbidden",
            Self::Refused { .. } => "bus_refused",
            Self::InvalidRequest { .. } => "invalid_request",
            Self::AlreadyWaiting { .. } | Self::KeyWaiting { .. } => "already_waiting",
            Self::Journal { .. } => "journal",
            Self::AlreadyAsked { .. } => "already_asked",
            Self::TooManyWaiting { .. } => "too_many_waiting",
            Self::NotPlaced { .. } => "not_placed",
            Self::NoDecision => "no_decision",
            Self::Closed => "closed",
        }
    }
}
