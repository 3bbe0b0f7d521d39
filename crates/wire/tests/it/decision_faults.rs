//! One decision for every way in which it can be invalid.

use countersign_wire::{
    Context, DecisionCheck, DecisionFault as Fault, RequestFacts, decision_subject, realm::Realm,
    sign, verify_decision,
};
use serde_json::{Value, json};

use crate::{
    decisions::{judge, judge_at, judge_by},
    realm_model::{key as realm_key, text},
    support::{
        REALM, STORED_AT, decision, digest_of, facts, key, log, log_of, newcomer, pair, public,
        signed,
    },
};

fn with(verdict: &str, field: &str, to: Value) -> Value {
    let mut value = decision(verdict);
    value[field] = to;
    value
}

fn without(verdict: &str, field: &str) -> Value {
    let mut value = decision(verdict);
    value.as_object_mut().unwrap().shift_remove(field).unwrap();
    value
}

/// Judges with one part of the check changed by hand.
fn judge_with(change: impl FnOnce(&mut DecisionCheck<'_>)) -> Option<Fault> {
    let (signed, facts, subject) = (
        signed(&decision("approve"), 1),
        facts(),
        decision_subject(&key()),
    );
    let mut check = DecisionCheck {
        subject: &subject,
        payload: &signed.payload,
        key_header: Some(&signed.key),
        sig_header: Some(&signed.sig),
        stored_at: STORED_AT,
        standing: log().at(None),
        request: &facts,
    };
    change(&mut check);
    verify_decision(&check).err()
}

#[test]
fn unsigned_foreign_and_forged_decisions_do_not_stand() {
    assert_eq!(judge_with(|_| ()), None);
    let payload = signed(&decision("approve"), 1).payload;
    let subject = decision_subject(&key());
    let nowhere = uuid::Uuid::nil();
    let elsewhere = sign(&pair(1), Context::Decision, &nowhere, &subject, &payload).unwrap();
    let elsewhere = elsewhere.to_string().leak();
    assert_eq!(
        judge_with(|check| check.key_header = None),
        Some(Fault::Unsigned)
    );
    assert_eq!(
        judge_with(|check| check.sig_header = None),
        Some(Fault::Unsigned)
    );
    assert_eq!(
        judge_with(|check| check.sig_header = Some("")),
        Some(Fault::BadSignature)
    );
    assert_eq!(
        judge_with(|check| check.payload = b"{}"),
        Some(Fault::BadSignature)
    );
    assert_eq!(
        judge_with(|check| check.sig_header = Some(elsewhere)),
        Some(Fault::BadSignature)
    );
    assert_eq!(
        judge_with(|check| check.standing = log().at(Some(1))),
        Some(Fault::UnknownKey)
    );
    assert_eq!(
        judge_with(|check| check.key_header = Some("UABC")),
        Some(Fault::UnknownKey)
    );
    let decided = "countersign.v1.decided.acme.billing-bot.019aa000-0000-7000-8000-000000000001";
    assert_eq!(
        judge_with(|check| check.subject = decided),
        Some(Fault::WrongSubject)
    );
    let other = "countersign.v1.decision.acme.billing-bot.other";
    assert_eq!(
        judge_with(|check| check.subject = other),
        Some(Fault::WrongSubject)
    );
}

#[test]
fn another_trusted_key_in_the_header_does_not_help() {
    // Operator 2 signs in the name of operator 1.
    assert_eq!(
        judge(&decision("approve"), 2).err(),
        Some(Fault::BadSignature)
    );
    // A vote's signature is not a decision's.
    let payload = serde_json::to_vec(&decision("approve")).unwrap();
    let subject = decision_subject(&key());
    let vote = sign(&pair(1), Context::Vote, &REALM, &subject, &payload)
        .unwrap()
        .to_string();
    let fault = judge_with(|check| {
        check.payload = payload.leak();
        check.sig_header = Some(vote.leak());
    });
    assert_eq!(fault, Some(Fault::BadSignature));
}

#[test]
fn decisions_about_something_else_do_not_stand() {
    let rows = [
        (
            with("approve", "request_id", json!("other")),
            Fault::WrongRequest,
        ),
        (
            with("approve", "request_digest", json!(digest_of("x"))),
            Fault::WrongRequestDigest,
        ),
        (
            with("approve", "args_digest", json!(digest_of("x"))),
            Fault::WrongArgsDigest,
        ),
        (without("approve", "args_digest"), Fault::WrongArgsDigest),
        (
            with("modify", "args_digest", json!(facts().args_digest)),
            Fault::WrongArgsDigest,
        ),
        (without("modify", "args_digest"), Fault::WrongArgsDigest),
        (
            with("modify", "edited_args", json!({"invoice_id": "INV-44"})),
            Fault::WrongArgsDigest,
        ),
        (without("modify", "edited_args"), Fault::Malformed),
        (
            with("approve", "edited_args", json!({"invoice_id": "INV-42"})),
            Fault::Malformed,
        ),
        (without("respond", "response"), Fault::Malformed),
    ];
    for (value, expected) in rows {
        assert_eq!(judge(&value, 1).err(), Some(expected), "{value}");
    }
    let no_args = RequestFacts {
        args_digest: None,
        ..facts()
    };
    for verdict in ["approve", "modify"] {
        let result = judge_at(&decision(verdict), 1, &no_args, STORED_AT);
        assert_eq!(result.err(), Some(Fault::WrongArgsDigest), "{verdict}");
    }
}

#[test]
fn unreadable_decisions_do_not_stand() {
    for field in
        "v decision_id request_id request_digest verdict origin decided_by decided_at".split(' ')
    {
        assert_eq!(
            judge(&without("deny", field), 1).err(),
            Some(Fault::Malformed),
            "{field}"
        );
    }
    for (field, to) in [
        ("v", json!(2)),
        ("decision_id", json!("x")),
        ("origin", json!("moon")),
        ("verdict", json!(1)),
        ("decided_at", json!("now")),
        ("votes", json!([1])),
        ("x", json!(1_u64 << 60)),
    ] {
        assert_eq!(
            judge(&with("deny", field, to), 1).err(),
            Some(Fault::Malformed),
            "{field}"
        );
    }
    for raw in [
        decision("approve")
            .to_string()
            .replacen('{', r#"{"verdict":"deny","#, 1),
        decision("approve")
            .to_string()
            .replacen('{', r#"{"verdi\u0063t":"deny","#, 1),
        format!("\u{feff}{}", decision("approve")),
        " ".repeat(900 * 1024 + 1),
    ] {
        let sig = sign(
            &pair(1),
            Context::Decision,
            &REALM,
            &decision_subject(&key()),
            raw.as_bytes(),
        );
        let sig = sig.unwrap().to_string();
        let fault = judge_with(|check| {
            check.payload = raw.leak().as_bytes();
            check.sig_header = Some(sig.leak());
        });
        assert_eq!(fault, Some(Fault::Malformed));
    }
}

#[test]
fn a_role_signs_only_its_own_origins() {
    for (origin, key) in [
        ("rule", 1),
        ("setup_key", 1),
        ("timeout", 1),
        ("agent", 1),
        ("system", 1),
        ("operator", 10),
    ] {
        let mut value = with("deny", "origin", json!(origin));
        value["decided_by"]["key"] = json!(public(key));
        assert_eq!(judge(&value, key).err(), Some(Fault::WrongRole), "{origin}");
    }
}

#[test]
fn silence_never_approves() {
    for verdict in [
        "approve",
        "modify",
        "respond",
        "skip",
        "escalate",
        "terminate",
    ] {
        for origin in ["timeout", "agent", "system"] {
            let mut value = with(verdict, "origin", json!(origin));
            value["decided_by"]["key"] = json!(public(10));
            assert_eq!(
                judge(&value, 10).err(),
                Some(Fault::WrongRole),
                "{verdict} by {origin}"
            );
        }
    }
    for (verdict, right) in [
        ("expired", "timeout"),
        ("withdrawn", "agent"),
        ("rejected", "system"),
    ] {
        for origin in [
            "operator",
            "rule",
            "setup_key",
            "timeout",
            "agent",
            "system",
        ] {
            let result = judge(&with(verdict, "origin", json!(origin)), 10);
            let expected = (origin != right).then_some(Fault::WrongRole);
            assert_eq!(result.err(), expected, "{verdict} by {origin}");
        }
    }
}

#[test]
fn every_fault_has_its_own_word() {
    let faults = [
        Fault::Unsigned,
        Fault::WrongSubject,
        Fault::UnknownKey,
        Fault::BadSignature,
        Fault::Malformed,
        Fault::WrongRequest,
        Fault::WrongRequestDigest,
        Fault::WrongRole,
        Fault::NotAllowed,
        Fault::WrongArgsDigest,
        Fault::TooFewVotes,
        Fault::Late,
    ];
    let words: std::collections::BTreeSet<_> = faults.map(Fault::as_str).into();
    assert_eq!(words.len(), faults.len());
}

/// Operator 1 with console key 10, limited by operator 2.
fn limited() -> Realm {
    let with = |field: &str, to: Value| {
        let mut record = newcomer(1);
        record["keys"]
            .as_array_mut()
            .unwrap()
            .push(realm_key(10, "auto", &text(1)));
        record[field] = to;
        json!({"operators": [record]})
    };
    let mut admin = newcomer(2);
    admin["admin"] = json!(true);
    log_of(&[
        (2, json!({"operators": [admin, newcomer(1)]})),
        (1, with("name", json!("op"))),
        (2, with("limits", json!({"max_risk": "low"}))),
    ])
}

#[test]
fn beyond_the_limits_of_a_person_or_a_console_only_a_denial_stands() {
    let limited = limited();
    for (verdict, by_rule, fault) in [
        ("approve", false, Some(Fault::BeyondLimit)),
        ("modify", false, Some(Fault::BeyondLimit)),
        ("skip", false, Some(Fault::BeyondLimit)),
        ("escalate", false, Some(Fault::BeyondLimit)),
        ("deny", false, None),
        ("terminate", false, None),
        ("approve", true, Some(Fault::BeyondLimit)),
        ("skip", true, Some(Fault::BeyondLimit)),
        ("deny", true, None),
    ] {
        let (mut value, mut signer) = (decision(verdict), 1);
        if by_rule {
            signer = 10;
            value["origin"] = json!("rule");
            value["rule"] = json!({"id": "r1", "version": 3});
            value["decided_by"] = json!({"name": "desk", "key": public(signer)});
        }
        let judged = judge_by(&value, signer, &facts(), STORED_AT, limited.at(None));
        assert_eq!(judged.err(), fault, "{verdict} {by_rule}");
    }
}
