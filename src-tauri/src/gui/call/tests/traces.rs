//! The list of traces, call trees, spans.

use countersign_wire::AgentKey;
use serde_json::{Value, json};

use super::Page;

pub(super) fn span(agent: &str, trace: &str, id: &str, more: Value) -> (AgentKey, Vec<u8>) {
    let mut span = json!({
        "v": 1, "type": "span", "trace_id": trace, "span_id": id, "name": format!("{id} of {trace}"), "kind": "tool",
        "status": "ok", "started_at": "2026-11-21T12:00:00.000Z", "ended_at": "2026-11-21T12:00:01.000Z",
    });
    let fields = span.as_object_mut().unwrap();
    fields.extend(more.as_object().cloned().unwrap_or_default());
    (agent.parse().unwrap(), span.to_string().into_bytes())
}

/// As a program that speaks OTLP would have them relayed.
async fn send(page: &Page, spans: Vec<(AgentKey, Vec<u8>)>) {
    let spans = spans.into_iter().map(|(agent, body)| (agent, body.into()));
    page.desk.app.relay_events(spans.collect()).await.unwrap();
}

pub(super) async fn relay(page: &Page, spans: Vec<(AgentKey, Vec<u8>)>, last: &str, count: usize) {
    send(page, spans).await;
    page.until(last, async |app| {
        let trace = app.trace(last).await.ok()?;
        (trace.entries.len() == count).then_some(())
    })
    .await;
}

fn shown(text: &Value) -> String {
    let parts = text.as_array().unwrap().iter();
    parts.filter_map(|part| part["text"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_fifty_traces_follow_each_other_the_one_last_written_to_first() {
    let page = Page::open().await;
    let spans = (0..120).map(|number| span("acme/bot", &format!("t{number:03}"), "a", json!({})));
    relay(&page, spans.collect(), "t119", 1).await;
    relay(
        &page,
        vec![span("acme/bot", "t000", "b", json!({}))],
        "t000",
        2,
    )
    .await;
    let (mut before, mut keys, mut sizes) = (json!(null), Vec::new(), Vec::new());
    loop {
        let answer = page.call("traces_page", json!({"before": before})).await;
        let rows = answer["rows"].as_array().unwrap();
        sizes.push(rows.len());
        keys.extend(
            rows.iter()
                .map(|row| row["key"].as_str().unwrap().to_owned()),
        );
        before = answer["next"].clone();
        if before.is_null() {
            break;
        }
    }
    assert_eq!(sizes, [50, 50, 20]);
    let tree = page.call("trace_tree", json!({"key": keys[0]})).await;
    assert_eq!(
        (
            shown(&tree["trace"]),
            tree["lines"].as_array().unwrap().len()
        ),
        ("t000".to_owned(), 2)
    );
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 120, "each once");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_is_found_by_its_row_its_id_and_its_requests_and_no_other_agent_takes_a_request_s_name()
 {
    let page = Page::open().await;
    let bot = page.agent("acme/bot").await;
    bot.ask(
        "r1",
        ("pay", "low"),
        json!({"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}),
    )
    .await;
    bot.ask("r2", ("pay", "low"), json!({})).await;
    page.in_state("r2", "pending").await;
    let real = "0af7651916cd43dd8448eb211c80319c";
    let run = span(
        "acme/bot",
        real,
        "b7ad6b7169203331",
        json!({"name": "real"}),
    );
    relay(&page, vec![run], real, 2).await;
    // Ids are the agents' own words: nothing keeps one from writing another's name there.
    let false_ones =
        ["acme/bot/r1", "acme/bot/r2"].map(|name| span("other/rogue", name, "x", json!({})));
    send(&page, false_ones.to_vec()).await;
    let rows = page.until("all three traces", async |_| {
        let answer = page.call("traces_page", json!({"before": null})).await;
        Some(answer["rows"].clone()).filter(|rows| rows.as_array().unwrap().len() == 3)
    });
    let rows = rows.await;
    let row = rows[2]["key"].as_str().unwrap();
    for key in [
        real,
        "  0af7651916cd43dd8448eb211c80319c\n",
        "acme/bot/r1",
        "r1",
        row,
    ] {
        let tree = page.call("trace_tree", json!({"key": key})).await;
        assert_eq!(shown(&tree["trace"]), real, "{key:?}");
        assert_eq!(tree["agents"], json!(["acme/bot"]), "{key:?}");
    }
    let led = page.call("led_here", json!({"key": "acme/bot/r1"})).await;
    assert_eq!(led["lines"].as_array().unwrap().len(), 1, "{led}");
    for key in [
        "acme/bot/r2",
        "trace:999999",
        "trace:",
        "trace:one",
        "trace:-1",
        "none",
        "",
    ] {
        assert_eq!(
            page.code("trace_tree", json!({"key": key})).await,
            "not_found",
            "{key:?}"
        );
    }
    for key in ["acme/bot/r2", "acme/bot/none"] {
        let led = page.call("led_here", json!({"key": key})).await;
        assert_eq!(
            (&led["lines"], &led["earlier"]),
            (&json!([]), &json!(0)),
            "{key}"
        );
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_span_is_shown_with_its_secrets_hidden_and_its_bytes_come_in_parts() {
    let page = Page::open().await;
    let filler = "0123456789abcdef".repeat(10_000);
    let body = json!({"input": {"api_key": "sk-aaaabbbbccccdddd"}, "output": filler});
    relay(&page, vec![span("acme/bot", "t", "a", body)], "t", 1).await;
    let tree = page.call("trace_tree", json!({"key": "t"})).await;
    let id = tree["lines"][0]["span"].as_i64().unwrap();
    let seen = page.call("span", json!({"span": id})).await;
    assert!(!seen.to_string().contains("sk-aaaabbbbccccdddd"), "{seen}");
    let key = format!("span:{id}");
    let (mut offset, mut text, mut parts) = (json!(0), String::new(), 0);
    while !offset.is_null() {
        let part = page
            .call("span_raw", json!({"key": key, "offset": offset}))
            .await;
        text += &shown(&part["text"]);
        offset = part["next"].clone();
        parts += 1;
    }
    assert!(
        text.contains(&filler) && parts == 3,
        "{parts} parts of {} bytes",
        text.len()
    );
    for (key, offset, code) in [
        (key.as_str(), 1_000_000_000_u64, "usage"),
        (key.as_str(), u64::MAX, "usage"),
        ("span:999999", 0, "not_found"),
        ("span:", 0, "not_found"),
        ("acme/bot/r1", 0, "not_found"),
        ("", 0, "not_found"),
    ] {
        let args = json!({"key": key, "offset": offset});
        assert_eq!(page.code("span_raw", args).await, code, "{key} {offset}");
    }
    for id in [0, -1, i64::MAX] {
        assert_eq!(
            page.code("span", json!({"span": id})).await,
            "not_found",
            "{id}"
        );
    }
    page.close().await;
}
