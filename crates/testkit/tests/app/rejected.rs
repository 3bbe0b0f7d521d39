use countersign_wire::Verdict;
use serde_json::{Value, json};

use crate::agent::{Desk, in_state, inbox_ids, listed, verdict};

fn with(mut request: Value, field: &str, value: Value) -> Vec<u8> {
    request[field] = value;
    serde_json::to_vec(&request).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_rejected_request_is_kept_answered_and_never_approvable() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let good = |id: &str| agent.request(id);
    let text = |id: &str| serde_json::to_string(&good(id)).unwrap();
    let mut deep = json!(1);
    for _ in 0..70 {
        deep = json!([deep]);
    }
    let mut without_risk = good("missing");
    without_risk.as_object_mut().unwrap().remove("risk");
    let table: Vec<(&str, &str, Vec<u8>)> = vec![
        ("not_json", "notjson", b"{\"v\":1".to_vec()),
        (
            "not_json",
            "bom",
            [b"\xef\xbb\xbf".as_slice(), text("bom").as_bytes()].concat(),
        ),
        (
            "bad_version",
            "version",
            with(good("version"), "v", json!(2)),
        ),
        (
            "unknown_kind",
            "kind",
            with(good("kind"), "kind", json!("wish")),
        ),
        (
            "missing_field",
            "missing",
            serde_json::to_vec(&without_risk).unwrap(),
        ),
        ("wrong_type", "type", with(good("type"), "run_id", json!(7))),
        (
            "bad_timestamp",
            "stamp",
            with(good("stamp"), "requested_at", json!("yesterday")),
        ),
        (
            "bad_lifetime",
            "life",
            with(
                good("life"),
                "expires_at",
                json!("2026-11-21T12:00:00.000Z"),
            ),
        ),
        (
            "digest_mismatch",
            "digest",
            with(good("digest"), "args", json!({"invoice_id": "INV-1"})),
        ),
        (
            "subject_mismatch",
            "subject",
            with(good("subject"), "request_id", json!("other")),
        ),
        (
            "too_large",
            "large",
            with(good("large"), "reason", json!("x".repeat(600 * 1024))),
        ),
        ("too_deep", "deep", with(good("deep"), "extra", deep)),
        (
            "duplicate_key",
            "dup",
            text("dup")
                .replacen("\"v\":1", "\"v\":1,\"v\":1", 1)
                .into_bytes(),
        ),
        (
            "integer_out_of_range",
            "int",
            with(good("int"), "extra", json!(9_007_199_254_740_993_u64)),
        ),
        (
            "non_finite_number",
            "inf",
            text("inf")
                .replacen("\"v\":1", "\"v\":1,\"x\":1e999", 1)
                .into_bytes(),
        ),
        (
            "lone_surrogate",
            "sur",
            text("sur")
                .replacen("\"v\":1", "\"v\":1,\"x\":\"\\ud800\"", 1)
                .into_bytes(),
        ),
    ];
    for (code, id, payload) in table {
        agent
            .publish(agent.subject("request", id), payload.clone())
            .await
            .unwrap();
        let row = in_state(&desk.app, id, "rejected").await;
        assert_eq!(
            row.error_code.as_deref(),
            Some(code),
            "{id}: {:?}",
            row.error_detail
        );
        assert_eq!(row.raw, payload, "{id}: kept byte for byte");
        let decision = agent.decision(id).await;
        assert_eq!(
            (&decision["verdict"], &decision["origin"]),
            (&json!("rejected"), &json!("system"))
        );
        let why = format!("{code}: {}", row.error_detail.unwrap_or_default());
        assert_eq!(decision["message"], why, "{id}: the agent is informed why");
        let refused = desk
            .app
            .decide(verdict(&agent.key(id), Verdict::Approve))
            .await
            .unwrap_err();
        assert_eq!(refused.code.as_str(), "not_approvable", "{id}");
    }
    assert!(inbox_ids(&desk.app).await.is_empty());
    agent.ask(&agent.request("fine")).await;
    listed(&desk.app, "fine").await;
    assert_eq!(desk.app.audit_verify(None).await.unwrap().first_bad, None);
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_that_names_nobody_is_listed_by_its_sequence() {
    let desk = Desk::open().await;
    let agent = desk.agent("bot").await;
    let payload = serde_json::to_vec(&agent.request("x")).unwrap();
    let seq = agent
        .publish(agent.subject("request", "-bad-"), payload)
        .await
        .unwrap();
    let row = in_state(&desk.app, &format!("rejected:{seq}"), "rejected").await;
    assert_eq!(row.error_code.as_deref(), Some("bad_subject"));
    let refused = desk.app.resolve(&row.request_id).await.unwrap_err();
    assert_eq!(refused.code.as_str(), "not_approvable");
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_request_too_many_is_rejected_and_the_others_wait() {
    let desk = Desk::open_with(|options| options.waiting_limit = 3).await;
    let agent = desk.agent("bot").await;
    for id in ["a", "b", "c", "d"] {
        agent.ask(&agent.request(id)).await;
    }
    let row = in_state(&desk.app, "d", "rejected").await;
    assert_eq!(row.error_code.as_deref(), Some("too_many_waiting"));
    assert_eq!(inbox_ids(&desk.app).await, ["a", "b", "c"]);
    desk.app
        .decide(verdict(&agent.key("a"), Verdict::Deny))
        .await
        .unwrap();
    agent.ask(&agent.request("e")).await;
    in_state(&desk.app, "e", "pending").await;
    desk.app.shutdown().await;
}
