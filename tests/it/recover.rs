//! `bus recover` on a console whose own bus lost its store.

use std::process::Stdio;
use std::time::Duration;

use async_nats::jetstream;
use nix::sys::signal::Signal;
use serde_json::json;

use crate::desk::{Agent, Console, Desk, LIMIT, Running};

#[tokio::test]
async fn a_lost_store_is_recovered_beside_the_running_console_and_the_agent_reads_its_answer() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    assert_eq!(
        desk.json(&["bus", "recover", "--json"])["created"],
        json!([])
    );
    let agent = Agent::connect(console.agent_json()).await;
    for id in ["r1", "r2"] {
        agent.ask(&agent.request(id)).await;
        desk.show_in_state(id, "pending");
    }
    desk.run(&["approve", "r1"]).success();
    desk.show_in_state("r1", "decided");
    console.stop(Signal::SIGTERM);
    std::fs::remove_dir_all(desk.path().join("nats/jetstream")).unwrap();
    let console = Console::start(&desk);
    let (exit, code, message) = desk.run(&["approve", "r2", "--json"]).error();
    assert_eq!((exit, code.as_str()), (8, "read_only"), "{message}");
    assert!(message.contains("countersign bus recover"), "{message}");
    let reported = desk.json(&["bus", "recover", "--dry-run", "--json"]);
    assert_eq!(
        (&reported["republished"], &reported["dry_run"]),
        (&json!(1), &json!(true))
    );
    let done = desk.json(&["bus", "recover", "--json"]);
    assert_eq!(
        (&done["known"], &done["republished"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(desk.json(&["status", "--json"])["read_only"], json!(null));
    let agent = Agent::connect(console.agent_json()).await;
    assert_eq!(agent.decision("r1").await.unwrap()["verdict"], "approve");
    desk.run(&["approve", "r2"]).success();
    assert_eq!(agent.decision("r2").await.unwrap()["verdict"], "approve");
    desk.run(&["audit", "verify"]).success();
}

/// Enough that a recovery takes longer than looking at it and killing it.
const MANY: usize = 1_200;

/// How many messages the stream of decisions holds; none while it is not there.
async fn on_the_stream(desk: &Desk, console: &Console) -> Option<u64> {
    let login = std::fs::read_to_string(desk.path().join("keys/login.nk")).unwrap();
    let login = nkeys::KeyPair::from_seed(login.trim()).unwrap();
    let client = async_nats::ConnectOptions::with_nkey(login.seed().unwrap())
        .custom_inbox_prefix(format!("_INBOX_{}", login.public_key()))
        .connect(console.url())
        .await
        .unwrap();
    let stream = jetstream::new(client).get_stream("CS_DECISIONS").await;
    // Beside the realm's first entry.
    Some(stream.ok()?.cached_info().state.messages.saturating_sub(1))
}

async fn in_time(what: &str, look: impl AsyncFn() -> bool) {
    let wait = async {
        while !look().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let done = tokio::time::timeout(LIMIT, wait).await;
    assert!(done.is_ok(), "not in time: {what}");
}

#[tokio::test]
async fn a_recovery_that_is_killed_half_way_goes_on_where_it_was_and_stores_nothing_twice() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    for number in 0..MANY {
        let request = agent.request(&format!("r{number}")).lasting(100);
        agent.ask(&request).await;
    }
    let all = u64::try_from(MANY).unwrap();
    in_time("every request is answered", async || {
        on_the_stream(&desk, &console).await == Some(all)
    })
    .await;
    let first = agent.decision("r0").await.unwrap();
    console.stop(Signal::SIGTERM);
    std::fs::remove_dir_all(desk.path().join("nats/jetstream")).unwrap();
    let console = Console::start(&desk);
    let recover = ["bus", "recover", "--json"];
    let mut killed = Running(desk.start(&recover, Stdio::null()));
    in_time("the recovery has begun", async || {
        on_the_stream(&desk, &console).await.is_some_and(|n| n > 0)
    })
    .await;
    killed.signal(Signal::SIGKILL);
    killed.wait();
    let half = on_the_stream(&desk, &console).await.unwrap();
    assert!(half < all, "it was killed too late to show anything");
    let status = desk.json(&["status", "--json"]);
    assert!(status["read_only"].is_string(), "lifted last: {status}");
    let done = desk.json(&recover);
    assert_eq!(
        (&done["republished"], &done["left"], &done["conflicts"]),
        (&json!(all - half), &json!(half), &json!(0))
    );
    assert_eq!(on_the_stream(&desk, &console).await, Some(all));
    let status = desk.json(&["status", "--json"]);
    assert_eq!(
        (&status["read_only"], &status["alarms"]),
        (&json!(null), &json!([]))
    );
    let agent = Agent::connect(console.agent_json()).await;
    assert_eq!(agent.decision("r0").await.unwrap(), first);
    desk.run(&["audit", "verify"]).success();
}
