//! `--listen`: clients over HTTP, the official one among them, and what no client may send.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use super::official::{SCRIPT, judge};
use super::{Client, python, waiting};
use crate::desk::{Console, Desk, Running};

/// A proxy that serves clients, and its address.
struct Served {
    url: String,
    _proxy: Running,
}

impl Served {
    fn start(desk: &Desk, options: &[&str]) -> Self {
        let server = python().display().to_string();
        let behind = ["--name", "bank", "--", server.as_str(), SCRIPT, "server"];
        let words = [&["mcp-proxy", "--listen", "127.0.0.1:0"], options, &behind].concat();
        let mut command = desk.command(&words);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
        let mut url = String::new();
        let output = child.stdout.take().expect("a pipe");
        let read = BufReader::new(output).read_line(&mut url);
        read.expect("the address");
        let _proxy = Running(child);
        Self {
            url: url.trim().to_owned(),
            _proxy,
        }
    }
}

#[test]
fn the_official_client_reaches_the_proxy_over_http() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let served = Served::start(&desk, &[]);
    for mode in ["legacy", "auto"] {
        let mut command = Command::new(python());
        command.args([SCRIPT, "client", mode, &served.url]);
        let client = Client::spawn(command, TempDir::new().expect("a folder"));
        judge(&desk, &client, mode);
    }
}

/// Posts a message; the stream of the answer, after its head.
fn post(url: &str, more: &str, body: &str) -> (String, BufReader<TcpStream>) {
    let place = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let host = if more.contains("Host:") {
        String::new()
    } else {
        format!("Host: {place}\r\n")
    };
    let length = body.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\n{host}{more}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(place).expect("a connection");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let read = answer.read_line(&mut head).expect("a head");
        assert_ne!(read, 0, "{head}");
    }
    (head, answer)
}

#[test]
fn a_closed_connection_takes_its_call_back_and_a_page_is_refused() {
    let desk = Desk::new();
    let _console = Console::start(&desk);
    let served = Served::start(&desk, &[]);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }})
    .to_string();
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "pay", "arguments": {"amount": 1},
    }})
    .to_string();
    for (more, body, code) in [
        ("Origin: https://evil.example\r\n", hello.as_str(), 403),
        ("Host: evil.example\r\n", &hello, 403),
        ("Mcp-Session-Id: other\r\n", &call, 404),
        ("", "{\"id\":1,\"id\":2}", 400),
        ("", "[]", 400),
        (
            "",
            &call.replace("\"pay\"", "\"pay\",\"_meta\":{\"a\":\"b\nc\"}"),
            400,
        ),
    ] {
        let (head, _) = post(&served.url, more, body);
        assert!(head.starts_with(&format!("HTTP/1.1 {code}")), "{head}");
    }
    let (head, _answer) = post(&served.url, "", &hello);
    let named = head
        .lines()
        .find(|line| line.starts_with("mcp-session-id:"));
    let session = format!("{}\r\n", named.expect("a session"));
    let (head, waits) = post(&served.url, &session, &call);
    assert!(head.contains("text/event-stream"), "{head}");
    let id = waiting(&desk);
    drop(waits);
    desk.show_in_state(&id, "withdrawn");
}

#[test]
fn an_address_that_others_reach_is_refused() {
    let desk = Desk::new();
    let agent = desk.path().join("agent.json").display().to_string();
    let words = [
        "mcp-proxy",
        "--listen",
        "0.0.0.0:0",
        "--agent-json",
        &agent,
        "--",
        "true",
    ];
    let refused = desk.run(&words);
    assert!(refused.err.contains("--allow-remote"), "{}", refused.err);
}
