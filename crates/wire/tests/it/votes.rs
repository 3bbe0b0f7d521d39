//! Several operators who must agree.

use countersign_wire::{
    Context, DecisionFault, RequestFacts, Signer, VoteAttachment, args_digest, realm::Realm, sign,
    vote_subject,
};
use serde_json::{Value, json};

use crate::{
    decisions::{judge_at, judge_by},
    realm_model::{key as realm_key, text},
    support::{
        REALM, STORED_AT, decision, digest_of, facts, key, log, log_of, newcomer, pair, public,
    },
};

fn vote(verdict: &str, voter: u8) -> Value {
    let decision = decision(verdict);
    let mut value = json!({
        "v": 1,
        "vote_id": "019aa000-0002-7000-8000-000000000001",
        "request_digest": facts().request_digest,
        "verdict": verdict,
        "args_digest": decision["args_digest"],
        "decided_by": {"name": "op", "key": public(voter)},
        "decided_at": "2026-11-21T12:00:10.000Z",
    });
    if verdict == "modify" {
        value["edited_args"] = decision["edited_args"].clone();
    }
    value
}

fn attach(vote: &Value, signer: u8) -> VoteAttachment {
    attach_on(vote, signer, vote_subject(&key(), &public(signer).into()))
}

fn attach_on(vote: &Value, signer: u8, subject: String) -> VoteAttachment {
    let payload = serde_json::to_vec(vote).unwrap();
    let sig = sign(&pair(signer), Context::Vote, &REALM, &subject, &payload).unwrap();
    VoteAttachment::new(public(signer).into(), subject, &payload, sig)
}

fn judge_votes(verdict: &str, required: u8, votes: &[VoteAttachment]) -> Option<DecisionFault> {
    let facts = RequestFacts {
        approvals_required: required,
        ..facts()
    };
    let mut value = decision(verdict);
    value["votes"] = json!(votes);
    judge_at(&value, 1, &facts, STORED_AT).err()
}

const TOO_FEW: Option<DecisionFault> = Some(DecisionFault::TooFewVotes);

#[test]
fn enough_distinct_operators_approve_or_modify() {
    for verdict in ["approve", "modify"] {
        let votes = [1, 2, 3].map(|voter| attach(&vote(verdict, voter), voter));
        assert_eq!(judge_votes(verdict, 3, &votes), None, "{verdict}");
        assert_eq!(judge_votes(verdict, 2, &votes), None, "{verdict}");
        assert_eq!(judge_votes(verdict, 4, &votes), TOO_FEW, "{verdict}");
        assert_eq!(judge_votes(verdict, 2, &[]), TOO_FEW, "{verdict}");
    }
}

#[test]
fn one_deny_decides_at_once() {
    assert_eq!(judge_votes("deny", 5, &[]), None);
    assert_eq!(judge_votes("teleport", 5, &[]), None);
}

#[test]
fn the_same_key_counts_once() {
    let mut again = vote("approve", 1);
    again["vote_id"] = json!("019aa000-0002-7000-8000-000000000002");
    let votes = [attach(&vote("approve", 1), 1), attach(&again, 1)];
    assert_eq!(judge_votes("approve", 2, &votes), TOO_FEW);
}

#[test]
fn two_keys_of_one_person_count_once() {
    let votes = [1, 2].map(|voter| attach(&vote("approve", voter), voter));
    let facts = RequestFacts {
        approvals_required: 2,
        ..facts()
    };
    let mut value = decision("approve");
    value["votes"] = json!(votes);
    let judged = |log: &Realm| judge_by(&value, 1, &facts, STORED_AT, log.at(None)).err();
    assert_eq!(judged(log()), None);
    let mut person = newcomer(1);
    person["admin"] = json!(true);
    person["keys"]
        .as_array_mut()
        .unwrap()
        .push(realm_key(2, "human", &text(1)));
    assert_eq!(
        judged(&log_of(&[(1, json!({"operators": [person]}))])),
        TOO_FEW
    );
}

#[test]
fn votes_that_do_not_stand_are_not_counted() {
    let good = attach(&vote("approve", 1), 1);
    let changed = |field: &str, to: Value| {
        let mut value = vote("approve", 2);
        value[field] = to;
        attach(&value, 2)
    };
    let mut forged = attach(&vote("approve", 2), 2);
    forged.sig = good.sig.clone();
    let mut unreadable = attach(&vote("approve", 2), 2);
    unreadable.payload = "?".into();
    let mut borrowed = attach(&vote("approve", 2), 2);
    borrowed.key = public(3).into();
    let edited = json!({"invoice_id": "INV-43"});
    let rows = [
        ("verdict", changed("verdict", json!("deny"))),
        ("request", changed("request_digest", json!(digest_of("x")))),
        (
            "arguments",
            changed("args_digest", json!(args_digest(&edited).unwrap())),
        ),
        ("smuggled arguments", changed("edited_args", edited)),
        ("version", changed("v", json!(2))),
        (
            "voter",
            changed("decided_by", json!({"name": "op", "key": public(3)})),
        ),
        ("signature", forged),
        ("payload", unreadable),
        ("key", borrowed),
        ("console's key", attach(&vote("approve", 10), 10)),
        ("unknown key", attach(&vote("approve", 30), 30)),
        ("other verdict", attach(&vote("modify", 2), 2)),
        (
            "other request",
            attach_on(&vote("approve", 2), 2, other_subject(&public(2).into())),
        ),
    ];
    for (what, bad) in rows {
        assert_eq!(
            judge_votes("approve", 2, &[good.clone(), bad]),
            TOO_FEW,
            "{what}"
        );
    }
}

fn other_subject(voter: &Signer) -> String {
    vote_subject(&"acme/billing-bot/other".parse().unwrap(), voter)
}

#[test]
fn a_rule_cannot_stand_in_for_several_operators() {
    let facts = RequestFacts {
        approvals_required: 2,
        ..facts()
    };
    let mut value = decision("approve");
    value["origin"] = json!("rule");
    value["rule"] = json!({"id": "r1", "version": 3});
    value["decided_by"] = json!({"name": "desk", "key": public(10)});
    assert_eq!(judge_at(&value, 10, &facts, STORED_AT).err(), TOO_FEW);
}
