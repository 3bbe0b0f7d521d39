//! `show` for a person: the request whole.

use serde_json::{Value, json};

use crate::desk::{Agent, Console, Desk};

/// Every field of a request, each with a word that occurs nowhere else.
fn whole() -> [(&'static str, Value); 21] {
    [
        ("title", json!("word-title")),
        ("reason", json!("word-reason")),
        ("preview", json!("word-preview\nword-preview-2")),
        (
            "confirm",
            json!({"setup_key": "word-key", "command": "word-command", "explanation": "word-explanation"}),
        ),
        ("args_raw", json!("{\"to\" : \"word-raw\"}")),
        (
            "effective",
            json!({"fixed": {"a": "word-fixed"}, "injected_names": ["word-injected"]}),
        ),
        (
            "tool",
            json!({"name": "send_mail", "description": "word-description", "namespace": "word-space", "origin": "mcp", "effects": "irreversible", "args_schema": {"title": "word-schema"}}),
        ),
        (
            "skill",
            json!({"name": "word-skill", "allowed_tools": ["word-allowed"]}),
        ),
        (
            "chain",
            json!({"chain_id": "word-chain", "seq": 3, "max_calls": 7}),
        ),
        ("group", json!({"id": "word-group", "index": 0, "size": 2})),
        (
            "native_digest",
            json!({"alg": "word-alg", "value": "word-native-digest"}),
        ),
        (
            "history",
            json!([{"role": "user", "content": "word-history"}]),
        ),
        ("metadata", json!({"m": {"n": "word-metadata"}})),
        ("native", json!({"n": "word-native"})),
        ("run_id", json!("word-run")),
        ("thread_id", json!("word-thread")),
        ("call_id", json!("word-call")),
        (
            "traceparent",
            json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ),
        ("approvals_required", json!(1)),
        ("field_of_tomorrow", json!({"x": "word-unknown"})),
        ("args", json!({"to": "word-args"})),
    ]
}

fn words(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.extend(text.lines().map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| words(item, found)),
        Value::Object(fields) => fields.values().for_each(|item| words(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn a_person_sees_every_field_of_a_request() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let mut request = agent.request("r1");
    let name = agent.name.clone();
    for (field, value) in whole() {
        request = match field {
            "args" => request.args(value),
            _ => request.set(field, value),
        };
    }
    let itself = json!({"name": name, "type": "word-type", "framework": "word-framework", "framework_version": "1.2.3-word"});
    let request = request.set("agent", itself);
    agent.ask(&request).await;
    desk.show_in_state("r1", "pending");
    let shown = desk.run(&["show", "r1"]).success().out;
    let mut wanted = Vec::new();
    words(&request.0, &mut wanted);
    for word in wanted.iter().filter(|word| *word != "tool_call") {
        assert!(shown.contains(word.as_str()), "{word} is not in {shown}");
    }
    let place = |text: &str| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("{text} is not in {shown}"))
    };
    // The agent's words are under a heading that says so, before the arguments.
    assert!(place("The agent says") < place("word-explanation"));
    assert!(place("word-explanation") < place("Arguments"));
    assert!(place("Arguments") < place("word-args"));
    assert!(place("as the agent describes it") < place("word-description"));
}

#[tokio::test]
async fn a_person_sees_fields_of_the_wrong_type_and_doubled_ones() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let agent = Agent::connect(console.agent_json()).await;
    let odd = agent
        .request("r1")
        .set("title", json!({"t": ["word-title"]}));
    agent.ask(&odd).await;
    let text = String::from_utf8(
        agent
            .request("r2")
            .set("title", json!("word-second"))
            .bytes(),
    )
    .unwrap();
    let doubled = text.replacen('{', r#"{"title":"word-first","#, 1);
    agent.publish("request", "r2", doubled).await;
    for (id, words) in [
        ("r1", &["word-title"][..]),
        ("r2", &["word-first", "word-second"]),
    ] {
        desk.show_in_state(id, "rejected");
        let shown = desk.run(&["show", id]).success().out;
        for word in words {
            assert!(shown.contains(word), "{word} is not in {shown}");
        }
    }
}
