use std::time::Duration;

use countersign_core::domain::Timestamp;
use countersign_core::domain::facts::RequestSummary;
use countersign_core::domain::history::{HistoryFilter, Sort, SortBy};
use countersign_core::{App, Options};
use countersign_testkit::{PlainServer, TempData};
use countersign_wire::args_digest;
use serde_json::json;

use crate::agent::{
    Agent, Desk, caught_up, colleague, in_state, inbox_ids, listed, options, troubles,
};
use crate::policy::apply;

const APPROVES: &str = r#"
schema = 1
[[rule]]
id = "all"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["countersign_probe", "delete_invoice"]
"#;

async fn denied(agent: &Agent, id: &str) {
    let mut request = agent.request(id);
    request["tool"]["name"] = json!("countersign_probe");
    request["risk"] = json!("low");
    agent.ask(&request).await;
    let decision = agent.decision(id).await;
    let reported = ["verdict", "message", "origin"].map(|name| decision[name].clone());
    assert_eq!(
        reported,
        [json!("deny"), json!("probe"), json!("system")],
        "{id}"
    );
}

async fn arrived(app: &App) -> u64 {
    let all = (Timestamp(0), Timestamp(i64::MAX / 2));
    let reported = app.overview(all, 1, None).await.unwrap();
    reported.volume.iter().map(|volume| volume.arrived).sum()
}

/// The history in every order, which must be one list.
async fn history_ids(app: &App) -> Vec<String> {
    let filter = HistoryFilter::default();
    let page = app.history_page(&filter, None, 9, None).await.unwrap();
    let ids = |rows: &[RequestSummary]| -> Vec<String> {
        rows.iter().map(|row| row.request_id.clone()).collect()
    };
    let found = ids(&page.rows);
    for by in [SortBy::Stored, SortBy::Decided, SortBy::Risk] {
        let sort = Sort {
            by,
            ascending: false,
        };
        let sorted = app.history_sorted(&filter, (sort, None), 9, None).await;
        assert_eq!(ids(&sorted.unwrap().rows), found, "{by:?}");
    }
    let whole = app.history_count(&filter, Duration::from_secs(9)).await;
    assert_eq!(whole.unwrap().requests, i64::try_from(found.len()).unwrap());
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_is_denied_at_once_whatever_rules_and_controls_say_and_counts_nowhere() {
    let desk = Desk::open().await;
    let data = TempData::new();
    let second = colleague(&desk, &data, "Grace").await;
    let agent = desk.agent("bot").await;
    denied(&agent, "without-rules").await;
    apply(&desk.app, APPROVES).await;
    denied(&agent, "with-a-rule").await;
    desk.app.set_panic(true).await.unwrap();
    denied(&agent, "in-panic").await;
    agent.ask(&agent.request("other")).await;
    for app in [&desk.app, &second] {
        listed(app, "other").await;
        in_state(app, "in-panic", "decided").await;
        assert_eq!(inbox_ids(app).await, ["other"]);
        assert_eq!(arrived(app).await, 1);
        assert_eq!(history_ids(app).await, ["other"]);
        let values = app.history_filter_values().await.unwrap();
        assert_eq!(values.tools, ["delete_invoice"]);
        assert!(troubles(app).await.is_empty());
    }
    second.shutdown().await;
    desk.app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_that_came_while_no_console_ran_is_denied_when_one_starts() {
    let server = PlainServer::start_with(
        "accounts { HOUSE { jetstream: enabled, users: [{ user: all, password: all }] } }\n\
         no_auth_user: all",
    )
    .await;
    let data = TempData::new();
    let outside = || Options {
        nats_url: Some(server.url().to_owned()),
        allow_single_account: true,
        ..options(&data)
    };
    let app = App::start(outside()).await.unwrap();
    caught_up(&app).await;
    app.shutdown().await;
    let client = async_nats::connect(server.url()).await.unwrap();
    let request = json!({
        "v": 1, "kind": "tool_call", "request_id": "r1", "workspace": "acme", "agent": {"name": "bot"},
        "tool": {"name": "countersign_probe"}, "args": {}, "args_digest": args_digest(&json!({})).unwrap().to_string(),
        "risk": "low", "allowed_verdicts": ["approve", "deny"],
        "requested_at": "2026-11-21T12:00:00.000Z", "expires_at": "2026-11-21T12:01:00.000Z",
    });
    let subject = "countersign.v1.request.acme.bot.r1";
    let asked = client
        .request(subject, request.to_string().into())
        .await
        .unwrap();
    assert!(!asked.payload.is_empty());
    let app = App::start(outside()).await.unwrap();
    let row = in_state(&app, "r1", "decided").await;
    assert_eq!(row.verdict.as_deref(), Some("deny"));
    assert_eq!(row.origin.as_deref(), Some("system"));
    app.shutdown().await;
}
