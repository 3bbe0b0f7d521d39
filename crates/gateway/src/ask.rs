//! One ask from its first byte to its receipt: what may happen to it, and when. Pure: no I/O, no clock.
//!
//! A call runs when [`Ask::claim`] says so and what it changed is on the disk, and that is once.

use countersign_wire::{AgentKey, DecidedBy, RequestId, RequestKind, Sha256Digest, Stage};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fault::{self, Fault};
use crate::moment::Moment;

/// How long an answer can be claimed, at least, in seconds.
const CLAIM_FOR: f64 = 300.0;
/// How long a claim with a key is answered again.
const REPLAY_FOR: f64 = 60.0;
/// How long a key stays taken after the ask's `claim_until`.
const KEY_FOR: f64 = 24.0 * 3600.0;

/// What DIR keeps of an ask. `seq` counts its writings: 0 is not on the disk.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(crate) seq: u64,
    pub(crate) realm: Uuid,
    pub(crate) agent: AgentKey,
    pub(crate) id: RequestId,
    /// The SHA-256 of its idempotency key.
    pub(crate) key: Sha256Digest,
    /// What another ask of this key must have in common with it.
    pub(crate) about: Sha256Digest,
    pub(crate) kind: RequestKind,
    pub(crate) tool: Option<String>,
    pub(crate) args_digest: Option<Sha256Digest>,
    pub(crate) reports: bool,
    pub(crate) callback: Option<Callback>,
    /// Seconds.
    pub(crate) lifetime: f64,
    pub(crate) asked: Moment,
    /// The bytes that are published; none once nothing needs them.
    pub(crate) request: Option<String>,
    pub(crate) answer: Option<Answer>,
    pub(crate) end: Option<End>,
    pub(crate) claim: Option<Claim>,
    pub(crate) receipt: Option<Report>,
}

/// Who wants to hear that the ask does not wait any more.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Callback {
    pub(crate) url: String,
    /// Of the token that asked.
    pub(crate) token: Sha256Digest,
    pub(crate) over: bool,
}

/// What the gateway read on the bus, after every check.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) at: Moment,
    /// Whether the call may run, with `args` and nothing else.
    pub(crate) run: bool,
    pub(crate) verdict: String,
    /// Null is a value.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) args: Option<Value>,
    pub(crate) args_digest: Option<Sha256Digest>,
    pub(crate) response: Option<Value>,
    pub(crate) text: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) decided_by: Option<DecidedBy>,
    pub(crate) decision_id: Option<String>,
    pub(crate) fault: Option<String>,
    pub(crate) proof: Option<ProofOfAnswer>,
}

/// As it is, where it is there.
pub(crate) fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// The stored decision: `sig` is the signature of `key` over realm, `subject` and `payload`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Proof")]
pub(crate) struct ProofOfAnswer {
    pub(crate) subject: String,
    pub(crate) payload: String,
    pub(crate) key: String,
    pub(crate) sig: String,
}

/// Why nobody can claim an ask, and the words for that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) state: State,
    pub(crate) text: String,
    pub(crate) message: Option<String>,
}

/// The answer was taken.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Claim {
    pub(crate) at: Moment,
    /// The SHA-256 of its idempotency key.
    pub(crate) key: Option<Sha256Digest>,
}

/// A receipt that the bus is to have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) stage: Stage,
    pub(crate) digest: Option<Sha256Digest>,
    pub(crate) message: Option<String>,
    pub(crate) sent: bool,
}

/// Where an ask is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// Nobody has answered.
    Waiting,
    /// An answer can be claimed.
    Answered,
    /// The answer was taken.
    Claimed,
    /// Nobody answered in time, or nobody claimed the answer in time.
    Expired,
    /// The agent took it back.
    Withdrawn,
    /// The bus or the console does not take it.
    Rejected,
}

countersign_wire::words!(State {
    Waiting => "waiting", Answered => "answered", Claimed => "claimed", Expired => "expired",
    Withdrawn => "withdrawn", Rejected => "rejected",
});

/// What a claim gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// The call may run, once the change is on the disk.
    Run,
    /// The same answer again, to the claim that took it.
    Replayed,
    /// A person's answer to a question or a form.
    Response,
    /// The call must not run.
    Refused,
}

/// How a change must be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Nothing changed.
    Nothing,
    /// The bus has it too.
    Written,
    /// On the disk before anybody learns it.
    Flushed,
}

impl Ask {
    /// Where it is at this moment.
    pub(crate) fn state(&self, now: &Moment) -> State {
        match (&self.claim, &self.end, &self.answer) {
            (Some(_), ..) => State::Claimed,
            (None, Some(end), _) => end.state,
            (None, None, Some(_)) if !self.can_be_claimed(now) => State::Expired,
            (None, None, Some(_)) => State::Answered,
            (None, None, None) => State::Waiting,
        }
    }

    /// Seconds that its own timer has run; all of them where a clock went back.
    pub(crate) fn passed(&self, now: &Moment) -> f64 {
        let passed = now.since(&self.asked).unwrap_or(self.lifetime);
        passed.min(self.lifetime)
    }

    /// The deadline, or some time after the answer: after `asked`, in seconds.
    pub(crate) fn claim_until(&self) -> f64 {
        let answered = self
            .answer
            .as_ref()
            .and_then(|answer| answer.at.since(&self.asked));
        answered.map_or(self.lifetime, |at| self.lifetime.max(at + CLAIM_FOR))
    }

    /// In doubt about the time it cannot.
    fn can_be_claimed(&self, now: &Moment) -> bool {
        let within = |from: &Moment, limit| now.since(from).is_some_and(|passed| passed < limit);
        let answer = self.answer.as_ref();
        within(&self.asked, self.lifetime) || answer.is_some_and(|of| within(&of.at, CLAIM_FOR))
    }

    /// Whether its key is free again and the bus has its receipt. In doubt about the time it is not.
    pub(crate) fn is_old(&self, now: &Moment) -> bool {
        let passed = now.since(&self.asked);
        let sent = self.receipt.as_ref().is_none_or(|report| report.sent);
        sent && passed.is_some_and(|passed| passed > self.claim_until() + KEY_FOR)
    }

    /// An answer, or the news that none comes. What comes after the end changes nothing; an approval that crossed a
    /// withdrawal gets its receipt.
    pub(crate) fn answered(&mut self, answer: Answer) -> Keep {
        let withdrawn = self
            .end
            .as_ref()
            .is_some_and(|end| end.state == State::Withdrawn);
        if withdrawn && self.answer.is_none() && answer.run {
            self.answer = Some(Answer {
                args: None,
                proof: None,
                ..answer
            });
            self.give_up("withdrawn");
            return Keep::Flushed;
        }
        if self.end.is_some() || self.answer.is_some() {
            return Keep::Nothing;
        }
        let end = match answer.verdict.as_str() {
            "expired" => State::Expired,
            "withdrawn" => State::Withdrawn,
            "rejected" => State::Rejected,
            _ => {
                self.answer = Some(answer);
                return Keep::Written;
            }
        };
        self.end(end, answer.text.unwrap_or_default(), answer.message);
        Keep::Flushed
    }

    fn end(&mut self, state: State, text: String, message: Option<String>) {
        self.end = Some(End {
            state,
            text,
            message,
        });
    }

    /// Takes the answer. `key` is that of the claim.
    pub(crate) fn claim(
        &mut self,
        key: Option<Sha256Digest>,
        now: &Moment,
    ) -> Result<(Claimed, Keep), Fault> {
        // Whoever asks with the same key would be the same claimer: a script that is run twice.
        let key = key.filter(|key| *key != self.key);
        let outcome = |answer: &Answer, kind| match answer {
            of if of.run => Claimed::Run,
            of if of.verdict == "respond" && kind != RequestKind::ToolCall => Claimed::Response,
            _ => Claimed::Refused,
        };
        match (&self.claim, &self.end, &self.answer) {
            (Some(_), _, Some(answer)) if !answer.run => {
                Ok((outcome(answer, self.kind), Keep::Nothing))
            }
            (Some(claim), ..) if self.is_replayed(claim, key, now) => {
                Ok((Claimed::Replayed, Keep::Nothing))
            }
            (Some(_), ..) => Err(fault::already_claimed()),
            (None, Some(_), _) => Ok((Claimed::Refused, Keep::Nothing)),
            (None, None, None) => Err(fault::not_answered()),
            (None, None, Some(_)) if !self.can_be_claimed(now) => {
                Ok((Claimed::Refused, self.expire(now)))
            }
            (None, None, Some(answer)) => {
                let outcome = outcome(answer, self.kind);
                self.claim = Some(Claim {
                    at: now.clone(),
                    key,
                });
                Ok((outcome, Keep::Flushed))
            }
        }
    }

    fn is_replayed(&self, claim: &Claim, key: Option<Sha256Digest>, now: &Moment) -> bool {
        let in_time = now
            .since(&claim.at)
            .is_some_and(|passed| passed <= REPLAY_FOR);
        let same = key.is_some() && key == claim.key && now.boot == claim.at.boot;
        let whole = self.request.is_some() && self.receipt.is_none();
        same && in_time && whole && !now.is_set_back_since(&claim.at)
    }

    /// Takes it back: nothing of it runs after this.
    pub(crate) fn withdraw(&mut self, reason: Option<String>) -> Result<Keep, Fault> {
        if self.claim.is_some() {
            return Err(fault::already_claimed());
        }
        if self.end.is_some() {
            return Ok(Keep::Nothing);
        }
        let text = format!(
            "{} was not run, withdrawn before anybody claimed it",
            self.name()
        );
        self.end(State::Withdrawn, text, reason);
        self.give_up("withdrawn");
        Ok(Keep::Flushed)
    }

    /// Ends an answer that nobody claimed in time.
    pub(crate) fn expire(&mut self, now: &Moment) -> Keep {
        let open = self.claim.is_none() && self.end.is_none();
        if !open || self.answer.is_none() || self.can_be_claimed(now) {
            return Keep::Nothing;
        }
        let text = format!(
            "{} was not run, expired: nobody claimed the answer in time",
            self.name()
        );
        self.end(State::Expired, text, None);
        self.give_up("not_claimed");
        Keep::Flushed
    }

    /// The console takes an agent that is silent about an approval for one that hangs.
    fn give_up(&mut self, why: &str) {
        if self.answer.as_ref().is_some_and(|answer| answer.run) {
            self.receipt = Some(Report {
                stage: Stage::Refused,
                digest: None,
                message: Some(why.to_owned()),
                sent: false,
            });
        }
    }

    /// What became of a claimed call.
    pub(crate) fn report(&mut self, report: Report) -> Result<Keep, Fault> {
        let may_run = self.answer.as_ref().is_some_and(|answer| answer.run);
        match &self.receipt {
            _ if self.claim.is_none() || !may_run => Err(fault::not_claimed()),
            Some(made) if made.stage == report.stage => Ok(Keep::Nothing),
            Some(_) => Err(fault::already_reported()),
            None => {
                self.receipt = Some(report);
                Ok(Keep::Flushed)
            }
        }
    }

    /// The bus has the receipt, or will never take it.
    pub(crate) fn reported(&mut self) -> Keep {
        match &mut self.receipt {
            Some(report) if !report.sent => {
                report.sent = true;
                Keep::Written
            }
            _ => Keep::Nothing,
        }
    }

    /// Nobody is called back any more.
    pub(crate) fn called_back(&mut self) -> Keep {
        match &mut self.callback {
            Some(callback) if !callback.over => {
                callback.over = true;
                Keep::Written
            }
            _ => Keep::Nothing,
        }
    }

    /// Drops arguments that nothing needs any more.
    pub(crate) fn forget(&mut self, now: &Moment) -> Keep {
        let over = match (&self.claim, &self.end) {
            (Some(claim), _) => !self.is_replayed(claim, claim.key, now),
            // A withdrawal is repeated after a restart while its card may be open.
            (None, Some(_)) => self.passed(now) >= self.lifetime,
            (None, None) => false,
        };
        if !over || self.request.is_none() {
            return Keep::Nothing;
        }
        self.request = None;
        if let Some(answer) = self.answer.as_mut().filter(|answer| answer.run) {
            (answer.args, answer.proof) = (None, None);
        }
        Keep::Flushed
    }

    /// What a refusal calls it.
    pub(crate) fn name(&self) -> &str {
        self.tool.as_deref().unwrap_or(self.kind.as_str())
    }
}

#[cfg(test)]
mod tests;
