//! Every other message than a tool call goes through as it is, both ways.

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::Client;
use crate::desk::{Desk, eventually};

const MESSAGES: usize = 5_000;

fn value() -> impl proptest::strategy::Strategy<Value = Value> {
    let leaf = proptest::prop_oneof![
        proptest::strategy::Just(Value::Null),
        proptest::bool::ANY.prop_map(Value::from),
        (-9_007_199_254_740_991_i64..9_007_199_254_740_991).prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "[\\x00-\\x7f]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        proptest::prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec(("\\PC{0,6}", inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Messages of every kind but tool calls, some with blanks where no reader looks.
fn messages(of: impl Fn(usize, Value) -> Value) -> Vec<u8> {
    let mut runner = TestRunner::deterministic();
    let mut bytes = Vec::new();
    for n in 0..MESSAGES {
        let any = value().new_tree(&mut runner).expect("a value").current();
        let text = of(n, any).to_string();
        let blank = if n % 3 == 0 { " \t" } else { "" };
        let end = if n % 7 == 0 { "\r\n" } else { "\n" };
        bytes.extend_from_slice(format!("{blank}{text}{blank}{end}").as_bytes());
    }
    bytes
}

#[test]
fn ten_thousand_messages_that_are_no_tool_calls_arrive_byte_for_byte() {
    let sent = messages(|n, any| match n % 5 {
        0 => json!({"jsonrpc": "2.0", "id": n, "method": "resources/read", "params": any}),
        1 => {
            json!({"method": "x/unknown", "jsonrpc": "2.0", "params": {"name": "pay", "any": any}, "id": any})
        }
        2 => json!({"jsonrpc": "2.0", "method": "notifications/other", "params": any}),
        3 => json!({"jsonrpc": "2.0", "id": format!("s{n}"), "result": any, "more": any}),
        _ => json!({"jsonrpc": "2.0", "id": n, "error": {"code": n, "message": "m", "data": any}}),
    });
    let said = messages(|n, any| match n % 5 {
        0 => json!({"jsonrpc": "2.0", "id": n, "result": any}),
        1 => json!({"jsonrpc": "2.0", "id": n, "method": "sampling/createMessage", "params": any}),
        2 => json!({"jsonrpc": "2.0", "method": "notifications/message", "params": any}),
        3 => json!([any, {"content": any}]),
        _ => any,
    });
    let said = [said.as_slice(), b"no JSON \xff at all\n\n"].concat();
    let desk = Desk::new();
    let agent = desk.path().join("agent.json").display().to_string();
    let mut client = Client::start(&desk, &["--agent-json", &agent], &said);
    client.write(&sent);
    let mut reported = Vec::new();
    while reported.len() < said.len() {
        reported.extend(client.line());
        reported.push(b'\n');
    }
    assert!(reported == said, "what the server says");
    let read = eventually(|| {
        let read = client.read();
        (read.len() >= sent.len()).then_some(read).ok_or("not all")
    });
    assert!(read == sent, "what the client sends");
    // A last line without its end is a line.
    client.write(b"{\"method\":\"last\"}");
    client.stdin = None;
    assert_eq!(client.proxy.wait(), Some(0));
    assert!(client.read().ends_with(b"{\"method\":\"last\"}\n"));
}
