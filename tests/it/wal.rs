//! A console that was killed, and whose write-ahead log is damaged at its end.

use std::fs::File;
use std::os::unix::fs::FileExt;

use serde_json::json;

use crate::desk::{Agent, Console, Desk};

/// What happens to the log of this length.
type Damage = fn(&File, u64);

const DAMAGES: [(&str, Damage); 5] = [
    ("a byte too short", |log, size| {
        log.set_len(size - 1).unwrap()
    }),
    ("half of it", |log, size| log.set_len(size / 2).unwrap()),
    ("noise at the end", |log, size| {
        log.write_all_at(&[0xA5; 6_000], size - 6_000).unwrap();
    }),
    ("nothing at the end", |log, size| {
        log.write_all_at(&[0; 6_000], size - 6_000).unwrap();
    }),
    ("one bit in the middle", |log, size| {
        let mut byte = [0];
        log.read_exact_at(&mut byte, size / 2).unwrap();
        log.write_all_at(&[byte[0] ^ 1], size / 2).unwrap();
    }),
];

#[tokio::test]
async fn a_log_that_is_damaged_at_its_end_costs_nothing_that_the_bus_holds() {
    for (name, damage) in DAMAGES {
        let desk = Desk::new();
        let console = Console::start(&desk);
        let agent = Agent::connect(console.agent_json()).await;
        for id in ["yes", "no", "waits"] {
            agent.ask(&agent.request(id).lasting(600_000)).await;
            desk.show_in_state(id, "pending");
        }
        desk.run(&["approve", "yes"]).success();
        desk.run(&["deny", "no", "--message", "not now"]).success();
        for id in ["yes", "no"] {
            desk.show_in_state(id, "decided");
        }
        console.kill9();
        let log = desk.path().join("countersign.db-wal");
        let log = File::options().read(true).write(true).open(&log).unwrap();
        let size = log.metadata().unwrap().len();
        assert!(size > 12_000, "{name}: a log of {size} bytes shows nothing");
        damage(&log, size);
        drop(log);

        let console = Console::start(&desk);
        for (id, state, verdict) in [
            ("yes", "decided", json!("approve")),
            ("no", "decided", json!("deny")),
            ("waits", "pending", json!(null)),
        ] {
            let shown = desk.show_in_state(id, state);
            assert_eq!(shown["verdict"], verdict, "{name}: {id}");
        }
        let status = desk.json(&["status", "--json"]);
        assert_eq!(
            (&status["read_only"], &status["alarms"]),
            (&json!(null), &json!([])),
            "{name}"
        );
        desk.run(&["approve", "waits"]).success();
        let agent = Agent::connect(console.agent_json()).await;
        for (id, verdict) in [("yes", "approve"), ("no", "deny"), ("waits", "approve")] {
            let decision = agent.decision(id).await.unwrap();
            assert_eq!(decision["verdict"], verdict, "{name}: {id}");
        }
    }
}
