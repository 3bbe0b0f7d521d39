//! OTLP into a running console: off unless switched on, and a call tree on every console afterwards.

use std::io::{Read, Write};
use std::net::TcpStream;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::desk::{Console, Desk, eventually};

const TRACE: &str = "5b8efff798038103d269b633813fc60c";

fn span(id: &str, parent: &str, name: &str, attributes: &[(&str, &str)]) -> Value {
    let attributes: Vec<Value> = attributes
        .iter()
        .map(|(key, text)| json!({"key": key, "value": {"stringValue": text}}))
        .collect();
    json!({
        "traceId": TRACE, "spanId": id, "parentSpanId": parent, "name": name, "kind": 1, "attributes": attributes,
        "startTimeUnixNano": "1800000000000000000", "endTimeUnixNano": "1800000001000000000",
    })
}

fn request(service: &str, spans: &[Value]) -> Value {
    json!({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
        "scopeSpans": [{"scope": {"name": "test"}, "spans": spans}],
    }]})
}

/// Status and body of the answer.
fn post(address: &str, headers: &str, body: &Value) -> (u16, String) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /v1/traces HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

fn http(console: &Console) -> String {
    console.ready["otlp"]["http"].as_str().unwrap().to_owned()
}

fn tree(desk: &Desk, spans: u64) -> Value {
    eventually(|| {
        let shown = desk.run(&["trace", TRACE, "--json"]);
        let tree = (shown.code == 0).then(|| shown.lines().remove(0));
        tree.filter(|tree| tree["spans"] == spans).ok_or(shown)
    })
}

#[test]
fn spans_of_any_program_become_a_tree_under_a_name_that_no_enrolled_agent_has() {
    let desk = Desk::new().with("COUNTERSIGN_OTLP_HTTP", "127.0.0.1:0");
    let console = Console::start(&desk);
    let address = http(&console);
    let call = span(
        "00000000000000b2",
        "00000000000000a1",
        "execute_tool pay",
        &[
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "pay"),
            (
                "gen_ai.tool.call.arguments",
                r#"{"api_key":"sk-aaaabbbbccccddddeeee","amount":3}"#,
            ),
        ],
    );
    let root = span(
        "00000000000000a1",
        "",
        "invoke_agent",
        &[("gen_ai.operation.name", "invoke_agent")],
    );
    // A child may come before its parent.
    assert_eq!(
        post(&address, "", &request("local", &[call])),
        (200, "{}".into())
    );
    assert_eq!(post(&address, "", &request("local", &[root])).0, 200);
    let tree = tree(&desk, 2);
    let root = &tree["roots"][0];
    assert_eq!(
        (&root["kind"], &root["workspace"]),
        (&json!("agent"), &json!("default"))
    );
    let agent = root["agent"].as_str().unwrap();
    assert!(agent.starts_with("local-") && agent.len() == 14, "{agent}");
    let call = &root["children"][0];
    assert_eq!(
        (&call["kind"], &call["tool_name"]),
        (&json!("tool"), &json!("pay"))
    );
    assert_eq!(call["attributes"]["countersign.sender"], "unauthenticated");
    assert_eq!(call["input"]["amount"], 3);
    let shown = call["input"]["api_key"].as_str().unwrap();
    assert!(!shown.contains("sk-"), "{shown}");
    let (code, _) = console.stop(Signal::SIGTERM);
    assert_eq!(code, Some(0));
}

#[test]
fn a_token_puts_spans_beside_the_agents_own() {
    let desk = Desk::new();
    std::fs::write(
        desk.path().join("config.toml"),
        "[otlp]\nhttp = '127.0.0.1:0'\nrequire_token = true\n[otlp.token_files]\n'acme/billing-bot' = 'bot.token'\n",
    )
    .unwrap();
    let token = "0123456789abcdef0123";
    std::fs::write(desk.path().join("bot.token"), format!("{token}\n")).unwrap();
    let console = Console::start(&desk);
    let body = request("anything", &[span("00000000000000a1", "", "step", &[])]);
    assert_eq!(post(&http(&console), "", &body).0, 401);
    let header = format!("authorization: Bearer {token}\r\n");
    assert_eq!(post(&http(&console), &header, &body).0, 200);
    let tree = tree(&desk, 1);
    assert_eq!(tree["roots"][0]["agent"], "billing-bot");
    assert_eq!(tree["roots"][0]["workspace"], "acme");
    assert_eq!(
        tree["roots"][0]["attributes"]["countersign.sender"],
        "token"
    );
    drop(console);
    let log = std::fs::read_to_string(desk.path().join("serve.log")).unwrap();
    assert!(!log.contains(token));
}

#[test]
fn nothing_listens_unless_it_is_switched_on_and_only_on_loopback() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    assert_eq!(console.ready.get("otlp"), None);
    console.stop(Signal::SIGTERM);
    for (flag, words) in [
        ("--otlp-http=0.0.0.0:0", "loopback"),
        ("--otlp-grpc=nowhere", "127.0.0.1:4318"),
    ] {
        let ended = desk.run(&["serve", flag, "--json"]);
        let (exit, code, message) = ended.error();
        assert_eq!((exit, code.as_str()), (2, "usage"), "{message}");
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn spans_wait_at_their_sender_while_the_bus_is_gone() {
    let desk = Desk::new().with("COUNTERSIGN_OTLP_HTTP", "127.0.0.1:0");
    let console = Console::start(&desk);
    let address = http(&console);
    let runtime = std::fs::read_to_string(desk.path().join("runtime.json")).unwrap();
    let runtime: Value = serde_json::from_str(&runtime).unwrap();
    let server =
        nix::unistd::Pid::from_raw(i32::try_from(runtime["nats_pid"].as_i64().unwrap()).unwrap());
    countersign_testkit::halt(server);
    let body = request("local", &[span("00000000000000a1", "", "step", &[])]);
    let (status, answer) = post(&address, "", &body);
    nix::sys::signal::kill(server, Signal::SIGCONT).unwrap();
    assert_eq!(status, 503, "{answer}");
    // The sender tries again, and the span is there once.
    eventually(|| match post(&address, "", &body) {
        (200, _) => Ok(()),
        other => Err(other),
    });
    tree(&desk, 1);
}
