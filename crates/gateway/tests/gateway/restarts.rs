//! What a killed gateway leaves to the next, and a bus that is away.

use std::time::Duration;

use countersign_sdk::wire::Stage;
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::console::LIMIT;
use crate::process::{Desk, deploy};

#[tokio::test]
async fn an_ask_outlives_the_gateway_and_its_answer_is_claimed_once() {
    let mut desk = Desk::start().await;
    let id = desk.deploy("k").await;
    let seen = desk.console.next_request().await;
    desk.restart().await;
    assert_eq!(desk.ask("k", deploy()).await.body["id"], json!(id));
    desk.console.approve(&seen).await;
    assert_eq!(desk.left(&id).await["state"], "answered");
    desk.restart().await;
    let path = format!("/v1/asks/{id}/claim");
    assert_eq!(desk.left(&id).await["state"], "answered");
    let claim = desk.call("POST", &path, Some("c"), None).await.unwrap();
    assert_eq!((claim.status, &claim.body["run"]), (200, &json!(true)));
    desk.restart().await;
    let again = desk.call("POST", &path, Some("c"), None).await.unwrap();
    assert_eq!((again.status, &again.body["replayed"]), (200, &json!(true)));
    for key in [None, Some("other")] {
        assert_eq!(
            desk.call("POST", &path, key, None).await.unwrap().status,
            409
        );
    }
    // Before the bus has it, and over a kill.
    desk.console.server.stop().await;
    let receipt = format!("/v1/asks/{id}/receipt");
    let reply = desk
        .post(&receipt, json!({ "stage": "failed", "message": "no" }))
        .await;
    assert_eq!(reply.status, 202);
    assert_eq!(
        desk.call("POST", &path, Some("c"), None)
            .await
            .unwrap()
            .status,
        409
    );
    let away = desk.ask("new", deploy()).await;
    assert_eq!(
        (away.status, away.body["error"]["code"].as_str()),
        (503, Some("bus_unreachable"))
    );
    assert_eq!(desk.ask("k", deploy()).await.status, 200);
    desk.kill().await;
    desk.console.server.restart().await;
    desk.start_again().await;
    let sent = async {
        while desk
            .post(&receipt, json!({ "stage": "failed" }))
            .await
            .status
            != 200
        {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(LIMIT, sent).await.unwrap();
}

#[tokio::test]
async fn an_approval_while_the_gateway_was_down_past_the_deadline_runs_nothing() {
    let mut desk = Desk::start().await;
    let mut body = deploy();
    body["timeout"] = json!(5);
    let id = desk.ask("k", body).await.body["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let seen = desk.console.next_request().await;
    desk.kill().await;
    desk.console.approve(&seen).await;
    sleep(Duration::from_millis(5_100)).await;
    desk.start_again().await;
    assert_eq!(desk.left(&id).await["state"], "expired");
    assert_eq!(desk.claim(&id).await.status, 403);
    let receipts = desk.console.receipts(&seen, 1).await;
    assert_eq!(
        receipts[0].stage,
        Stage::Refused,
        "the console took it for an agent that runs"
    );
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_claims_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut desk = Desk::start().await;
    let id = desk.deploy("k").await;
    let seen = desk.console.next_request().await;
    desk.console.approve(&seen).await;
    desk.left(&id).await;
    let asks = desk.folder.path().join("dir/asks");
    // Also for a user who may write everywhere.
    let away = desk.folder.path().join("dir/away");
    std::fs::rename(&asks, &away).unwrap();
    let claim = desk.claim(&id).await;
    assert_eq!(
        (claim.status, claim.body["error"]["code"].as_str()),
        (503, Some("journal_failed"))
    );
    assert_eq!(desk.ask("other", deploy()).await.status, 503);
    std::fs::rename(&away, &asks).unwrap();
    std::fs::set_permissions(&asks, std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(desk.claim(&id).await.status, 200);
    assert_eq!(desk.claim(&id).await.status, 409);
}
