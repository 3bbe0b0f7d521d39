//! Jobs of the one writer.

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_scrutiny::{Code, Finding, Weight};
use countersign_wire::{
    AgentKey, ApprovalRequest, Origin, RequestKey, Response, Risk, RuleRef, Scope, Sha256Digest,
    Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::alarms::Acknowledged;
use super::heartbeats::HeardHeartbeats;
use super::hello_barrier::HelloBarrier;
use super::incoming::{
    IncomingDecision, IncomingHello, IncomingReceipt, IncomingRequest, IncomingSpan,
};
use super::practice::{Examined, PracticeNote};
use super::publisher::{Carried, Settled};
use super::retention::Run;
use crate::domain::haste::InFront;
use crate::domain::reader::ReaderNote;
use crate::domain::retention::Kind;
use crate::domain::{AlarmCode, Authority, DecideRefusal, Timestamp};
use crate::store::audit::{Entry, StoredAnchor};
use crate::store::policy::PolicyRow;
use crate::store::retention::Item;

/// A verdict to be given.
#[derive(Debug, Clone)]
pub struct DecideCommand {
    /// On which request.
    pub key: RequestKey,
    /// Which verdict.
    pub verdict: Verdict,
    /// Digest of the arguments that were seen; refused when the stored one differs.
    pub seen_args_digest: Option<String>,
    /// The arguments that may run instead; `modify` only.
    pub edited_args: Option<Value>,
    /// For the agent.
    pub message: Option<String>,
    /// The answer; `respond` only.
    pub response: Option<Response>,
    /// How far an approval is meant: recorded, and no grant (protocol, section 5).
    pub scope: Scope,
    /// Hold an approval back so that it can be undone.
    pub hold: bool,
    /// Who decides.
    pub authority: Authority,
    /// Recorded in the decision.
    pub origin: Origin,
    /// By which rule or setup key, and under which set.
    pub automatic: Option<Automatic>,
    /// How the person looked at it; nothing is kept of it for what is decided automatically.
    pub look: Look,
}

/// How a person looked at a call before deciding. By default on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// Where.
    pub via: Via,
    /// How long the card was in front; none on the command line.
    pub front: Option<InFront>,
    /// Whether the arguments were seen to their end; none on the command line.
    pub to_end: Option<bool>,
    /// The findings that were shown; none for those of the moment of the decision.
    pub shown: Option<Vec<ShownFinding>>,
}

/// Where a person decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// On the command line.
    #[default]
    Cli,
    /// In the window.
    Window,
}

/// A finding as a decision keeps it: without its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownFinding {
    /// What kind.
    pub code: Code,
    /// How wrong it usually is.
    pub weight: Weight,
    /// JSON pointer; empty for the whole call.
    pub at: String,
}

impl From<&Finding> for ShownFinding {
    fn from(finding: &Finding) -> Self {
        Self {
            code: finding.code,
            weight: finding.weight,
            at: finding.at.clone(),
        }
    }
}

impl Look {
    /// In the window, with the card in front and armed for so long.
    #[must_use]
    pub fn in_window(front: Option<InFront>) -> Self {
        Self {
            via: Via::Window,
            front,
            ..Self::default()
        }
    }
}

/// What decides automatically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Automatic {
    /// The rule or the setup key.
    pub rule: RuleRef,
    /// The whole set in force.
    pub policy_digest: Sha256Digest,
}

impl DecideCommand {
    /// An operator's verdict without a hold.
    #[must_use]
    pub fn by_operator(key: RequestKey, verdict: Verdict) -> Self {
        Self {
            key,
            verdict,
            seen_args_digest: None,
            edited_args: None,
            message: None,
            response: None,
            scope: Scope::Once,
            hold: false,
            authority: Authority::Operator,
            origin: Origin::Operator,
            automatic: None,
            look: Look::default(),
        }
    }
}

/// A verdict that was taken.
#[derive(Debug)]
pub(crate) enum Accepted {
    /// Held; nothing is signed.
    Held {
        /// When it is signed and sent.
        release_at: Timestamp,
    },
    /// Signed and on its way.
    Queued {
        /// The verdict as sent: `terminate` may have become `deny`.
        verdict: Verdict,
        /// Its id.
        decision_id: Uuid,
        /// Effective risk of the request.
        risk: Risk,
        /// Sent when the stream has answered.
        settled: oneshot::Receiver<Settled>,
    },
    /// A vote, signed and on its way; the request waits for other operators.
    Voted {
        /// `approve` or `modify`.
        verdict: Verdict,
        /// Its id.
        vote_id: Uuid,
        /// Sent when the stream has answered.
        settled: oneshot::Receiver<Settled>,
    },
}

/// Why a verdict was not taken.
#[derive(Debug)]
pub(crate) enum Refused {
    /// No such request.
    NotFound,
    /// The life cycle refused.
    Domain(DecideRefusal),
    /// The edited arguments cannot be digested.
    InvalidArgs(String),
    /// The console takes no decisions now.
    ReadOnly(String),
}

/// Where a verdict's answer goes.
pub(crate) type DecideReply = oneshot::Sender<Result<Accepted, Refused>>;

/// The bus that is now projected.
#[derive(Debug, Clone)]
pub(crate) struct BusBinding {
    pub(crate) realm: Uuid,
    /// Epoch of each stream, by name.
    pub(crate) epochs: BTreeMap<&'static str, String>,
    /// Which requests may be approved automatically.
    pub(crate) hellos: HelloBarrier,
    /// Whether the hellos are read from their beginning.
    pub(crate) hello_gap: bool,
    /// The last sequence of the hellos when the bus was compared: one up to there may have replaced one that this
    /// console never saw, whatever its clock says of the stamp.
    pub(crate) hellos_stored: i64,
}

/// Reports that the past is known, for the session that read it.
#[derive(Clone)]
pub(crate) struct PastKnown {
    known: watch::Sender<bool>,
    session: CancellationToken,
}

impl PastKnown {
    /// For one session, which ends with `session`.
    pub(crate) fn new(known: watch::Sender<bool>, session: CancellationToken) -> Self {
        Self { known, session }
    }

    /// Says so, unless the session has ended: then nobody knows what has happened since.
    pub(crate) fn announce(&self) {
        self.known.send_if_modified(|known| {
            let news = !*known && !self.session.is_cancelled();
            *known |= news;
            news
        });
    }
}

/// What is kept beside requests and decisions.
#[derive(Debug)]
pub(crate) enum Note {
    /// Practice is turned on or off, or a practice card was answered.
    Practice(PracticeNote),
    /// What a second reader made of calls.
    Reader(ReaderNote),
}

/// One thing to do. Messages of one stream come in its order.
pub(crate) enum Job {
    Bound(BusBinding),
    Requests(Arc<Vec<IncomingRequest>>),
    Decisions(Arc<Vec<IncomingDecision>>),
    Receipts(Arc<Vec<IncomingReceipt>>),
    Hellos(Arc<Vec<IncomingHello>>),
    Spans(Arc<Vec<IncomingSpan>>),
    Heartbeats(HeardHeartbeats),
    /// The connection was lost: what the streams hold is not known until they are read again.
    Lagging,
    /// Everything that was stored before the console connected is projected.
    CaughtUp(PastKnown),
    /// The same of what agents report.
    ReportsKnown,
    /// More hellos are known than when an approval had to wait for them.
    HelloBarrier,
    ReadOnly(Option<(String, String)>),
    Decide(Box<DecideCommand>, DecideReply),
    Undo(RequestKey, oneshot::Sender<Result<(), Refused>>),
    /// Nothing is stored and the deadline has passed.
    Late {
        decision_id: Uuid,
        request: i64,
    },
    /// The subject already holds another decision.
    Lost {
        decision_id: Uuid,
    },
    /// Panic, a pause or a stop recalls an automatic approval before anything of it is stored.
    TakeBack {
        decision_id: Uuid,
        request: i64,
        why: String,
    },
    /// A vote will not be stored: too late, or the subject already holds another one of its key.
    VoteEnded {
        vote_id: Uuid,
        late: bool,
    },
    Attempt {
        carried: Carried,
        decision_id: Uuid,
        error: String,
    },
    Policy(PolicyRow, Vec<Entry>),
    Enroll {
        agent: AgentKey,
        key: String,
        done: oneshot::Sender<()>,
    },
    /// The embedded server has loaded the agents' keys with this fingerprint.
    InForce(String),
    Revoke {
        agent: AgentKey,
        done: oneshot::Sender<bool>,
    },
    Anchored(StoredAnchor),
    Alarm {
        code: AlarmCode,
        subject: String,
    },
    /// Somebody sends what no client can read.
    Unreadable {
        sender: String,
    },
    /// The bus has what this console knew of it again; these streams are read from their beginning.
    Recovered {
        epochs: BTreeMap<&'static str, String>,
        detail: Value,
        done: oneshot::Sender<()>,
    },
    /// What an alarm was about is settled.
    LowerAlarm {
        code: AlarmCode,
        subject: String,
    },
    /// A person has seen an alarm.
    AcknowledgeAlarm {
        id: i64,
        done: oneshot::Sender<Acknowledged>,
    },
    /// An operator chooses what is typed before a critical call of a tool; none is its name.
    ChooseTypedTarget {
        agent: AgentKey,
        tool: String,
        pointer: Option<String>,
        done: oneshot::Sender<()>,
    },
    /// Writes one audit entry; answered when it is committed.
    Record {
        action: &'static str,
        subject: String,
        detail: Value,
        done: oneshot::Sender<()>,
    },
    /// The exporter has come to this row.
    AnswersExported {
        row: i64,
        done: oneshot::Sender<()>,
    },
    /// Retention removes these.
    Remove {
        kind: Kind,
        items: Vec<Item>,
        before: Timestamp,
        done: oneshot::Sender<Run>,
    },
    /// The window remembers something.
    Remember {
        key: &'static str,
        value: String,
        done: oneshot::Sender<()>,
    },
    /// Learns what people decided on a tool (workspace, agent, tool) anew.
    LearnAnew {
        tool: (String, String, String),
        done: oneshot::Sender<u64>,
    },
    /// Something beside requests and decisions is kept.
    Note(Box<Note>, oneshot::Sender<()>),
    /// A probe of the gate in front of an agent held, or why it is open.
    Gate {
        agent: AgentKey,
        open: Option<String>,
        done: oneshot::Sender<()>,
    },
    /// What is found in a call that is in no store: findings as they are stored, and the effect.
    Examine(Box<(AgentKey, ApprovalRequest)>, oneshot::Sender<Examined>),
    /// So many requests more can be found by their words; answered with whether there are more.
    Index(usize, Option<oneshot::Sender<bool>>),
    /// Another process may have written: look for what it left in the outbox.
    Rescan,
    /// Drop holds and stop; answered when all is committed.
    Stop(oneshot::Sender<()>),
}

impl Job {
    /// How many messages of a stream it brings; none for what nobody holds up.
    pub(crate) fn messages(&self) -> Option<usize> {
        match self {
            Self::Requests(messages) => Some(messages.len()),
            Self::Decisions(messages) => Some(messages.len()),
            Self::Receipts(messages) => Some(messages.len()),
            _ => None,
        }
    }

    /// Whether a person waits for it, who gave or took back a verdict.
    pub(crate) fn is_verdict(&self) -> bool {
        matches!(self, Self::Decide(..) | Self::Undo(..))
    }

    /// Whether somebody waits for its answer, and asks again when it fails.
    pub(crate) fn is_awaited(&self) -> bool {
        match self {
            Self::Heartbeats(_)
            | Self::Attempt { .. }
            | Self::Index(_, None)
            | Self::HelloBarrier => false,
            job => job.for_retry().is_none(),
        }
    }

    /// A copy of a job that must not be lost when the store fails: nobody would ask for it again. Cheap: messages are
    /// shared. None where somebody waits for the answer and asks again, and for what is sent again anyway.
    pub(crate) fn for_retry(&self) -> Option<Self> {
        Some(match self {
            Self::Bound(binding) => Self::Bound(binding.clone()),
            Self::Requests(messages) => Self::Requests(Arc::clone(messages)),
            Self::Decisions(messages) => Self::Decisions(Arc::clone(messages)),
            Self::Receipts(messages) => Self::Receipts(Arc::clone(messages)),
            Self::Hellos(messages) => Self::Hellos(Arc::clone(messages)),
            Self::Spans(messages) => Self::Spans(Arc::clone(messages)),
            Self::CaughtUp(reported) => Self::CaughtUp(reported.clone()),
            Self::Lagging => Self::Lagging,
            Self::ReportsKnown => Self::ReportsKnown,
            Self::ReadOnly(why) => Self::ReadOnly(why.clone()),
            Self::Late {
                decision_id,
                request,
            } => Self::Late {
                decision_id: *decision_id,
                request: *request,
            },
            Self::VoteEnded { vote_id, late } => Self::VoteEnded {
                vote_id: *vote_id,
                late: *late,
            },
            Self::Lost { decision_id } => Self::Lost {
                decision_id: *decision_id,
            },
            Self::TakeBack {
                decision_id,
                request,
                why,
            } => Self::TakeBack {
                decision_id: *decision_id,
                request: *request,
                why: why.clone(),
            },
            Self::Policy(row, entries) => Self::Policy(row.clone(), entries.clone()),
            Self::Anchored(anchor) => Self::Anchored(anchor.clone()),
            Self::InForce(fingerprint) => Self::InForce(fingerprint.clone()),
            Self::Alarm { code, subject } => Self::Alarm {
                code: *code,
                subject: subject.clone(),
            },
            Self::Unreadable { sender } => Self::Unreadable {
                sender: sender.clone(),
            },
            Self::LowerAlarm { code, subject } => Self::LowerAlarm {
                code: *code,
                subject: subject.clone(),
            },
            Self::Rescan => Self::Rescan,
            Self::Heartbeats(_)
            | Self::HelloBarrier
            | Self::Decide(..)
            | Self::Undo(..)
            | Self::Attempt { .. }
            | Self::Enroll { .. }
            | Self::Revoke { .. }
            | Self::AcknowledgeAlarm { .. }
            | Self::ChooseTypedTarget { .. }
            | Self::Record { .. }
            | Self::AnswersExported { .. }
            | Self::Recovered { .. }
            | Self::Remove { .. }
            | Self::Remember { .. }
            | Self::LearnAnew { .. }
            | Self::Note(..)
            | Self::Gate { .. }
            | Self::Examine(..)
            | Self::Index(..)
            | Self::Stop(_) => return None,
        })
    }

    /// Whether it carries a stream's messages.
    pub(crate) fn is_from_stream(&self) -> bool {
        matches!(
            self,
            Self::Requests(_)
                | Self::Decisions(_)
                | Self::Receipts(_)
                | Self::Hellos(_)
                | Self::Spans(_)
        )
    }
}
