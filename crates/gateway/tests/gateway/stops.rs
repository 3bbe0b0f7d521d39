//! SIGTERM: what waits ends well, and nothing is claimed twice.

use std::time::Duration;

use futures::future::join_all;
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::console::LIMIT;
use crate::process::{Desk, Reply, call, deploy};

/// A place is free again when another poll was refused.
async fn poll(url: String, token: String, (method, path): (&str, String)) -> Reply {
    let (key, body) = match method {
        "POST" => (Some("open"), Some(deploy())),
        _ => (None, None),
    };
    loop {
        let reply = call(&url, &token, (method, &path), key, body.clone()).await;
        let reply = reply.expect("the gateway ended without an answer");
        if reply.status != 429 {
            return reply;
        }
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn at_sigterm_long_polls_end_with_what_is_known_and_cards_stay_open() {
    let mut desk = Desk::start().await;
    let id = desk.deploy("open").await;
    let seen = desk.console.next_request().await;
    let kinds = [
        ("GET", format!("/v1/asks/{id}?wait=50")),
        ("GET", "/v1/asks?state=withdrawn&wait=50".to_owned()),
        ("POST", "/v1/asks?wait=50".to_owned()),
    ];
    let (url, token) = (desk.gateway.url.clone(), desk.token.clone());
    let polls: Vec<_> = (0..64)
        .map(|number| {
            let kind = kinds[number % 3].clone();
            tokio::spawn(poll(url.clone(), token.clone(), kind))
        })
        .collect();
    // The places are full: every poll waits.
    let probe = format!("/v1/asks/{id}?wait=1");
    let full = async { while desk.get(&probe).await.status != 429 {} };
    timeout(LIMIT, full).await.unwrap();
    desk.terminate();
    for (number, poll) in polls.into_iter().enumerate() {
        let reply = timeout(LIMIT, poll).await.unwrap().unwrap();
        assert_eq!(reply.status, 200, "{reply:?}");
        match number % 3 {
            1 => assert_eq!(reply.body["asks"], json!([])),
            _ => assert_eq!(reply.body["state"], "waiting"),
        }
    }
    let ended = timeout(LIMIT, desk.gateway.child.wait()).await.unwrap();
    assert_eq!(ended.unwrap().code(), Some(0));
    // Nobody withdrew it.
    desk.start_again().await;
    assert_eq!(
        desk.get(&format!("/v1/asks/{id}")).await.body["state"],
        "waiting"
    );
    desk.console.approve(&seen).await;
    assert_eq!(desk.left(&id).await["state"], "answered");
    assert_eq!(desk.claim(&id).await.status, 200);
}

#[tokio::test]
async fn of_claims_around_a_sigterm_one_runs() {
    let mut desk = Desk::start().await;
    let mut all = 0;
    for round in 0..5 {
        let id = desk.deploy(&format!("k{round}")).await;
        let seen = desk.console.next_request().await;
        desk.console.approve(&seen).await;
        desk.left(&id).await;
        let path = format!("/v1/asks/{id}/claim");
        let claims = (0..20).map(|_| desk.call("POST", &path, None, None));
        let ((), claims) = tokio::join!(
            async {
                // Some are answered by then, others are not.
                sleep(Duration::from_millis(2 * round)).await;
                desk.terminate();
            },
            join_all(claims)
        );
        let ended = timeout(LIMIT, desk.gateway.child.wait()).await.unwrap();
        assert_eq!(ended.unwrap().code(), Some(0));
        desk.start_again().await;
        let last = desk.claim(&id).await;
        let replies = claims.iter().flatten().chain([&last]);
        let ran = replies.filter(|reply| reply.status == 200).count();
        // An answer that did not leave within 2 s is lost.
        assert!(ran <= 1, "{claims:?} {last:?}");
        all += ran;
        assert_eq!(
            desk.claim(&id).await.body["error"]["code"],
            "already_claimed"
        );
    }
    assert!(all > 0);
}
