//! The answer, as the agent may use it.
//!
//! Only approved arguments are handed out.

use std::fmt;

use countersign_wire::{
    ApprovalDecision, DecidedBy, DecisionFault, DecisionVerdict, Origin, RequestKey, Response,
    RuleRef, Sha256Digest, Stage, VerifiedDecision,
};
use serde_json::Value;
use time::OffsetDateTime;

use crate::GateError;
use crate::judge::{Asked, StoredMessage, claimed_id};
use crate::receipts::{Receipts, Report};

/// The answer to one request. Only [`allowed`](Self::allowed) says that the call may
/// run, and then only with [`args`](Self::args).
pub struct Decision {
    request: RequestKey,
    verdict: DecisionVerdict,
    fault: Option<DecisionFault>,
    // As they were asked, where the decision lets exactly these run.
    args: Option<Value>,
    args_digest: Option<Sha256Digest>,
    // Where nothing that counts is stored; a decision brings its own.
    message: Option<String>,
    unread: Option<GateError>,
    signed: Option<Box<ApprovalDecision>>,
    stored: Option<(OffsetDateTime, u64)>,
    decision_id: Option<String>,
    proof: Option<Box<Proof>>,
    pub(crate) receipts: Receipts,
}

/// The stored message of a decision that counts: what its signature is about.
#[derive(Clone, PartialEq, Eq)]
pub struct Proof {
    /// The subject that it is stored on.
    pub subject: String,
    /// Its bytes, which are text.
    pub payload: String,
    /// Who signed: the header `CS-Key`.
    pub key: String,
    /// The signature: the header `CS-Sig`.
    pub sig: String,
}

impl Proof {
    fn of(stored: &StoredMessage) -> Option<Self> {
        Some(Self {
            subject: stored.subject.clone(),
            payload: String::from_utf8(stored.payload.to_vec()).ok()?,
            key: stored.key_header.clone()?,
            sig: stored.sig_header.clone()?,
        })
    }
}

impl Decision {
    /// Nobody answered, or the agent took the question back.
    pub(crate) fn unanswered(
        request: RequestKey,
        verdict: DecisionVerdict,
        message: Option<String>,
        receipts: Receipts,
    ) -> Self {
        Self {
            request,
            verdict,
            fault: None,
            args: None,
            args_digest: None,
            message,
            unread: None,
            signed: None,
            stored: None,
            decision_id: None,
            proof: None,
            receipts,
        }
    }

    /// The same where the bus could not be read at the deadline.
    pub(crate) fn unread_for(self, why: Option<GateError>) -> Self {
        Self {
            unread: why,
            ..self
        }
    }

    /// A stored decision that does not count: late reads as expired, void as denied.
    pub(crate) fn faulty(
        request: RequestKey,
        fault: DecisionFault,
        stored: &StoredMessage,
        decision_id: String,
        receipts: Receipts,
    ) -> Self {
        let verdict = match fault {
            DecisionFault::Late => DecisionVerdict::Expired,
            _ => DecisionVerdict::Deny,
        };
        Self {
            fault: Some(fault),
            stored: Some((stored.stored_at, stored.sequence)),
            decision_id: Some(decision_id),
            ..Self::unanswered(request, verdict, Some(fault.to_string()), receipts)
        }
    }

    /// A valid decision.
    pub(crate) fn standing(
        asked: &Asked,
        verified: VerifiedDecision,
        stored: &StoredMessage,
        receipts: Receipts,
    ) -> Self {
        let decision = verified.decision;
        let (args, args_digest) = match decision.verdict {
            DecisionVerdict::Approve => (asked.args.clone(), asked.args_digest),
            DecisionVerdict::Modify => (None, decision.args_digest),
            _ => (None, None),
        };
        Self {
            request: asked.key.clone(),
            verdict: match &decision.verdict {
                DecisionVerdict::Other(_) => DecisionVerdict::Deny,
                known => known.clone(),
            },
            fault: None,
            args,
            args_digest,
            message: None,
            unread: None,
            stored: Some((stored.stored_at, stored.sequence)),
            decision_id: Some(claimed_id(&stored.payload)),
            signed: Some(Box::new(decision)),
            proof: Proof::of(stored).map(Box::new),
            receipts,
        }
    }

    /// Whether the call may run, with [`args`](Self::args) and nothing else.
    pub fn allowed(&self) -> bool {
        self.args().is_some()
    }

    /// The arguments that may run; none unless it is allowed. Their digest is that of the decision.
    pub fn args(&self) -> Option<&Value> {
        match self.verdict {
            DecisionVerdict::Approve => self.args.as_ref(),
            DecisionVerdict::Modify => self.signed()?.edited_args.as_ref(),
            _ => None,
        }
    }

    /// The digest of [`args`](Self::args).
    pub fn args_digest(&self) -> Option<Sha256Digest> {
        self.args_digest
    }

    /// What was decided. `expired` is silence, and no refusal; a word that this
    /// version does not know, and a stored decision that does not verify, read `deny`.
    pub fn verdict(&self) -> &DecisionVerdict {
        &self.verdict
    }

    /// Why the stored decision does not count; none if it does or nothing is stored.
    pub fn fault(&self) -> Option<DecisionFault> {
        self.fault
    }

    /// Why the bus could not be read at the deadline: an `expired` that this client concluded alone. Somebody may have
    /// answered in time; the call must not run all the same.
    pub fn unread(&self) -> Option<&GateError> {
        self.unread.as_ref()
    }

    /// For the agent: why, or what to do instead.
    pub fn message(&self) -> Option<&str> {
        match self.signed() {
            Some(signed) => signed.message.as_deref(),
            None => self.message.as_deref(),
        }
    }

    /// The answer to a question or a form (`respond`). The console checks a form's
    /// answer against its schema; the agent reads it as untrusted input all the same.
    pub fn response(&self) -> Option<&Response> {
        self.signed()?.response.as_ref()
    }

    /// Who decided; none if no decision that counts is stored.
    pub fn decided_by(&self) -> Option<&DecidedBy> {
        self.signed().map(|signed| &signed.decided_by)
    }

    /// What kind of thing decided: an operator, a rule, a setup key, the deadline.
    pub fn origin(&self) -> Option<Origin> {
        self.signed().map(|signed| signed.origin)
    }

    /// The rule that decided, for `rule` and `setup_key`.
    pub fn rule(&self) -> Option<&RuleRef> {
        self.signed()?.rule.as_ref()
    }

    /// The decision as it was signed and stored, after every check; none if none counts. Its words are
    /// those of the wire: whether the call may run is for [`allowed`](Self::allowed) to say.
    pub fn signed(&self) -> Option<&ApprovalDecision> {
        self.signed.as_deref()
    }

    /// The stored message itself, for whoever verifies it again; none if none counts.
    pub fn proof(&self) -> Option<&Proof> {
        self.proof.as_deref()
    }

    /// The server's time stamp of the stored decision.
    pub fn stored_at(&self) -> Option<OffsetDateTime> {
        self.stored.map(|(at, _)| at)
    }

    /// Its sequence in the stream of decisions.
    pub fn sequence(&self) -> Option<u64> {
        self.stored.map(|(_, sequence)| sequence)
    }

    /// The decision's id; none if nothing is stored.
    pub fn decision_id(&self) -> Option<&str> {
        self.decision_id.as_deref()
    }

    /// The request that it answers.
    pub fn request(&self) -> &RequestKey {
        &self.request
    }

    /// Reports that the call ran with these arguments.
    ///
    /// Returns when the bus has the receipt. Errors: `no_decision`, `bus_unreachable` (the
    /// receipt is tried again in the background), `invalid_request` where the arguments have no digest.
    pub async fn executed(&self, args: &Value) -> Result<(), GateError> {
        self.executed_degraded(args, []).await
    }

    /// As [`executed`](Self::executed), naming what the agent could not honour.
    pub async fn executed_degraded(
        &self,
        args: &Value,
        degraded: impl IntoIterator<Item = String>,
    ) -> Result<(), GateError> {
        self.receipts.executed_degraded(args, degraded).await
    }

    /// Reports that the call ran and failed. Errors as [`executed`](Self::executed).
    pub async fn failed(&self, message: impl Into<String>) -> Result<(), GateError> {
        let report = Report {
            digest: self.args_digest,
            ..Report::saying(Stage::Failed, message)
        };
        self.receipts.send(report).await
    }

    /// Reports that nobody will learn what became of the call. Errors as [`executed`](Self::executed).
    pub async fn unreported(&self) -> Result<(), GateError> {
        let report = Report {
            degraded: vec!["no_execution_report".to_owned()],
            ..Report::stage(Stage::Received)
        };
        self.receipts.send(report).await
    }

    /// Reports that the agent does not do what was decided. Errors as [`executed`](Self::executed).
    pub async fn refused(&self, message: impl Into<String>) -> Result<(), GateError> {
        let report = Report::saying(Stage::Refused, message);
        self.receipts.send(report).await
    }
}

impl fmt::Debug for Decision {
    /// Without arguments and answers: they may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decision")
            .field("request", &self.request.to_string())
            .field("verdict", &self.verdict)
            .field("fault", &self.fault)
            .field("args_digest", &self.args_digest)
            .field("origin", &self.origin())
            .field("stored", &self.stored)
            .finish_non_exhaustive()
    }
}
