//! What an ask and a claim get, for each answer of a person.

use countersign_sdk::wire::Stage;
use serde_json::{Value, json};

use crate::console::Seen;
use crate::process::{Desk, deploy};

#[tokio::test]
async fn an_approved_call_runs_once_with_its_arguments_and_is_reported() {
    let mut desk = Desk::start().await;
    let mut body = deploy();
    body["reports"] = json!(true);
    let asked = desk.ask("k1", body.clone()).await;
    assert_eq!(
        (asked.status, asked.body["state"].as_str()),
        (201, Some("waiting"))
    );
    let id = asked.body["id"].as_str().unwrap().to_owned();
    let seen = desk.console.next_request().await;
    assert_eq!(seen.key.request_id.to_string(), id);
    let sent: Value = serde_json::from_slice(&seen.payload).unwrap();
    assert_eq!(sent["agent"]["framework"], "http-gateway");
    assert!(sent["native"]["gateway"]["version"].is_string());
    assert_eq!(desk.claim(&id).await.body["error"]["code"], "not_answered");
    desk.console.approve(&seen).await;
    let state = desk.left(&id).await;
    assert_eq!(state["state"], "answered");
    for hidden in ["verdict", "text", "decided_by", "claimed_at"] {
        assert!(state[hidden].is_null(), "{hidden}");
    }
    let listed = desk.get("/v1/asks?state=answered&wait=5").await.body;
    assert_eq!(listed["asks"][0]["id"], json!(id));
    let receipt = format!("/v1/asks/{id}/receipt");
    let executed = json!({ "stage": "executed", "executed_args": { "to": "production" } });
    let early = desk.post(&receipt, executed.clone()).await;
    assert_eq!(
        (early.status, early.body["error"]["code"].as_str()),
        (409, Some("not_claimed"))
    );
    let claim = desk.claim(&id).await;
    assert_eq!(claim.status, 200);
    assert_eq!(claim.body["run"], true);
    assert_eq!(claim.body["args"], json!({ "to": "production" }));
    assert_eq!(
        claim.body["proof"]["payload"].as_str().unwrap().as_bytes()[0],
        b'{'
    );
    let again = desk.claim(&id).await;
    assert_eq!(
        (again.status, again.body["error"]["code"].as_str()),
        (409, Some("already_claimed"))
    );
    let withdrawn = desk
        .post(&format!("/v1/asks/{id}/withdraw"), json!({}))
        .await;
    assert_eq!(withdrawn.body["error"]["code"], "already_claimed");
    assert_eq!(desk.post(&receipt, executed.clone()).await.status, 200);
    assert_eq!(desk.post(&receipt, executed).await.status, 200);
    let other = desk.post(&receipt, json!({ "stage": "failed" })).await;
    assert_eq!(
        (other.status, other.body["error"]["code"].as_str()),
        (409, Some("already_reported"))
    );
    let receipts = desk.console.receipts(&seen, 2).await;
    assert_eq!(
        [receipts[0].stage, receipts[1].stage],
        [Stage::Received, Stage::Executed]
    );
    for receipt in receipts {
        assert_eq!(receipt.degraded, Some(vec!["trusts_gateway".to_owned()]));
    }
    let state = desk.get(&format!("/v1/asks/{id}")).await.body;
    assert_eq!(
        (&state["state"], &state["verdict"], &state["receipt"]),
        (&json!("claimed"), &json!("approve"), &json!("executed"))
    );
    assert_eq!(desk.ask("k1", body).await.status, 200);
}

async fn answered(desk: &mut Desk, body: Value, verdict: &str, more: Value) -> (String, Seen) {
    let key = uuid::Uuid::new_v4().to_string();
    let asked = desk.ask(&key, body).await;
    assert_eq!(asked.status, 201, "{asked:?}");
    let id = asked.body["id"].as_str().unwrap().to_owned();
    let seen = desk.console.next_request().await;
    assert!(
        desk.console
            .store(desk.console.decision(&seen, verdict, more))
            .await
    );
    desk.left(&id).await;
    (id, seen)
}

#[tokio::test]
async fn every_other_verdict_is_403_as_often_as_asked() {
    let mut desk = Desk::start().await;
    for (verdict, more, words) in [
        (
            "deny",
            json!({ "message": "not on Friday" }),
            "denied by Ada: not on Friday",
        ),
        ("skip", json!({}), "skipped by Ada"),
        ("escalate", json!({}), "escalated by Ada"),
        ("terminate", json!({}), "who ended the run"),
        (
            "respond",
            json!({ "response": { "content": "use staging" } }),
            "use staging",
        ),
    ] {
        let mut body = deploy();
        body["allowed_verdicts"] = json!([
            "approve",
            "deny",
            "skip",
            "escalate",
            "terminate",
            "respond"
        ]);
        let (id, _) = answered(&mut desk, body, verdict, more).await;
        for _ in 0..2 {
            let claim = desk.claim(&id).await;
            assert_eq!(claim.status, 403, "{verdict}: {claim:?}");
            assert_eq!(
                (&claim.body["run"], &claim.body["verdict"]),
                (&json!(false), &json!(verdict))
            );
            assert_eq!(claim.body["error"]["code"], "not_allowed");
            assert!(
                claim.body["text"].as_str().unwrap().contains(words),
                "{claim:?}"
            );
        }
    }
}

#[tokio::test]
async fn edited_arguments_run_and_answers_to_questions_come_as_often_as_asked() {
    let mut desk = Desk::start().await;
    let mut body = deploy();
    body["allowed_verdicts"] = json!(["approve", "modify", "deny"]);
    let edited = json!({ "to": "staging" });
    let digest = crate::console::digest_of(&edited);
    let more = json!({ "edited_args": edited, "args_digest": digest });
    let (id, _) = answered(&mut desk, body, "modify", more).await;
    let claim = desk.claim(&id).await;
    assert_eq!((claim.status, &claim.body["args"]), (200, &edited));
    let question = json!({ "kind": "question", "question": "Which?", "timeout": 60 });
    let more = json!({ "response": { "content": "the left one" } });
    let (id, _) = answered(&mut desk, question, "respond", more).await;
    for _ in 0..2 {
        let claim = desk.claim(&id).await;
        assert_eq!((claim.status, &claim.body["run"]), (200, &json!(false)));
        assert_eq!(claim.body["response"]["content"], "the left one");
    }
}

#[tokio::test]
async fn silence_withdrawals_and_conflicts_run_nothing() {
    let mut desk = Desk::start().await;
    let mut body = deploy();
    body["timeout"] = json!(5);
    let id = desk.ask("silent", body).await.body["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let late = desk.console.next_request().await;
    assert_eq!(desk.left(&id).await["state"], "expired");
    let claim = desk.claim(&id).await;
    assert_eq!(
        (claim.status, &claim.body["verdict"]),
        (403, &json!("expired"))
    );
    desk.console.approve(&late).await;
    assert_eq!(desk.claim(&id).await.status, 403);
    let id = desk.deploy("taken-back").await;
    let seen = desk.console.next_request().await;
    let path = format!("/v1/asks/{id}/withdraw");
    for _ in 0..2 {
        let withdrawn = desk.post(&path, json!({ "reason": "not needed" })).await;
        assert_eq!(
            (withdrawn.status, &withdrawn.body["state"]),
            (200, &json!("withdrawn"))
        );
    }
    let subject = countersign_sdk::wire::withdraw_subject(&seen.key);
    desk.console.stored("CS_REQUESTS", &subject, 1).await;
    assert_eq!(desk.claim(&id).await.body["verdict"], "withdrawn");
    // Approved and then given up: the console learns it.
    let id = desk.deploy("given-up").await;
    let seen = desk.console.next_request().await;
    desk.console.approve(&seen).await;
    desk.left(&id).await;
    assert_eq!(
        desk.post(&format!("/v1/asks/{id}/withdraw"), json!({}))
            .await
            .body["state"],
        "withdrawn"
    );
    assert_eq!(desk.claim(&id).await.status, 403);
    let receipts = desk.console.receipts(&seen, 2).await;
    assert_eq!(
        (receipts[1].stage, receipts[1].message.as_deref()),
        (Stage::Refused, Some("withdrawn"))
    );
    let other = json!({ "tool": "deploy", "args": { "to": "staging" } });
    let conflict = desk.ask("given-up", other).await;
    assert_eq!(
        (conflict.status, conflict.body["error"]["code"].as_str()),
        (422, Some("key_conflict"))
    );
}

#[tokio::test]
async fn one_key_is_one_card_and_one_of_many_claims_runs() {
    let mut desk = Desk::start().await;
    let many = (0..20).map(|_| desk.ask("one", deploy()));
    let replies = futures::future::join_all(many).await;
    let first = replies.iter().filter(|reply| reply.status == 201).count();
    assert_eq!(first, 1);
    let id = replies[0].body["id"].as_str().unwrap().to_owned();
    assert!(replies.iter().all(|reply| reply.body["id"] == json!(id)));
    let seen = desk.console.next_request().await;
    desk.console.approve(&seen).await;
    desk.left(&id).await;
    let claims = futures::future::join_all((0..20).map(|_| desk.claim(&id))).await;
    assert_eq!(claims.iter().filter(|claim| claim.status == 200).count(), 1);
    assert!(
        claims
            .iter()
            .filter(|claim| claim.status != 200)
            .all(|claim| claim.status == 409)
    );
    let jetstream = async_nats::jetstream::new(desk.console.client.clone());
    let stream = jetstream.get_stream("CS_REQUESTS").await.unwrap();
    assert_eq!(stream.cached_info().state.messages, 1);
}
