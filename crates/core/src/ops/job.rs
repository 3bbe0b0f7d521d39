//! Jobs of the one writer.

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_scrutiny::{Code, Finding, Weight};
use countersign_wire::{
    Origin, RequestKey, Response, Risk, RuleRef, Scope, Sha256Digest, Stream, Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::hello_barrier::HelloBarrier;
use super::incoming::{
    IncomingDecision, IncomingHello, IncomingReceipt, IncomingRequest, IncomingSpan,
};
use super::publisher::Settled;
use super::writer_state::{Tx, WriterState};
use crate::domain::haste::InFront;
use crate::domain::{Authority, DecideRefusal, Timestamp};
use crate::store::StoreError;

/// A verdict to be given.
#[derive(Debug, Clone)]
pub struct DecideCommand {
    /// On which request.
    pub key: RequestKey,
    /// Which verdict.
    pub verdict: Verdict,
    /// Digest of the arguments that were seen; refused when the stored one differs.
    pub seen_args_digest: Option<String>,
    /// Digest of the whole request that was seen; refused when the stored one differs.
    pub seen_request_digest: Option<String>,
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
            seen_request_digest: None,
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
    /// Digest of the realm log's entry 1.
    pub(crate) root: Sha256Digest,
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

impl BusBinding {
    /// Epoch of a stream; empty where it has none.
    pub(crate) fn epoch(&self, stream: Stream) -> String {
        self.epochs.get(stream.name()).cloned().unwrap_or_default()
    }
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

/// Something to do in a transaction, once.
type Once = Box<dyn FnOnce(&mut WriterState, &mut Tx<'_>) -> Result<(), StoreError> + Send>;
/// Something to do in a transaction, as often as it fails.
pub(crate) type Again =
    Arc<dyn Fn(&mut WriterState, &mut Tx<'_>) -> Result<(), StoreError> + Send + Sync>;

/// One thing to do. Messages of one stream come in its order.
pub(crate) enum Job {
    Requests(Arc<Vec<IncomingRequest>>),
    Decisions(Arc<Vec<IncomingDecision>>),
    Receipts(Arc<Vec<IncomingReceipt>>),
    Hellos(Arc<Vec<IncomingHello>>),
    Spans(Arc<Vec<IncomingSpan>>),
    /// The connection was lost: what the streams hold is not known until they are read again.
    Lagging,
    /// Verdicts that follow one another are judged together.
    Decide(Box<DecideCommand>, DecideReply),
    /// Somebody waits for the answer, and asks again where it fails.
    Asked(Once),
    /// Must not be lost when the store fails: nobody would ask for it again.
    Kept(Again),
    /// May be lost when the store fails: it comes again.
    Passing(Once),
    /// Another process may have written: look for what it left in the outbox.
    Rescan,
    /// Drop holds and stop; answered when all is committed.
    Stop(oneshot::Sender<()>),
}

impl Job {
    /// A job with an answer, and where the answer comes once it is durable; nothing comes of a transaction that failed.
    pub(crate) fn asked<T: Send + 'static>(
        work: impl FnOnce(&mut WriterState, &mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> (Self, oneshot::Receiver<T>) {
        let (done, answer) = oneshot::channel();
        let asked = Self::Asked(Box::new(move |writer, batch| {
            let found = work(writer, batch)?;
            batch.answer(done, found);
            Ok(())
        }));
        (asked, answer)
    }

    /// See [`Job::Kept`].
    pub(crate) fn kept(
        work: impl Fn(&mut WriterState, &mut Tx<'_>) -> Result<(), StoreError> + Send + Sync + 'static,
    ) -> Self {
        Self::Kept(Arc::new(work))
    }

    /// See [`Job::Passing`].
    pub(crate) fn passing(
        work: impl FnOnce(&mut WriterState, &mut Tx<'_>) -> Result<(), StoreError> + Send + 'static,
    ) -> Self {
        Self::Passing(Box::new(work))
    }

    /// How many messages of a stream it brings; none for what nobody holds up.
    pub(crate) fn messages(&self) -> Option<usize> {
        match self {
            Self::Requests(messages) => Some(messages.len()),
            Self::Decisions(messages) => Some(messages.len()),
            Self::Receipts(messages) => Some(messages.len()),
            _ => None,
        }
    }

    /// Whether a person waits for it, who gave a verdict.
    pub(crate) fn is_verdict(&self) -> bool {
        matches!(self, Self::Decide(..))
    }

    /// Whether somebody waits for its answer, and asks again when it fails.
    pub(crate) fn is_awaited(&self) -> bool {
        matches!(self, Self::Decide(..) | Self::Asked(_) | Self::Stop(_))
    }

    /// A copy of a job that must not be lost when the store fails. Cheap: what it holds is shared.
    pub(crate) fn for_backlog(&self) -> Option<Self> {
        Some(match self {
            Self::Requests(messages) => Self::Requests(Arc::clone(messages)),
            Self::Decisions(messages) => Self::Decisions(Arc::clone(messages)),
            Self::Receipts(messages) => Self::Receipts(Arc::clone(messages)),
            Self::Hellos(messages) => Self::Hellos(Arc::clone(messages)),
            Self::Spans(messages) => Self::Spans(Arc::clone(messages)),
            Self::Lagging => Self::Lagging,
            Self::Kept(work) => Self::Kept(Arc::clone(work)),
            Self::Rescan => Self::Rescan,
            Self::Decide(..) | Self::Asked(_) | Self::Passing(_) | Self::Stop(_) => return None,
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
