//! Whether what an agent ran is what was decided.
//!
//! The order of arrival proves nothing: receipts and decisions come on two streams, and only the server's stamps and
//! the decision that a receipt names show which was first.

use super::Timestamp;

/// Something that ran and must not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Incident {
    /// It ran before anything was decided, nothing ever was, or it names a decision other than the valid one.
    WithoutDecision,
    /// It ran although the valid decision does not permit it.
    WithoutApproval,
    /// It ran with other arguments than were decided.
    DigestDiffers,
}

/// All incidents.
pub const INCIDENTS: [Incident; 3] = [
    Incident::WithoutDecision,
    Incident::WithoutApproval,
    Incident::DigestDiffers,
];

impl Incident {
    /// The code of its alarm.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::WithoutDecision => "executed_without_decision",
            Self::WithoutApproval => "executed_without_approval",
            Self::DigestDiffers => "executed_digest_differs",
        }
    }

    /// The incident of an alarm's code.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        INCIDENTS
            .into_iter()
            .find(|incident| incident.code() == code)
    }
}

/// An agent's word that the call ran, whether it succeeded or failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execution<'a> {
    /// The decision that it names.
    pub decision_id: &'a str,
    /// Digest of what ran, where it says so.
    pub ran: Option<&'a str>,
    /// The server's stamp of the receipt.
    pub at: Timestamp,
}

/// The decision that is stored for the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecisionInForce<'a> {
    /// Its id, where it has a readable one.
    pub decision_id: Option<&'a str>,
    /// How it reads everywhere; none while its request is not known here.
    pub effective: Option<&'a str>,
    /// Digest of the arguments that may run.
    pub args_digest: Option<&'a str>,
    /// The server's stamp.
    pub stored_at: Timestamp,
}

/// What is wrong with an execution, given the valid decision.
///
/// Without a decision the answer is only as good as the knowledge that none is stored: the caller waits until the
/// stream of decisions was read far enough. `respond` and `escalate` hand the call back to the agent, so what it then
/// does is not checked here.
#[must_use]
pub fn incident(
    execution: &Execution<'_>,
    standing: Option<&DecisionInForce<'_>>,
) -> Option<Incident> {
    let Some(standing) = standing else {
        return Some(Incident::WithoutDecision);
    };
    // Nobody can name a decision before it is made: its id is random.
    let named = standing.decision_id == Some(execution.decision_id);
    if !named && execution.at < standing.stored_at {
        return Some(Incident::WithoutDecision);
    }
    match standing.effective {
        // A decision has one id for ever, so whoever obeys this one names it.
        Some("approve" | "modify") if !named => Some(Incident::WithoutDecision),
        Some("approve" | "modify") => match (standing.args_digest, execution.ran) {
            (Some(allowed), Some(ran)) if allowed != ran => Some(Incident::DigestDiffers),
            _ => None,
        },
        Some("respond" | "escalate") | None => None,
        Some(_) => Some(Incident::WithoutApproval),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(effective: &'static str) -> DecisionInForce<'static> {
        DecisionInForce {
            decision_id: Some("d"),
            effective: Some(effective),
            args_digest: Some("sha256:aa"),
            stored_at: Timestamp(100),
        }
    }

    fn ran(decision_id: &'static str, digest: &'static str, at: i64) -> Execution<'static> {
        Execution {
            decision_id,
            ran: Some(digest),
            at: Timestamp(at),
        }
    }

    #[test]
    fn what_was_decided_may_run_and_nothing_else_may() {
        use Incident::{DigestDiffers, WithoutApproval};
        let table = [
            ("approve", "sha256:aa", None),
            ("approve", "sha256:bb", Some(DigestDiffers)),
            ("modify", "sha256:aa", None),
            ("modify", "sha256:bb", Some(DigestDiffers)),
            ("respond", "sha256:bb", None),
            ("escalate", "sha256:bb", None),
            ("deny", "sha256:aa", Some(WithoutApproval)),
            ("skip", "sha256:aa", Some(WithoutApproval)),
            ("terminate", "sha256:aa", Some(WithoutApproval)),
            ("expired", "sha256:aa", Some(WithoutApproval)),
            ("withdrawn", "sha256:aa", Some(WithoutApproval)),
            ("rejected", "sha256:aa", Some(WithoutApproval)),
            ("void", "sha256:aa", Some(WithoutApproval)),
        ];
        for (effective, digest, expected) in table {
            let standing = standing(effective);
            for at in [99, 100, 101] {
                assert_eq!(
                    incident(&ran("d", digest, at), Some(&standing)),
                    expected,
                    "{effective} {digest} at {at}"
                );
            }
        }
    }

    #[test]
    fn an_execution_before_the_decision_is_one_without() {
        let approved = standing("approve");
        let early = ran("another", "sha256:aa", 99);
        assert_eq!(
            incident(&early, Some(&approved)),
            Some(Incident::WithoutDecision)
        );
        assert_eq!(incident(&early, None), Some(Incident::WithoutDecision));
        let after = ran("another", "sha256:aa", 100);
        let unknown = DecisionInForce {
            effective: None,
            ..approved
        };
        assert_eq!(incident(&after, Some(&unknown)), None);
        assert_eq!(
            incident(&early, Some(&unknown)),
            Some(Incident::WithoutDecision)
        );
    }

    #[test]
    fn an_execution_that_names_another_decision_than_the_approval_is_one_without() {
        use Incident::{WithoutApproval, WithoutDecision};
        for (effective, found) in [
            ("approve", Some(WithoutDecision)),
            ("modify", Some(WithoutDecision)),
            ("deny", Some(WithoutApproval)),
            ("expired", Some(WithoutApproval)),
            ("respond", None),
            ("escalate", None),
        ] {
            for digest in ["sha256:aa", "sha256:bb"] {
                let after = ran("another", digest, 101);
                assert_eq!(incident(&after, Some(&standing(effective))), found);
            }
        }
    }

    #[test]
    fn a_receipt_that_names_no_digest_is_believed() {
        let silent = Execution {
            ran: None,
            ..ran("d", "", 120)
        };
        assert_eq!(incident(&silent, Some(&standing("approve"))), None);
        assert_eq!(
            incident(&silent, Some(&standing("deny"))),
            Some(Incident::WithoutApproval)
        );
    }

    #[test]
    fn every_code_reads_back() {
        for one in INCIDENTS {
            assert_eq!(Incident::from_code(one.code()), Some(one));
        }
        assert_eq!(Incident::from_code("void_decision"), None);
    }
}
