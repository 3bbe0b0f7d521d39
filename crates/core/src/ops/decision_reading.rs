//! The reading of a stored decision: it depends on whether it verifies and what was stored before it.
//!
//! What verifies reads the same on every console, whoever decided. The first one that was stored counts, so whatever
//! comes after a withdrawal reads as withdrawn.

use countersign_wire::{DecisionFault, DecisionVerdict, Effects, RequestFacts};

use crate::domain::life_cycle::StoredAs;
use crate::domain::{RequestRecord, Timestamp};

/// How a stored message reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) stored_as: StoredAs,
    /// The verdict as it reads everywhere.
    pub(super) effective: String,
    pub(super) fault: Option<DecisionFault>,
}

/// What a request says that what is stored at this moment is checked against; none where its digest cannot be read.
pub(super) fn facts_of(record: &RequestRecord, stored_at: Timestamp) -> Option<RequestFacts> {
    let digest = |text: &str| text.parse().ok();
    Some(RequestFacts {
        key: record.key.clone(),
        request_digest: digest(&record.request_digest)?,
        args_digest: record.args_digest.as_deref().and_then(digest),
        deadline: record.deadline_for(stored_at).into(),
        allowed: record.allowed,
        approvals_required: record.approvals_required,
        risk: record.risk,
        effects: record.device_effects.unwrap_or(Effects::Irreversible),
        webauthn: record.device_effects.is_some(),
    })
}

/// Reads a verdict, or why the decision is void; `withdrawn` when a withdrawal was stored first (protocol, section 6).
pub(super) fn judge(verdict: Result<&DecisionVerdict, DecisionFault>, withdrawn: bool) -> Reading {
    let as_word = |stored_as, word: &str| Reading {
        stored_as,
        effective: word.to_owned(),
        fault: None,
    };
    match verdict {
        Err(fault) if fault != DecisionFault::Late => Reading {
            stored_as: StoredAs::Void,
            effective: "void".to_owned(),
            fault: Some(fault),
        },
        Ok(DecisionVerdict::Withdrawn) => as_word(StoredAs::Withdrawn, "withdrawn"),
        _ if withdrawn => as_word(StoredAs::Withdrawn, "withdrawn"),
        Ok(DecisionVerdict::Rejected) => as_word(StoredAs::Rejected, "rejected"),
        Ok(DecisionVerdict::Expired) | Err(_) => as_word(StoredAs::Expired, "expired"),
        Ok(DecisionVerdict::Other(_)) => as_word(StoredAs::Decided, "deny"),
        Ok(verdict) => as_word(StoredAs::Decided, verdict.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_stored_after_a_withdrawal_reads_as_withdrawn_unless_it_does_not_verify() {
        let word = |word: &str| -> DecisionVerdict { serde_json::from_value(word.into()).unwrap() };
        for (verdict, before, after) in [
            (Ok("approve"), "approve", "withdrawn"),
            (Ok("deny"), "deny", "withdrawn"),
            (Ok("a word of later"), "deny", "withdrawn"),
            // A console that was away sees the deadline before it sees the withdrawal.
            (Ok("expired"), "expired", "withdrawn"),
            (Err(DecisionFault::Late), "expired", "withdrawn"),
            (Ok("withdrawn"), "withdrawn", "withdrawn"),
            // A console without room answers after the agent has withdrawn.
            (Ok("rejected"), "rejected", "withdrawn"),
            (Err(DecisionFault::BadSignature), "void", "void"),
        ] {
            let verdict = verdict.map(word);
            let reads = |withdrawn| judge(verdict.as_ref().map_err(|fault| *fault), withdrawn);
            assert_eq!(reads(false).effective, before, "{verdict:?}");
            assert_eq!(reads(true).effective, after, "{verdict:?}");
        }
    }
}
