//! No call runs twice and none unapproved, whenever the gateway is killed.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersign_sdk::wire::parse_request;
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::console::{Console, Seen};
use crate::process::{Desk, Process, call};

/// `GATEWAY_KILLS=1000` for more.
const KILLS: usize = 25;

/// Answers every request at once, and says how many cards each key made.
async fn decide(mut console: Console, cards: Arc<Mutex<HashMap<String, HashSet<String>>>>) {
    loop {
        let message = console.requests.next().await.unwrap();
        let parsed = parse_request(&message.subject, &message.payload).unwrap();
        let seen = Seen {
            key: parsed.key,
            digest: parsed.request_digest,
            args_digest: parsed.args_digest,
            payload: message.payload.to_vec(),
        };
        let body: Value = serde_json::from_slice(&seen.payload).unwrap();
        let key = body["args"]["key"].as_str().unwrap().to_owned();
        let id = seen.key.request_id.to_string();
        let new = cards.lock().unwrap().entry(key).or_default().insert(id);
        if new {
            let draft = match body["args"]["may"].as_bool().unwrap() {
                true => console.approval(&seen),
                false => console.decision(&seen, "deny", json!({})),
            };
            console.store(draft).await;
        }
    }
}

/// Asks, waits, claims and runs, whatever breaks meanwhile: how often it may run.
async fn client(
    url: watch::Receiver<String>,
    token: String,
    key: String,
    may: bool,
    replays: bool,
) -> usize {
    let body = json!({ "tool": "deploy", "args": { "key": key, "may": may }, "timeout": 60 });
    let claim_key = replays.then_some("claim");
    let mut ran = 0;
    let mut id: Option<String> = None;
    loop {
        let url = url.borrow().clone();
        let reply = match &id {
            None => {
                call(
                    &url,
                    &token,
                    ("POST", "/v1/asks"),
                    Some(&key),
                    Some(body.clone()),
                )
                .await
            }
            Some(id) => {
                let path = format!("/v1/asks/{id}/claim");
                call(&url, &token, ("POST", &path), claim_key, None).await
            }
        };
        match (reply, id.is_some()) {
            (Some(reply), false) if reply.status < 300 => {
                id = reply.body["id"].as_str().map(str::to_owned);
            }
            (Some(reply), true) if reply.status == 200 => {
                assert_eq!(reply.body["args"], body["args"]);
                ran += 1;
                // Others try too.
                let path = format!("/v1/asks/{}/claim", id.as_deref().unwrap());
                let other = call(&url, &token, ("POST", &path), Some("other"), None).await;
                assert!(other.is_none_or(|other| other.status != 200));
                return ran;
            }
            (Some(reply), true) if reply.status == 403 => return ran,
            (Some(reply), true) if reply.body["error"]["code"] == "already_claimed" => return ran,
            _ => sleep(Duration::from_millis(5)).await,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_runs_twice_or_unapproved_whenever_the_gateway_is_killed() {
    let kills = std::env::var("GATEWAY_KILLS")
        .ok()
        .and_then(|count| count.parse().ok());
    let kills: usize = kills.unwrap_or(KILLS);
    let Desk {
        console,
        folder,
        token,
        secret: _,
        mut gateway,
    } = Desk::start().await;
    let cards = Arc::default();
    let deciding = tokio::spawn(decide(console, Arc::clone(&cards)));
    let (told, url) = watch::channel(gateway.url.clone());
    let (mut ran, mut lost) = (0, 0);
    for round in 0..kills {
        let (may, replays) = (round % 4 != 3, round % 2 == 0);
        let key = format!("k{round}");
        let work = tokio::spawn(client(
            url.clone(),
            token.clone(),
            key.clone(),
            may,
            replays,
        ));
        // Between any two steps: the steps of one round take about as long.
        sleep(Duration::from_micros(rand::random_range(0..60_000))).await;
        gateway.child.kill().await.unwrap();
        gateway = Process::start(folder.path().to_owned(), "").await;
        told.send_replace(gateway.url.clone());
        let times = timeout(Duration::from_secs(60), work)
            .await
            .unwrap()
            .unwrap();
        assert!(times <= usize::from(may), "{key} ran {times} times");
        let made = cards.lock().unwrap().get(&key).map_or(0, HashSet::len);
        assert_eq!(made, 1, "{key}");
        ran += times;
        lost += usize::from(may) - times;
        // An answer that was on its way when the gateway was killed is lost, unless its claim had a key.
        assert!(
            !(replays && may && times == 0),
            "{key}: a claim with a key is answered again"
        );
    }
    println!("{kills} kills: {ran} calls ran, {lost} answers were lost on their way");
    deciding.abort();
}
