//! What the audit log proves.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use crate::desk::{Agent, Console, Desk};

/// A folder with one approved and one denied request; no console runs in it.
async fn decided() -> Desk {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    for (id, arguments) in [
        ("r1", &["approve", "r1"][..]),
        ("r2", &["deny", "r2", "--message", "no"]),
    ] {
        agent.ask(&agent.request(id)).await;
        desk.show_in_state(id, "pending");
        desk.run(arguments).success();
        desk.show_in_state(id, "decided");
    }
    console.stop(Signal::SIGTERM);
    desk
}

async fn tamper(desk: &Desk, statements: &[&'static str]) {
    let file = format!("sqlite://{}", desk.path().join("countersign.db").display());
    let mut store = SqliteConnection::connect(&file).await.unwrap();
    for sql in statements {
        sqlx::query(*sql).execute(&mut store).await.unwrap();
    }
    store.close().await.unwrap();
}

fn verify(desk: &Desk) -> (i32, Value) {
    let ended = desk.run(&["audit", "verify", "--json"]);
    (ended.code, ended.lines().remove(0))
}

#[tokio::test]
async fn an_untouched_log_verifies_and_a_noted_head_is_in_it() {
    let desk = decided().await;
    let head = desk.json(&["audit", "head", "--json"]);
    let (code, found) = verify(&desk);
    assert_eq!(
        (code, &found["ok"], &found["first_bad"]),
        (0, &json!(true), &Value::Null)
    );
    assert_eq!(found["rows"], head["seq"]);
    let noted = head["hash"].as_str().unwrap();
    desk.run(&["audit", "verify", "--head", noted]).success();
    for same in [format!("sha256:{noted}"), noted.to_uppercase()] {
        desk.run(&["audit", "verify", "--head", &same]).success();
    }
    let short = &noted[1..];
    for mistyped in ["zz", "", short, &format!("{short}g"), &format!("{noted}0")] {
        let ended = desk.run(&["audit", "verify", "--json", "--head", mistyped]);
        let (exit, code, _) = ended.error();
        assert_eq!((exit, code.as_str()), (2, "usage"), "{mistyped}");
        assert_eq!(ended.out, "", "{mistyped}");
    }
    let other = "0".repeat(64);
    let ended = desk.run(&["audit", "verify", "--head", &other, "--json"]);
    assert_eq!((ended.code, &ended.lines()[0]["ok"]), (1, &json!(false)));
}

#[tokio::test]
async fn a_changed_byte_is_found_and_named() {
    for (statements, table, id) in [
        (
            &[
                "UPDATE requests SET raw = CAST(replace(CAST(raw AS TEXT), 'customer', 'attacker') AS BLOB) WHERE request_id = 'r1'",
            ][..],
            "requests",
            "default/local/r1",
        ),
        (
            &[
                "UPDATE decisions SET payload = CAST(replace(CAST(payload AS TEXT), 'deny', 'skip') AS BLOB) WHERE request_id = 'r2'",
            ],
            "decisions",
            "default/local/r2",
        ),
        (
            &["DELETE FROM decisions WHERE request_id = 'r2'"],
            "decisions",
            "default/local/r2",
        ),
        (
            &[
                "DROP TRIGGER audit_refuses_update",
                "UPDATE audit SET actor = 'nobody' WHERE seq = 2",
            ],
            "audit",
            "2",
        ),
        (
            &[
                "DROP TRIGGER audit_refuses_delete",
                "DELETE FROM audit WHERE seq = 3",
            ],
            "audit",
            "4",
        ),
    ] {
        let desk = decided().await;
        tamper(&desk, statements).await;
        let (code, found) = verify(&desk);
        assert_eq!((code, &found["ok"]), (1, &json!(false)), "{statements:?}");
        assert_eq!(
            (&found["first_bad"]["table"], &found["first_bad"]["id"]),
            (&json!(table), &json!(id)),
            "{statements:?}"
        );
        assert!(found["first_bad"]["reason"].is_string());
        let doctor = desk.run(&["doctor", "--json"]);
        assert_eq!(doctor.code, 1);
    }
}

#[tokio::test]
async fn an_approval_of_a_critical_call_is_anchored_at_once() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent
        .ask(&agent.request("r1").set("risk", json!("critical")))
        .await;
    desk.show_in_state("r1", "pending");
    desk.run(&["approve", "r1"]).success();
    let anchored = desk.json(&["status", "--json"])["audit"]["anchored_seq"].as_i64();
    assert!(anchored.unwrap() > 0);
    assert_eq!(desk.json(&["audit", "verify", "--json"])["ok"], true);
}
