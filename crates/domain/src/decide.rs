//! Whether an operator's verdict may be given.
//!
//! It denies a verdict on a request that is not pending, is past its deadline, is not the one that was shown, or whose
//! agent cannot honour the verdict.

use countersign_wire::{RequestKey, Verdict};

use super::{Fault, RequestRecord, State, Timestamp};

/// Whether the call surely does not go on after this verdict. An answer takes its place, and the approver to
/// whom it is escalated may allow it.
#[must_use]
pub fn ends_the_call(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Deny | Verdict::Terminate | Verdict::Skip)
}

/// Who decides: a person, or the console itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Authority {
    /// The operator, with the key of role `human`.
    Operator,
    /// The console, with the key of role `auto`.
    Console,
}

/// Why a verdict was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecideRefusal {
    /// Somebody, this console included, was first.
    #[error("it is already {0}")]
    AlreadyDecided(State),
    /// The deadline has passed by the server's time.
    #[error("its deadline has passed; the agent has gone on without it")]
    Expired,
    /// Rejected or void: nothing can be approved here.
    #[error("a request that is {0} cannot be decided")]
    NotApprovable(State),
    /// The agent cannot honour the verdict.
    #[error("this agent does not support {wanted}; it allows {allowed}")]
    VerdictNotAllowed {
        /// The verdict asked for.
        wanted: &'static str,
        /// The allowed ones, divided by commas.
        allowed: String,
    },
    /// A question or a form: an approval would answer nothing.
    #[error("it asks for an answer; give one with `countersign respond`")]
    AsksForAnswer,
    /// What was seen is not what is stored.
    #[error("the arguments that were seen ({seen}) are not the stored ones ({stored}); look again")]
    DigestDiffers {
        /// Digest that the operator saw.
        seen: String,
        /// Digest in the store.
        stored: String,
    },
    /// Another request was seen than is stored.
    #[error("the request that was shown is not the stored one; look at it again")]
    RequestDiffers,
    /// The operator has a limit.
    #[error(
        "your limits do not let you answer {verdict} to a request of risk {risk} in workspace {workspace}; deny it, or leave it to an operator who may"
    )]
    BeyondLimit {
        /// The verdict asked for.
        verdict: &'static str,
        /// The request's effective risk.
        risk: &'static str,
        /// The request's workspace.
        workspace: String,
    },
    /// The agent is stopped: its calls only end.
    #[error(
        "{by} stopped this agent, so its calls can only be denied, terminated or skipped; `countersign resume {agent}` resumes it"
    )]
    AgentStopped {
        /// `WS/AGENT`.
        agent: String,
        /// The operator's name.
        by: String,
    },
    /// A console's rule cannot replace several operators.
    #[error("it needs {0} operators to agree; a rule cannot replace them")]
    NeedsMoreOperators(u8),
    /// This operator has voted already.
    #[error(
        "you have voted on it already, and a vote cannot be changed; deny it, or wait for the other operators"
    )]
    AlreadyVoted,
    /// A message that does not verify is in the place of this operator's vote.
    #[error(
        "your vote on the bus does not verify, and a vote cannot be changed; deny it, or let the other operators agree"
    )]
    VoidVote,
}

impl DecideRefusal {
    /// As a fault that names the request and, where somebody was first, who that was.
    #[must_use]
    pub fn fault(&self, key: &RequestKey, who: &str) -> Fault {
        let message = format!("{key}: {self}");
        match self {
            Self::AlreadyDecided(state) => return already(key, *state, who),
            Self::Expired => return Fault::too_late(key),
            Self::AlreadyVoted => Fault::already_decided(message),
            Self::NotApprovable(_)
            | Self::VoidVote
            | Self::AgentStopped { .. }
            | Self::NeedsMoreOperators(_) => Fault::not_approvable(message),
            Self::VerdictNotAllowed { .. } | Self::AsksForAnswer | Self::BeyondLimit { .. } => {
                Fault::verdict_not_allowed(message)
            }
            Self::DigestDiffers { .. } | Self::RequestDiffers => Fault::digest_differs(message),
        }
        .about(key)
    }
}

/// Somebody was first: who, what and when.
#[must_use]
pub fn already(key: &RequestKey, state: State, who: &str) -> Fault {
    Fault::already_decided(format!("{key} is already {state}: {who}")).about(key)
}

/// Checks `wanted` against the request and gives the verdict to send. `seen` are the digests of the arguments and of the
/// request, where they were noted.
///
/// `terminate` falls back to `deny` where the agent cannot honour it (protocol, section 5).
///
/// # Errors
/// The first [`DecideRefusal`] that holds, state before everything else.
pub fn check_decide(
    request: &RequestRecord,
    wanted: Verdict,
    seen: (Option<&str>, Option<&str>),
    now: Timestamp,
) -> Result<Verdict, DecideRefusal> {
    match request.state {
        State::Pending if now < request.deadline_at => {}
        State::Pending | State::Expired => return Err(DecideRefusal::Expired),
        state @ (State::Rejected | State::Void) => return Err(DecideRefusal::NotApprovable(state)),
        state => return Err(DecideRefusal::AlreadyDecided(state)),
    }
    if let Some(seen) = seen.0 {
        let stored = request.args_digest.as_deref().unwrap_or("none");
        if seen != stored {
            return Err(DecideRefusal::DigestDiffers {
                seen: seen.to_owned(),
                stored: stored.to_owned(),
            });
        }
    }
    if seen.1.is_some_and(|seen| seen != request.request_digest) {
        return Err(DecideRefusal::RequestDiffers);
    }
    if wanted.lets_it_run() && !request.has_args {
        return Err(DecideRefusal::AsksForAnswer);
    }
    let verdict = match wanted {
        Verdict::Terminate if !request.allowed.contains(Verdict::Terminate) => Verdict::Deny,
        other => other,
    };
    if !request.allowed.contains(verdict) {
        return Err(DecideRefusal::VerdictNotAllowed {
            wanted: verdict.as_str(),
            allowed: request
                .allowed
                .iter()
                .map(Verdict::as_str)
                .collect::<Vec<_>>()
                .join(", "),
        });
    }
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delivery, is_vote};
    use countersign_wire::{Risk, VerdictSet};

    const SEEN: (Option<&str>, Option<&str>) = (Some("sha256:aa"), None);

    fn request() -> RequestRecord {
        RequestRecord {
            id: 1,
            key: "acme/bot/r1".parse().unwrap(),
            state: State::Pending,
            delivery: Delivery::Stored,
            risk: Risk::High,
            device_effects: None,
            args_digest: Some("sha256:aa".into()),
            request_digest: "sha256:bb".into(),
            allowed: VerdictSet::from_words(["approve", "modify"]),
            approvals_required: 1,
            approvals_needed: 1,
            stored_at: Timestamp(0),
            deadline_at: Timestamp(1_000),
            first_deadline_at: Timestamp(1_000),
            tightened_at: None,
            withdrawn_at: None,
            has_args: true,
            refused_here: false,
            no_request: false,
        }
    }

    #[test]
    fn a_pending_request_before_its_deadline_takes_an_allowed_verdict() {
        let now = Timestamp(999);
        for verdict in [Verdict::Approve, Verdict::Modify, Verdict::Deny] {
            assert_eq!(check_decide(&request(), verdict, SEEN, now), Ok(verdict));
        }
    }

    #[test]
    fn a_question_is_answered_and_never_approved_though_its_agent_allows_it() {
        let question = RequestRecord {
            has_args: false,
            ..request()
        };
        for (verdict, taken) in [
            (Verdict::Approve, Err(DecideRefusal::AsksForAnswer)),
            (Verdict::Modify, Err(DecideRefusal::AsksForAnswer)),
            (Verdict::Deny, Ok(Verdict::Deny)),
        ] {
            assert_eq!(check_decide(&question, verdict, SEEN, Timestamp(0)), taken);
        }
    }

    #[test]
    fn the_deadline_itself_is_too_late_for_every_verdict() {
        for verdict in [Verdict::Approve, Verdict::Deny] {
            assert_eq!(
                check_decide(&request(), verdict, SEEN, Timestamp(1_000)),
                Err(DecideRefusal::Expired)
            );
        }
    }

    #[test]
    fn other_arguments_than_were_seen_and_another_request_are_refused() {
        let given = |args, request_digest| {
            let seen = (Some(args), Some(request_digest));
            check_decide(&request(), Verdict::Approve, seen, Timestamp(0))
        };
        let other_args = given("sha256:cc", "sha256:bb");
        assert!(matches!(
            other_args,
            Err(DecideRefusal::DigestDiffers { .. })
        ));
        let other_request = given("sha256:aa", "sha256:cc");
        assert_eq!(other_request, Err(DecideRefusal::RequestDiffers));
        assert_eq!(given("sha256:aa", "sha256:bb"), Ok(Verdict::Approve));
    }

    #[test]
    fn terminate_falls_back_to_deny_and_nothing_else_falls_back() {
        let now = Timestamp(0);
        assert_eq!(
            check_decide(&request(), Verdict::Terminate, (None, None), now),
            Ok(Verdict::Deny)
        );
        for verdict in [Verdict::Skip, Verdict::Respond, Verdict::Escalate] {
            assert!(matches!(
                check_decide(&request(), verdict, (None, None), now),
                Err(DecideRefusal::VerdictNotAllowed { .. })
            ));
        }
    }

    #[test]
    fn every_state_but_pending_refuses_with_its_own_reason() {
        let table = [
            (
                State::Holding,
                DecideRefusal::AlreadyDecided(State::Holding),
            ),
            (State::Queued, DecideRefusal::AlreadyDecided(State::Queued)),
            (
                State::Decided,
                DecideRefusal::AlreadyDecided(State::Decided),
            ),
            (
                State::Withdrawn,
                DecideRefusal::AlreadyDecided(State::Withdrawn),
            ),
            (State::Expired, DecideRefusal::Expired),
            (
                State::Rejected,
                DecideRefusal::NotApprovable(State::Rejected),
            ),
            (State::Void, DecideRefusal::NotApprovable(State::Void)),
        ];
        for (state, reason) in table {
            let request = RequestRecord { state, ..request() };
            let refused = check_decide(&request, Verdict::Approve, (None, None), Timestamp(0));
            assert_eq!(refused, Err(reason), "{state}");
        }
    }

    #[test]
    fn a_verdict_ends_the_call_or_may_let_the_agent_go_on() {
        use Verdict::{Approve, Deny, Escalate, Modify, Respond, Skip, Terminate};
        for (verdict, ends) in [
            (Approve, false),
            (Modify, false),
            (Respond, false),
            (Escalate, false),
            (Deny, true),
            (Terminate, true),
            (Skip, true),
        ] {
            assert_eq!(ends_the_call(verdict), ends, "{verdict}");
            assert!(!(ends && verdict.lets_it_run()), "{verdict}");
        }
    }

    #[test]
    fn an_approval_of_several_operators_is_a_vote_and_a_deny_is_not() {
        let one = request();
        let several = RequestRecord {
            approvals_needed: 2,
            ..request()
        };
        let (operator, console) = (Authority::Operator, Authority::Console);
        for verdict in [Verdict::Approve, Verdict::Modify] {
            assert_eq!(is_vote(&one, verdict, operator), Ok(false));
            assert_eq!(is_vote(&one, verdict, console), Ok(false));
            assert_eq!(is_vote(&several, verdict, operator), Ok(true));
            assert_eq!(
                is_vote(&several, verdict, console),
                Err(DecideRefusal::NeedsMoreOperators(2))
            );
        }
        for authority in [operator, console] {
            assert_eq!(is_vote(&several, Verdict::Deny, authority), Ok(false));
        }
    }
}
