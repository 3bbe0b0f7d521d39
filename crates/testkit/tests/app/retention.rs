//! What retention takes away, and what it leaves.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use countersign_core::clock::Clock;
use countersign_core::domain::Timestamp;
use countersign_core::domain::retention::{Limit, Retention};
use countersign_wire::{AgentKey, Verdict};

use crate::agent::{Desk, in_state, inbox_ids, line_when, listed, verdict};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// This machine's time and so many days.
struct Later(AtomicI64);

impl Clock for Later {
    #[expect(
        clippy::disallowed_methods,
        reason = "the server of this test has this machine's time"
    )]
    fn now(&self) -> Timestamp {
        let days = self.0.load(Ordering::Relaxed);
        Timestamp::from(time::OffsetDateTime::now_utc()).plus_ms(days * DAY_MS)
    }
}

async fn desk() -> (Desk, Arc<Later>) {
    let clock = Arc::new(Later(AtomicI64::new(0)));
    let given = Arc::clone(&clock) as Arc<dyn Clock>;
    let desk = Desk::open_with(|options| options.clock = Some(given)).await;
    (desk, clock)
}

fn days(days: u32) -> Retention {
    let limit = Limit {
        days: Some(days),
        mib: None,
    };
    Retention {
        requests: limit,
        receipts: limit,
        quarantine: limit,
        spans: limit,
    }
}

async fn sql(desk: &Desk, sql: &'static str) {
    let path = desk.data.path().join("countersign.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut raw = sqlx::ConnectOptions::connect(&options).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut raw).await.unwrap();
}

/// The bundle of this moment, checked by the script that knows nothing of this program.
async fn bundle_verifies(desk: &Desk) {
    let file = desk.data.path().join("bundle.jsonl");
    let mut bundle = Vec::new();
    desk.app
        .audit_export(&mut bundle, &|_, _| {})
        .await
        .unwrap();
    std::fs::write(&file, bundle).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().unwrap();
    // The Python environment of set-up, which has the one package that the script needs; else the system's.
    let python = root
        .ancestors()
        .map(|folder| folder.join(".venv/bin/python"))
        .find(|path| path.is_file());
    let checked = Command::new(python.unwrap_or_else(|| "python3".into()))
        .arg(root.join("docs/verify-audit.py"))
        .arg(&file)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{checked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_payload_goes_its_digest_stays_and_the_chain_verifies() {
    let (desk, clock) = desk().await;
    let agent = desk.agent("bot").await;
    let old = agent.ask(&agent.request("old")).await;
    listed(&desk.app, "old").await;
    desk.app.decide(verdict(&old, Verdict::Deny)).await.unwrap();
    let row = line_when(&desk.app, "old", |row| row.stream_seq.is_some()).await;
    let digest = countersign_wire::request_digest(&row.raw).to_string();
    let limits = days(90);
    assert_eq!(
        desk.app.run_retention(&limits).await.unwrap().count,
        0,
        "too young"
    );

    clock.0.store(91, Ordering::Relaxed);
    let run = desk.app.run_retention(&limits).await.unwrap();
    assert_eq!((run.count, run.bytes), (1, row.raw.len() as u64));
    let story = desk.app.show("old").await.unwrap();
    assert_eq!(story.line.raw, b"");
    assert_eq!(story.removed.map(|removed| removed.1), Some(digest));
    assert_eq!(story.line.verdict.as_deref(), Some("deny"));
    assert!(story.decision.is_some(), "decisions are kept");
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    bundle_verifies(&desk).await;
    assert_eq!(
        desk.app.run_retention(&limits).await.unwrap().count,
        0,
        "only once"
    );
    desk.app.shutdown().await;
}

/// A span of a trace, as a program that speaks OTLP would have it relayed.
fn span(trace: &str, number: usize) -> (AgentKey, bytes::Bytes) {
    let body = serde_json::json!({
        "v": 1, "type": "span", "trace_id": trace, "span_id": number.to_string(), "name": "step", "kind": "tool",
        "status": "ok", "started_at": "2026-11-21T12:00:00.000Z", "ended_at": "2026-11-21T12:00:01.000Z",
    });
    ("acme/bot".parse().unwrap(), body.to_string().into())
}

async fn spans_of(desk: &Desk, trace: &str) -> usize {
    let trace = desk.app.trace(trace).await;
    trace.map_or(0, |trace| trace.entries.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_go_when_the_stream_has_let_them_go_and_the_log_names_their_traces() {
    let (desk, clock) = desk().await;
    let spans = (0..300).map(|number| span(["one", "two"][number % 2], number));
    desk.app.relay_events(spans.collect()).await.unwrap();
    while spans_of(&desk, "two").await < 150 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let limits = days(1);
    clock.0.store(13, Ordering::Relaxed);
    assert_eq!(desk.app.run_retention(&limits).await.unwrap().count, 0);
    clock.0.store(15, Ordering::Relaxed);
    let tiny = Retention {
        spans: Limit {
            days: None,
            mib: Some(1),
        },
        ..Retention::default()
    };
    assert_eq!(
        desk.app.run_retention(&tiny).await.unwrap().count,
        0,
        "all of it fits into a MiB"
    );
    let run = desk.app.run_retention(&limits).await.unwrap();
    assert_eq!(run.count, 300);
    assert!(desk.app.traces(None, 9).await.unwrap().lines.is_empty());
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    let mut bundle = Vec::new();
    desk.app
        .audit_export(&mut bundle, &|_, _| {})
        .await
        .unwrap();
    let bundle = String::from_utf8(bundle).unwrap();
    let removed = r#"\"removed\":[\"one\",\"two\"]"#;
    let named = bundle.lines().filter(|line| line.contains("retention"));
    assert!(
        named.clone().any(|line| line.contains(removed)),
        "{:?}",
        named.collect::<Vec<_>>()
    );
    bundle_verifies(&desk).await;
    assert_eq!(desk.app.run_retention(&limits).await.unwrap().count, 0);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_stays_however_old_and_however_large() {
    let (desk, clock) = desk().await;
    let agent = desk.agent("bot").await;
    let mut request = agent.request("waits");
    request["expires_at"] = "2026-12-20T12:00:00.000Z".into();
    agent.ask(&request).await;
    listed(&desk.app, "waits").await;
    // Expiry would end it: the clock goes on only for what retention calls old.
    clock.0.store(20, Ordering::Relaxed);
    let tight = Retention {
        requests: Limit {
            days: Some(1),
            mib: Some(0),
        },
        ..Retention::default()
    };
    assert_eq!(desk.app.run_retention(&tight).await.unwrap().count, 0);
    assert_eq!(inbox_ids(&desk.app).await, ["waits"]);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_that_somebody_else_took_away_or_put_back_is_found() {
    for (change, id) in [
        (
            "UPDATE requests SET raw = x'' WHERE request_id = 'kept'",
            "acme/bot/kept",
        ),
        (
            "UPDATE requests SET raw = x'' WHERE request_id = 'kept';
             INSERT INTO removed(request, at) SELECT id, 1 FROM requests WHERE request_id = 'kept'",
            "acme/bot/kept",
        ),
        (
            "UPDATE requests SET raw = x'7b7d' WHERE request_id = 'old'",
            "acme/bot/old",
        ),
        (
            "UPDATE requests SET request_digest = 'sha256:00' WHERE request_id = 'old'",
            "acme/bot/old",
        ),
    ] {
        let (desk, clock) = desk().await;
        let agent = desk.agent("bot").await;
        let old = agent.ask(&agent.request("old")).await;
        listed(&desk.app, "old").await;
        desk.app.decide(verdict(&old, Verdict::Deny)).await.unwrap();
        in_state(&desk.app, "old", "decided").await;
        clock.0.store(91, Ordering::Relaxed);
        assert_eq!(desk.app.run_retention(&days(90)).await.unwrap().count, 1);
        clock.0.store(0, Ordering::Relaxed);
        agent.ask(&agent.request("kept")).await;
        listed(&desk.app, "kept").await;
        assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
        sql(&desk, change).await;
        let bad = desk.app.audit_verify(None).await.unwrap().first_bad;
        let bad = bad.expect(change);
        assert_eq!((bad.table, bad.id.as_str()), ("requests", id), "{change}");
        desk.app.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_go_until_the_rest_fits_and_the_freed_pages_are_used_again() {
    let (desk, clock) = desk().await;
    let agent = desk.agent("bot").await;
    let mut ids = Vec::new();
    for number in 0..8 {
        let id = format!("r{number}");
        let mut request = agent.request(&id);
        request["metadata"] = serde_json::json!({ "filler": "x".repeat(300_000) });
        let key = agent.ask(&request).await;
        listed(&desk.app, &id).await;
        desk.app.decide(verdict(&key, Verdict::Deny)).await.unwrap();
        in_state(&desk.app, &id, "decided").await;
        ids.push(id);
    }
    clock.0.store(100, Ordering::Relaxed);
    let limits = Retention {
        requests: Limit {
            days: None,
            mib: Some(1),
        },
        ..Retention::default()
    };
    let run = desk.app.run_retention(&limits).await.unwrap();
    assert_eq!(run.count, 5, "three of 300 kB fit into a MiB");
    for (number, id) in ids.iter().enumerate() {
        let story = desk.app.show(id).await.unwrap();
        assert_eq!(story.removed.is_some(), number < 5, "{id}");
    }
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    desk.app.shutdown().await;
}
