//! `trace`: what agents report about themselves becomes a call tree.

use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk, eventually};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn span(id: &str, parent: Option<&str>, kind: &str, name: &str, ms: (u32, Option<u32>)) -> Value {
    let time = |ms: u32| format!("2026-11-21T12:00:00.{ms:03}Z");
    let mut span = json!({
        "v": 1, "type": "span", "trace_id": TRACE, "span_id": id, "name": name, "kind": kind,
        "started_at": time(ms.0), "status": "ok",
    });
    if let Some(parent) = parent {
        span["parent_span_id"] = json!(parent);
    }
    if let Some(end) = ms.1 {
        span["ended_at"] = json!(time(end));
    }
    span
}

async fn publish(agent: &Agent, span: &Value) {
    let subject = format!("countersign.v1.event.{}.{}", agent.workspace, agent.name);
    let payload = serde_json::to_vec(span).unwrap();
    let answer = agent.client.request(subject, payload.into()).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
    assert!(answer["seq"].is_u64(), "{answer}");
}

/// The tree once it has so many spans and holds what is wanted.
fn tree(desk: &Desk, id: &str, spans: u64, holds: impl Fn(&Value) -> bool) -> Value {
    eventually(|| {
        let shown = desk.run(&["trace", id, "--json"]);
        let tree = (shown.code == 0).then(|| shown.lines().remove(0));
        tree.filter(|tree| tree["spans"] == spans && holds(tree))
            .ok_or(shown)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_in_any_order_and_the_decision_they_waited_for_are_one_tree() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let mut request = agent.request("r1");
    request.0["traceparent"] = json!(format!("00-{TRACE}-b7ad6b7169203331-01"));
    agent.ask(&request).await;
    let mut call = span("b7ad6b7169203331", Some("a1"), "tool", "pay", (20, None));
    call["status"] = json!("waiting");
    call["usage"] = json!({"tokens_charged": 5});
    call["input"] = json!({"amount": 3, "api_key": "sk-aaaabbbbccccddddeeee"});
    publish(&agent, &call).await;
    let mut model = span("l1", Some("a1"), "llm", "round 1", (0, Some(10)));
    model["usage"] = json!({"tokens_charged": 7});
    publish(&agent, &model).await;
    publish(
        &agent,
        &span("a1", None, "agent", "close account", (0, None)),
    )
    .await;
    // The later replaces the earlier.
    publish(
        &agent,
        &span("a1", None, "agent", "close account", (0, Some(90))),
    )
    .await;

    let shown = tree(&desk, TRACE, 3, |tree| {
        tree["roots"][0]["duration_ms"] == 90
    });
    assert_eq!(shown["trace_id"], TRACE);
    let root = &shown["roots"][0];
    assert_eq!(shown["roots"].as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(
        (&root["name"], &root["duration_ms"]),
        (&json!("close account"), &json!(90))
    );
    assert_eq!(root["usage_total"]["tokens_charged"], 12.0);
    assert_eq!(root["children"][0]["name"], "round 1");
    let call = &root["children"][1];
    assert_eq!(call["status"], "waiting");
    assert_eq!(call["input"]["amount"], 3);
    let hidden = call["input"]["api_key"].as_str().unwrap();
    assert!(hidden.starts_with("(hidden: 23 characters, "), "{hidden}");
    let gate = &call["children"][0];
    assert_eq!(gate["kind"], "request");
    assert_eq!(gate["request"]["state"], "pending");

    desk.run(&["deny", "r1", "--message", "no"]).success();
    let gate = |tree: &Value| tree["roots"][0]["children"][1]["children"][0]["request"].clone();
    let decided = tree(&desk, "r1", 3, |tree| gate(tree)["state"] == "decided");
    let decided = gate(&decided);
    assert_eq!(
        (&decided["verdict"], &decided["origin"]),
        (&json!("deny"), &json!("operator"))
    );
    let text = desk.run(&["trace", TRACE]).success().out;
    assert!(text.contains("deny after"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_spans_are_kept_shown_sanely_and_harm_nothing() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    publish(
        &agent,
        &span(
            "x",
            Some("y"),
            "tool",
            "one\u{202e}evil\u{1b}[31m",
            (5, Some(1)),
        ),
    )
    .await;
    let mut two = span("y", Some("x"), "tool", "two", (6, Some(8)));
    two["tool_name"] = json!("pay\u{202e}evil");
    two["error"] = json!({"type": "t\u{200b}", "code": "c\u{1b}[2J", "message": "m\u{202e}"});
    publish(&agent, &two).await;
    publish(&agent, &json!({"v": 1, "type": "span", "trace_id": TRACE})).await;
    publish(
        &agent,
        &span(&"z".repeat(300), None, "tool", "long", (0, None)),
    )
    .await;
    publish(
        &agent,
        &span("last", None, "agent", "after all that", (0, None)),
    )
    .await;

    let shown = tree(&desk, TRACE, 3, |_| true);
    let roots = shown["roots"].as_array().unwrap();
    assert_eq!(roots[0]["name"], "after all that");
    assert_eq!(roots[1]["repairs"], json!(["loop", "ends_before_start"]));
    let two = &roots[1]["children"][0];
    assert_eq!(
        (&two["name"], &two["tool_name"]),
        (&json!("two"), &json!("pay⟨U+202E⟩evil"))
    );
    assert_eq!(
        two["error"],
        json!({"type": "t⟨U+200B⟩", "code": "c⟨U+001B⟩[2J", "message": "m⟨U+202E⟩"})
    );
    let text = desk.run(&["trace", TRACE]).success().out;
    assert!(
        !text.contains('\u{202e}') && !text.contains('\u{1b}'),
        "{text:?}"
    );
    assert!(text.contains("U+202E"), "{text}");
    let missing = desk.run(&["trace", "nowhere", "--json"]);
    assert_eq!(missing.error().1, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_another_conversation_is_a_subchat_and_the_call_says_how_many_it_waits_for() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let of = |thread: &str, mut span: Value, status: &str| {
        (span["thread_id"], span["status"]) = (json!(thread), json!(status));
        span
    };
    for span in [
        of(
            "main",
            span("a1", None, "agent", "desk", (0, None)),
            "running",
        ),
        of(
            "main",
            span("c1", Some("a1"), "tool", "hand_out", (1, None)),
            "waiting",
        ),
        of(
            "north",
            span("n1", Some("c1"), "agent", "ask the north", (2, None)),
            "running",
        ),
        of(
            "south",
            span("s1", Some("c1"), "agent", "ask the south", (3, Some(9))),
            "ok",
        ),
        of(
            "main",
            span("m1", Some("c1"), "agent", "myself", (4, Some(8))),
            "ok",
        ),
    ] {
        publish(&agent, &span).await;
    }
    let shown = tree(&desk, TRACE, 5, |_| true);
    let call = &shown["roots"][0]["children"][0];
    let named: Vec<_> = call["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| {
            (
                line["name"].clone(),
                line["kind"].clone(),
                line["subchat"].clone(),
            )
        })
        .collect();
    assert_eq!(
        named,
        [
            (json!("ask the north"), json!("agent"), json!(true)),
            (json!("ask the south"), json!("agent"), json!(true)),
            (json!("myself"), json!("agent"), json!(false)),
        ]
    );
    let text = desk.run(&["trace", TRACE]).success().out;
    for words in [
        "tool hand_out, not ended, waits for 1 subchat",
        "subchat ask the north",
        "subchat ask the south",
        "agent myself",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_request_is_decided_waits_for_its_subchats_and_a_failed_one_says_why() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let mut request = agent.request("r1");
    request.0["traceparent"] = json!(format!("00-{TRACE}-00f067aa0ba902b7-01"));
    agent.ask(&request).await;
    let of = |thread: &str, mut span: Value, status: &str| {
        (span["thread_id"], span["status"]) = (json!(thread), json!(status));
        span
    };
    let mut call = of(
        "main",
        span("00f067aa0ba902b7", None, "tool", "hand_out", (1, None)),
        "waiting",
    );
    call["request_id"] = json!("r1");
    publish(&agent, &call).await;
    for (id, thread) in [("n1", "north"), ("s1", "south")] {
        let chat = span(id, Some("00f067aa0ba902b7"), "agent", thread, (2, None));
        publish(&agent, &of(thread, chat, "running")).await;
    }
    for (id, error) in [
        ("e1", json!({"code": 402, "message": "no balance"})),
        (
            "e2",
            json!({"code": "428", "missing_keys": ["STRIPE_KEY", "A\u{202e}"]}),
        ),
        ("e3", json!({"code": "502"})),
        ("e4", json!({"type": "ValueError"})),
    ] {
        let mut failed = span(id, None, "tool", id, (3, Some(4)));
        (failed["status"], failed["error"]) = (json!("error"), error);
        publish(&agent, &failed).await;
    }
    tree(&desk, TRACE, 7, |_| true);
    let text = || desk.run(&["trace", TRACE]).success().out;
    assert!(
        text().contains("waiting for a decision since"),
        "{}",
        text()
    );
    desk.run(&["approve", "r1"]).success();
    desk.show_in_state("r1", "decided");
    let text = text();
    for words in [
        "tool hand_out, not ended, waits for 2 subchats, approve after",
        "tool e1, 1 ms, error 402\n",
        "tool e2, 1 ms, error 428, missing STRIPE_KEY A⟨U+202E⟩\n",
        "tool e3, 1 ms, error 502\n",
        "tool e4, 1 ms, error\n",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    assert!(!text.contains("waiting for a decision since"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_tells_where_it_stands_in_its_agents_trace() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let context = json!(format!("00-{TRACE}-b7ad6b7169203331-01"));
    agent
        .ask(&agent.request("in").set("traceparent", context))
        .await;
    agent.ask(&agent.request("out")).await;
    let reported = desk.show_in_state("in", "pending");
    let wanted = json!({ "trace_id": TRACE, "span_id": "b7ad6b7169203331" });
    assert_eq!(reported["trace"], wanted);
    let text = desk.run(&["show", "in"]).success().out;
    assert!(
        text.contains(&format!("countersign trace {TRACE}")),
        "{text}"
    );
    let whole = desk.json(&["trace", TRACE, "--json"]);
    let ms = |name: &str| whole[name].as_i64().unwrap();
    assert!(ms("duration_ms") >= ms("waiting_ms"), "{whole}");
    assert_eq!(desk.show_in_state("out", "pending")["trace"], Value::Null);
    let text = desk.run(&["show", "out"]).success().out;
    assert!(!text.contains("countersign trace"), "{text}");
}
