//! What the audit log proves.

use countersign_core::store::audit::row_hash;
use countersign_wire::{Context, SignedEnvelope};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use crate::desk::{Agent, Console, Desk, eventually};

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

/// A running console whose log ends with an anchored approval of a critical call.
async fn anchored() -> (Desk, Console, i64) {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1")).await;
    desk.show_in_state("r1", "pending");
    desk.run(&["deny", "r1", "--message", "no"]).success();
    agent
        .ask(&agent.request("r2").set("risk", json!("critical")))
        .await;
    desk.show_in_state("r2", "pending");
    desk.run(&["approve", "r2"]).success();
    let head = eventually(|| {
        let audit = desk.json(&["status", "--json"])["audit"].clone();
        let (seq, anchored) = (audit["seq"].as_i64(), audit["anchored_seq"].as_i64());
        if anchored > Some(0) {
            Ok(anchored.unwrap())
        } else {
            Err((seq, anchored))
        }
    });
    (desk, console, head)
}

const MAY_CHANGE: &str = "DROP TRIGGER audit_refuses_update";
const MAY_CUT: &str = "DROP TRIGGER audit_refuses_delete";

/// What only somebody who knows the format does: every hash right, another log.
async fn rewrite(desk: &Desk) {
    let file = format!("sqlite://{}", desk.path().join("countersign.db").display());
    let mut store = SqliteConnection::connect(&file).await.unwrap();
    let rows: Vec<(i64, String, String, String, String, String)> =
        sqlx::query_as("SELECT seq, at, actor, action, subject, detail FROM audit ORDER BY seq")
            .fetch_all(&mut store)
            .await
            .unwrap();
    let mut prev = [0; 32];
    for (seq, at, actor, action, subject, detail) in rows {
        let actor = if seq == 2 {
            "somebody else".to_owned()
        } else {
            actor
        };
        let value = serde_json::from_str(&detail).unwrap();
        let fields = (
            seq,
            at.as_str(),
            actor.as_str(),
            action.as_str(),
            subject.as_str(),
        );
        let hash = row_hash(&prev, fields, &value).unwrap();
        sqlx::query("UPDATE audit SET actor = ?, prev = ?, hash = ? WHERE seq = ?")
            .bind(&actor)
            .bind(prev.to_vec())
            .bind(hash.to_vec())
            .bind(seq)
            .execute(&mut store)
            .await
            .unwrap();
        prev = hash;
    }
    store.close().await.unwrap();
}

/// Lays something on the console's own place on the bus, with its login.
async fn lay(desk: &Desk, console: &Console, payload: Vec<u8>) {
    let text = |name: &str| std::fs::read_to_string(desk.path().join("keys").join(name)).unwrap();
    let login = nkeys::KeyPair::from_seed(text("login.nk").trim()).unwrap();
    let client = async_nats::ConnectOptions::with_nkey(login.seed().unwrap())
        .custom_inbox_prefix(format!("_INBOX_{}", login.public_key()))
        .connect(console.url())
        .await
        .unwrap();
    let subject = format!("countersign.v1.audit.{}", text("console-id").trim());
    let answer = client.request(subject, payload.into()).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
    assert!(answer["seq"].is_u64(), "{answer}");
}

/// A head signed with a key of this console, or with a stranger's.
fn sealed(desk: &Desk, console: &Console, stranger: bool, seq: i64, hash: &str) -> Vec<u8> {
    let text = |name: &str| std::fs::read_to_string(desk.path().join("keys").join(name)).unwrap();
    let key = match stranger {
        true => nkeys::KeyPair::new_user(),
        false => nkeys::KeyPair::from_seed(text("auto.nk").trim()).unwrap(),
    };
    let realm = console.ready["realm"].as_str().unwrap().parse().unwrap();
    let subject = format!("countersign.v1.audit.{}", text("console-id").trim());
    let head = json!({ "seq": seq, "hash": hash, "at": "2026-11-21T12:00:00.000Z" });
    let payload = serde_json::to_vec(&head).unwrap();
    let envelope = SignedEnvelope::seal(&key, Context::Audit, &realm, &subject, &payload);
    envelope.unwrap().to_bytes().unwrap()
}

fn first_bad(desk: &Desk) -> (String, String, String) {
    let (code, found) = verify(desk);
    assert_eq!((code, &found["ok"]), (1, &json!(false)), "{found}");
    let bad = |name: &str| found["first_bad"][name].as_str().unwrap().to_owned();
    (bad("table"), bad("id"), bad("reason"))
}

#[tokio::test]
async fn a_tail_that_was_cut_is_missed_by_its_anchor_on_the_bus() {
    let (desk, _console, head) = anchored().await;
    let (code, found) = verify(&desk);
    assert_eq!(
        (code, &found["anchors_from_bus"]),
        (0, &json!(true)),
        "{found}"
    );
    assert!(found["anchored_seq"].as_i64() >= Some(head));
    tamper(
        &desk,
        &[
            MAY_CUT,
            // Everything that follows the request, as if nobody had ever approved it.
            "DELETE FROM audit WHERE seq > (SELECT seq FROM audit WHERE action = 'request' AND subject = 'default/local/r2')",
            "DELETE FROM decisions WHERE request_id = 'r2'",
            "DELETE FROM anchors",
        ],
    )
    .await;
    let (table, id, reason) = first_bad(&desk);
    assert_eq!((table.as_str(), id), ("audit", head.to_string()));
    assert!(reason.contains("the log ends at row"), "{reason}");
}

#[tokio::test]
async fn a_log_that_was_rewritten_whole_is_not_the_anchored_one() {
    let (desk, console, head) = anchored().await;
    tamper(&desk, &[MAY_CHANGE, "DELETE FROM anchors"]).await;
    rewrite(&desk).await;
    assert_eq!(
        first_bad(&desk),
        (
            "audit".into(),
            head.to_string(),
            "it is not the row that was anchored".into()
        )
    );
    console.stop(Signal::SIGTERM);
    // Without the bus and without the anchors kept here nothing shows it, and the command says so.
    tamper(&desk, &["DELETE FROM anchors"]).await;
    let (code, found) = verify(&desk);
    assert_eq!(
        (code, &found["anchored_seq"], &found["anchors_from_bus"]),
        (0, &json!(0), &json!(false))
    );
    let reported = desk.run(&["audit", "verify"]).success();
    assert!(
        reported
            .out
            .contains("the bus was not reached, so its anchors were not read"),
        "{}",
        reported.out
    );
}

#[tokio::test]
async fn an_anchor_that_is_gone_or_that_nobody_here_signed_is_named() {
    let (desk, console, head) = anchored().await;
    let hash = desk.json(&["audit", "head", "--json"])["hash"]
        .as_str()
        .unwrap()
        .to_owned();
    lay(&desk, &console, sealed(&desk, &console, true, head, &hash)).await;
    assert_eq!(
        first_bad(&desk),
        (
            "anchors".into(),
            head.to_string(),
            "its signature is not valid".into()
        )
    );
    let (desk, console, _) = anchored().await;
    lay(&desk, &console, b"?".to_vec()).await;
    let (table, id, _) = first_bad(&desk);
    assert_eq!(table, "anchors");
    assert!(id.starts_with("CS_AUDIT/"), "{id}");
    let (desk, console, _) = anchored().await;
    lay(
        &desk,
        &console,
        sealed(&desk, &console, false, 9_999, &hash),
    )
    .await;
    assert_eq!(
        (first_bad(&desk).0.as_str(), first_bad(&desk).1.as_str()),
        ("audit", "9999")
    );
    let (desk, console, head) = anchored().await;
    let hash = desk.json(&["audit", "head", "--json"])["hash"].clone();
    // As good as the one that is on the bus, and not there.
    let gone = sealed(&desk, &console, false, head, hash.as_str().unwrap());
    let gone = SignedEnvelope::from_bytes(&gone).unwrap();
    let file = format!("sqlite://{}", desk.path().join("countersign.db").display());
    let mut store = SqliteConnection::connect(&file).await.unwrap();
    sqlx::query("UPDATE anchors SET payload = ?, sig = ? WHERE seq = ?")
        .bind(gone.payload_bytes().unwrap())
        .bind(gone.sig.to_string())
        .bind(head)
        .execute(&mut store)
        .await
        .unwrap();
    store.close().await.unwrap();
    let (table, id, reason) = first_bad(&desk);
    assert_eq!((table.as_str(), id), ("anchors", head.to_string()));
    assert!(reason.contains("no longer has it"), "{reason}");
}

#[tokio::test]
async fn a_value_of_the_policy_that_was_changed_or_slipped_in_is_named() {
    for statement in [
        "UPDATE policy SET payload = x'7b7d'",
        "UPDATE policy_history SET payload = x'7b7d'",
        "INSERT INTO policy_history(key, revision, payload, signer, sig) VALUES ('panic', 1, x'7b7d', 'U', 's')",
        "INSERT INTO policy(key, revision, payload, signer, sig) VALUES ('panic', 1, x'7b7d', 'U', 's')",
        "DELETE FROM policy",
        "DELETE FROM policy_history",
        "DELETE FROM policy_history WHERE revision = (SELECT min(revision) FROM policy_history)",
    ] {
        let desk = decided().await;
        let console = Console::start(&desk);
        for state in ["on", "off"] {
            desk.run(&["panic", state]).success();
        }
        console.stop(Signal::SIGTERM);
        tamper(&desk, &[statement]).await;
        assert_eq!(first_bad(&desk).0, "policy", "{statement}");
    }
}

#[tokio::test]
async fn the_words_of_a_rule_set_that_decided_are_those_of_their_digest() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let rules = desk.path().join("rules.toml");
    let text = "schema = 1\n[[rule]]\nid = \"no-mails\"\neffect = \"deny\"\ntool = \"send_mail\"\n";
    std::fs::write(&rules, text).unwrap();
    desk.run(&["rules", "apply", rules.to_str().unwrap()])
        .success();
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&agent.request("r1")).await;
    desk.show_in_state("r1", "decided");
    console.stop(Signal::SIGTERM);
    assert_eq!(verify(&desk).1["ok"], true);
    for statement in [
        "UPDATE policy_versions SET body = x'7b7d'",
        "DELETE FROM policy_versions",
    ] {
        tamper(&desk, &[statement]).await;
        assert_eq!(first_bad(&desk).0, "policy_versions", "{statement}");
    }
}
