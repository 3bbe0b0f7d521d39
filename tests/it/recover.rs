//! `bus recover` on a console whose own bus lost its store.

use nix::sys::signal::Signal;
use serde_json::json;

use crate::desk::{Agent, Console, Desk};

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
    let told = desk.json(&["bus", "recover", "--dry-run", "--json"]);
    assert_eq!(
        (&told["republished"], &told["dry_run"]),
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
