use countersign_core::App;
use countersign_core::ops::DecideCommand;
use countersign_wire::Verdict;

use crate::agent::{Desk, in_state, line_when, listed, options, verdict};

async fn tampered(desk: &Desk, sql: &'static str) -> App {
    let path = desk.data.path().join("countersign.db");
    let options_ = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut raw = sqlx::ConnectOptions::connect(&options_).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut raw).await.unwrap();
    App::read(options(&desk.data), false).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_byte_is_found_and_named() {
    for (sql, table, id) in [
        (
            "UPDATE requests SET raw = x'7b7d' WHERE request_id = 'r1'",
            "requests",
            "acme/bot/r1",
        ),
        (
            "UPDATE decisions SET payload = x'7b7d'",
            "decisions",
            "acme/bot/r1",
        ),
        ("UPDATE realm_log SET message = x'7b7d'", "realm_log", "1"),
        (
            "INSERT INTO decisions(ws, agent, request_id, payload, stream_epoch, stream_seq, stored_at)
             VALUES ('acme', 'bot', 'r9', x'7b7d', 'e', 99, 0)",
            "decisions",
            "acme/bot/r9",
        ),
        ("DELETE FROM decisions", "decisions", "acme/bot/r1"),
        (
            "DROP TRIGGER audit_refuses_update; UPDATE audit SET actor = 'somebody' WHERE seq = 2",
            "audit",
            "2",
        ),
        (
            "DROP TRIGGER audit_refuses_delete; DELETE FROM audit WHERE seq = 2",
            "audit",
            "3",
        ),
    ] {
        let desk = Desk::open().await;
        let agent = desk.agent("bot").await;
        let key = agent.ask(&agent.request("r1")).await;
        listed(&desk.app, "r1").await;
        desk.app
            .decide(verdict(&key, Verdict::Approve))
            .await
            .unwrap();
        let head = desk.app.audit_head().await.unwrap();
        let hex: String = head.hash.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            desk.app.audit_verify(Some(&hex)).await.unwrap().first_bad,
            None
        );
        assert!(
            desk.app
                .audit_verify(Some("00"))
                .await
                .unwrap()
                .first_bad
                .is_some()
        );
        desk.app.clone().shutdown().await;
        let reader = tampered(&desk, sql).await;
        let bad = reader
            .audit_verify(None)
            .await
            .unwrap()
            .first_bad
            .expect(sql);
        assert_eq!(
            (bad.table, bad.id.as_str()),
            (table, id),
            "{sql}: {}",
            bad.reason
        );
    }
}

/// What somebody who can write the file may want to have read there, and what is said of it.
const ALTERED: [(&str, &str, &str, &str); 16] = [
    (
        "UPDATE requests SET verdict = 'approve' WHERE request_id = 'r1';
         UPDATE decisions SET verdict = 'approve', effective = 'approve' WHERE request_id = 'r1'",
        "decisions",
        "acme/bot/r1",
        "verdict does not match its bytes",
    ),
    (
        "UPDATE decisions SET message = 'go on' WHERE request_id = 'r1'",
        "decisions",
        "acme/bot/r1",
        "message does not match its bytes",
    ),
    (
        "UPDATE decisions SET decided_by = json_set(decided_by, '$.name', 'bea') WHERE request_id = 'r1'",
        "decisions",
        "acme/bot/r1",
        "decided_by does not match its bytes",
    ),
    (
        "UPDATE decisions SET origin = 'rule' WHERE request_id = 'r1'",
        "decisions",
        "acme/bot/r1",
        "origin does not match its bytes",
    ),
    (
        "UPDATE decisions SET args_digest = 'sha256:00' WHERE request_id = 'r1'",
        "decisions",
        "acme/bot/r1",
        "args_digest does not match its bytes",
    ),
    (
        "UPDATE decisions SET key = 'UABC' WHERE request_id = 'r1'",
        "decisions",
        "acme/bot/r1",
        "its key is not the one that the audit log names",
    ),
    (
        "UPDATE decisions SET sig = 'AAAA' WHERE request_id = 'r1'",
        "decisions",
        "acme/bot/r1",
        "its signature is not valid",
    ),
    (
        "UPDATE decisions SET effective = 'expired' WHERE request_id = 'r1'",
        "decisions",
        "acme/bot/r1",
        "the audit log says otherwise",
    ),
    (
        "DELETE FROM decisions WHERE request_id = 'r1'",
        "decisions",
        "acme/bot/r1",
        "its row is gone",
    ),
    (
        "PRAGMA foreign_keys = OFF; DELETE FROM requests WHERE request_id = 'r2'",
        "requests",
        "acme/bot/r2",
        "its row is gone",
    ),
    (
        "UPDATE requests SET tool = 'read_invoice' WHERE request_id = 'r2'",
        "requests",
        "acme/bot/r2",
        "tool does not match its bytes",
    ),
    (
        "UPDATE requests SET args_digest = 'sha256:00' WHERE request_id = 'r2'",
        "requests",
        "acme/bot/r2",
        "args_digest does not match its bytes",
    ),
    (
        "UPDATE requests SET verdict = 'approve' WHERE request_id = 'r1'",
        "requests",
        "acme/bot/r1",
        "it does not match its decision",
    ),
    (
        "UPDATE requests SET state = 'expired' WHERE request_id = 'r1'",
        "requests",
        "acme/bot/r1",
        "it does not match its decision",
    ),
    (
        "UPDATE requests SET state = 'decided' WHERE request_id = 'bad'",
        "requests",
        "acme/bot/bad",
        "it does not match its decision",
    ),
    (
        "UPDATE requests SET state = 'decided', verdict = 'approve' WHERE request_id = 'r2'",
        "requests",
        "acme/bot/r2",
        "it is marked as decided, but there is no decision",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_of_a_request_or_decision_is_what_was_signed_and_logged() {
    for (sql, table, id, reason) in ALTERED {
        let desk = Desk::open().await;
        let agent = desk.agent("bot").await;
        let key = agent.ask(&agent.request("r1")).await;
        agent.ask(&agent.request("r2")).await;
        let bad = serde_json::json!({ "v": 2 }).to_string().into_bytes();
        agent
            .publish(agent.subject("request", "bad"), bad)
            .await
            .unwrap();
        in_state(&desk.app, "bad", "rejected").await;
        line_when(&desk.app, "bad", |row| row.stream_seq.is_some()).await;
        let deny = DecideCommand {
            message: Some("not this one".to_owned()),
            ..verdict(&key, Verdict::Deny)
        };
        desk.app.decide(deny).await.unwrap();
        in_state(&desk.app, "r1", "decided").await;
        let before = desk.app.audit_verify(None).await.unwrap();
        assert_eq!(before.first_bad, None);
        desk.app.clone().shutdown().await;
        let reader = tampered(&desk, sql).await;
        let found = reader.audit_verify(None).await.unwrap().first_bad;
        let bad = found.expect(sql);
        assert_eq!(
            (bad.table, bad.id.as_str(), bad.reason.as_str()),
            (table, id, reason),
            "{sql}"
        );
    }
}
