//! Messages by which a client could get a call past the gate.

use serde_json::{Value, json};

use super::Client;
use crate::desk::{Desk, eventually};

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"pay","arguments":{}}}"#;

#[test]
fn no_hostile_call_reaches_the_server() {
    let desk = Desk::new();
    let agent = desk.path().join("agent.json").display().to_string();
    let mut client = Client::initialized(&desk, &["--agent-json", &agent]);
    let deep = format!(
        r#"{{"id":1,"method":"tools/call","params":{{"name":"pay","arguments":{}{}}}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let large = format!(
        r#"{{"id":1,"method":"tools/call","params":{{"name":"pay","arguments":"{}"}}}}"#,
        "x".repeat(5 * 1024 * 1024)
    );
    let hostile = [
        format!("[{CALL}]"),
        format!("[{CALL},{CALL}]"),
        format!("{CALL} {CALL}"),
        format!("{CALL}\r{CALL}"),
        format!("{{\"id\":1,\"method\":\"ping\",\"params\":\r{CALL}\r}}"),
        format!("\u{feff}{CALL}"),
        format!("{CALL}\0"),
        CALL.replace("\"id\":8", "\"id\":8,\"id\":9"),
        CALL.replace("\"method\"", "\"method\":\"ping\",\"method\""),
        CALL.replace("\"method\"", "\"m\\u0065thod\":\"ping\",\"method\""),
        CALL.replace("\"method\"", "\"METHOD\""),
        CALL.replace("tools/call", "TOOLS/CALL"),
        CALL.replace("tools/call", "tools/call "),
        CALL.replace("\"pay\"", "\"\""),
        CALL.replace("\"params\"", "\"params\":{\"name\":\"free\"},\"params\""),
        CALL.replace("\"name\"", "\"name\":\"free\",\"name\""),
        CALL.replace("\"name\"", "\"Name\":\"free\",\"name\""),
        CALL.replace("\"arguments\":{}", "\"arguments\":{\"a\":1,\"a\":2}"),
        CALL.replace("\"arguments\":{}", "\"arguments\":{\"a\":1e999}"),
        CALL.replace(
            "\"arguments\":{}",
            "\"arguments\":{\"a\":12345678901234567890}",
        ),
        CALL.replace("\"arguments\":{}", "\"arguments\":\"\\ud800\""),
        CALL.replace("\"id\":8", "\"id\":null"),
        CALL.replace("\"id\":8", "\"id\":1.5"),
        CALL.replace("\"id\":8", "\"id\":{}"),
        CALL.replace("\"id\":8", "\"id\":true"),
        CALL.replace("\"pay\"", "[\"pay\"]"),
        deep,
        large,
    ];
    for line in &hostile {
        client.write(line.as_bytes());
        client.write(b"\n");
        let answer = client.answer();
        assert!(answer["error"]["code"].is_i64(), "{answer} to {line:.200}");
    }
    // Nobody could be answered: it is dropped.
    client.write(CALL.replace("\"id\":8,", "").as_bytes());
    client.write(b"\n");
    client.silent();
    // Escaped it is the same call, and refused as one: nobody is enrolled.
    for call in [
        CALL.to_owned(),
        CALL.replace("tools/call", "tools\\/c\\u0061ll"),
    ] {
        client.write(call.as_bytes());
        client.write(b"\n");
        assert!(client.refusal().starts_with("pay was not run"));
    }
    client.send(&json!({"id": 99, "method": "tools/list"}));
    assert_eq!(client.answer()["id"], 99);
    eventually(|| {
        client
            .read()
            .ends_with(b"\"tools/list\"}\n")
            .then_some(())
            .ok_or("not read")
    });
    assert_eq!(client.relayed(), Vec::<Value>::new());
    let read = String::from_utf8(client.read()).expect("UTF-8");
    let methods: Vec<_> = read.lines().filter(|line| line.contains("pay")).collect();
    assert_eq!(methods, Vec::<&str>::new());
}
