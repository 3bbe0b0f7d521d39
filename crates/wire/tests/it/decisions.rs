//! Valid decisions.

use countersign_wire::{
    ApprovalDecision, DecisionCheck, DecisionFault, DecisionVerdict, RequestFacts, Verdict,
    VerdictSet, VerifiedDecision, decided_subject, decision_subject, parse_decision,
    realm::Standing, verify_decision,
};
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};

use crate::support::{STORED_AT, decision, facts, key, log, public, signed, typed};

/// Judges a decision which the pair of `byte` signed, stored at `stored_at`.
pub(crate) fn judge_at(
    decision: &Value,
    byte: u8,
    facts: &RequestFacts,
    stored_at: OffsetDateTime,
) -> Result<VerifiedDecision, DecisionFault> {
    judge_by(decision, byte, facts, stored_at, log().at(None))
}

/// The same by another state of the realm log.
pub(crate) fn judge_by(
    decision: &Value,
    byte: u8,
    facts: &RequestFacts,
    stored_at: OffsetDateTime,
    standing: Standing<'_>,
) -> Result<VerifiedDecision, DecisionFault> {
    let signed = signed(decision, byte);
    verify_decision(&DecisionCheck {
        subject: &decision_subject(&key()),
        payload: &signed.payload,
        key_header: Some(&signed.key),
        sig_header: Some(&signed.sig),
        stored_at,
        standing,
        request: facts,
    })
}

pub(crate) fn judge(decision: &Value, byte: u8) -> Result<VerifiedDecision, DecisionFault> {
    judge_at(decision, byte, &facts(), STORED_AT + Duration::seconds(20))
}

#[test]
fn every_verdict_stands_when_everything_fits() {
    for verdict in Verdict::ALL {
        let current = judge(&decision(verdict.as_str()), 1).unwrap();
        assert_eq!(current.decision.verdict, verdict.into());
        assert_eq!(current.key, public(1));
    }
    for verdict in ["expired", "withdrawn", "rejected"] {
        let late = STORED_AT + Duration::days(90);
        assert!(
            judge_at(&decision(verdict), 10, &facts(), late).is_ok(),
            "{verdict}"
        );
    }
}

#[test]
fn rules_and_setup_keys_approve_with_the_consoles_key_and_are_named() {
    for origin in ["rule", "setup_key"] {
        let mut value = decision("approve");
        value["origin"] = json!(origin);
        value["rule"] = json!({"id": "r1", "version": 3, "name": "small refunds"});
        value["decided_by"] = json!({"name": "desk", "key": public(10)});
        assert!(judge(&value, 10).is_ok(), "{origin}");
        value["rule"] = Value::Null;
        let unnamed = judge(&value, 10).err();
        assert_eq!(unnamed, Some(DecisionFault::Malformed), "{origin}");
    }
}

#[test]
fn an_unknown_verdict_counts_as_deny() {
    let current = judge(&decision("teleport"), 1).unwrap();
    assert_eq!(
        current.decision.verdict,
        DecisionVerdict::Other("teleport".into())
    );
    assert_eq!(current.decision.verdict.operator(), Some(Verdict::Deny));
}

#[test]
fn deny_is_always_allowed_and_other_verdicts_only_where_named() {
    let strict = RequestFacts {
        allowed: VerdictSet::DENY_ONLY,
        ..facts()
    };
    for verdict in Verdict::ALL {
        let result = judge_at(&decision(verdict.as_str()), 1, &strict, STORED_AT);
        let expected = if verdict == Verdict::Deny {
            None
        } else {
            Some(DecisionFault::NotAllowed)
        };
        assert_eq!(result.err(), expected, "{verdict}");
    }
}

#[test]
fn a_decision_stands_until_the_last_moment_before_the_deadline() {
    let facts = facts();
    for verdict in Verdict::ALL {
        let value = decision(verdict.as_str());
        let just_before = facts.deadline - Duration::NANOSECOND;
        assert!(
            judge_at(&value, 1, &facts, just_before).is_ok(),
            "{verdict}"
        );
        let late = judge_at(&value, 1, &facts, facts.deadline);
        assert_eq!(late.err(), Some(DecisionFault::Late), "{verdict}");
    }
}

#[test]
fn decisions_keep_unknown_fields_and_the_order_of_the_protocol() {
    let mut value = decision("modify");
    value["x-new"] = json!({"a": 1});
    let text = serde_json::to_string(&typed(value)).unwrap();
    let read: ApprovalDecision = parse_decision(&decided_subject(&key()), text.as_bytes()).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    assert_eq!(read.extra["x-new"], json!({"a": 1}));
    let names = [
        "\"v\"",
        "decision_id",
        "request_id",
        "request_digest",
        "verdict",
        "args_digest",
        "edited_args",
        "origin",
        "decided_by",
        "decided_at",
        "x-new",
    ];
    let places = names.map(|name| text.find(name).unwrap());
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn null_can_be_the_edited_arguments() {
    let mut value = decision("modify");
    value["edited_args"] = Value::Null;
    value["args_digest"] = json!(countersign_wire::args_digest(&Value::Null).unwrap());
    let current = judge(&value, 1).unwrap();
    assert_eq!(current.decision.edited_args, Some(Value::Null));
}

#[test]
fn decisions_are_read_only_from_their_subjects() {
    let payload = decision("deny").to_string();
    assert!(
        parse_decision(
            "countersign.v1.receipt.acme.billing-bot.r1",
            payload.as_bytes()
        )
        .is_err()
    );
}
