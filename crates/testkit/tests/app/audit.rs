use countersign_core::App;
use countersign_wire::Verdict;

use crate::agent::{Desk, listed, options, verdict};

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
        ("UPDATE policy SET payload = x'7b7d'", "policy", "operators"),
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
