//! A model over HTTP as a second reader.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{pay, read, rows, status};
use crate::desk::{Agent, Console, Desk};

#[tokio::test]
async fn a_model_over_http_gets_one_post_and_a_redirect_gets_nothing() {
    let desk = Desk::new();
    let console = Console::start(&desk);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let key = desk.path().join("reader.key");
    fs::write(&key, "canary-http-key\n").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let answer = json!({ "choices": [{ "message": { "content": "```json\n{\"findings\": [{\"at\": \"/to\", \"code\": \"near_miss\", \"message\": \"m\"}]}\n```" } }], "usage": { "prompt_tokens": 7, "completion_tokens": 5 } }).to_string();
    let served = std::thread::spawn(move || {
        let mut requests = Vec::new();
        let redirect = format!(
            "HTTP/1.1 307 Moved\r\nlocation: http://127.0.0.1:{port}/elsewhere\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
            answer.len()
        );
        for answer in [answer, redirect] {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut read, mut buffer) = (String::new(), [0; 65_536]);
            // The body is JSON: it is whole once it ends.
            while !read.ends_with('}') {
                let count = stream.read(&mut buffer).unwrap();
                read.push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
            for process in fs::read_dir("/proc").unwrap().flatten() {
                let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
                let words = String::from_utf8_lossy(&words).into_owned();
                assert!(!words.contains("canary-http-key"), "{words}");
            }
            stream.write_all(answer.as_bytes()).unwrap();
            requests.push(read);
        }
        requests
    });
    let section = format!(
        "[reader]\nworkspaces = [\"default\"]\nendpoint = \"http://127.0.0.1:{port}/v1/chat/completions\"\nmodel = \"m\"\nkey_file = \"reader.key\"\ntokens_field = \"max_completion_tokens\"\n"
    );
    fs::write(desk.path().join("config.toml"), section).unwrap();
    let agent = Agent::connect(console.agent_json()).await;
    agent.ask(&pay(&agent, "p1", "acme")).await;
    let marked = read(&desk, "p1");
    assert_eq!(marked["findings"][0]["code"], "near_miss");
    agent.ask(&pay(&agent, "p2", "bolt")).await;
    assert_eq!(read(&desk, "p2")["state"], "failed");
    assert_eq!(status(&desk)["last_error"], "http");
    let requests = served.join().unwrap();
    assert_eq!(requests.len(), 2);
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains("authorization: Bearer canary-http-key"),
        "{head}"
    );
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        (&body["model"], &body["max_completion_tokens"]),
        (&json!("m"), &json!(4_000))
    );
    let card: Value =
        serde_json::from_str(body["messages"][1]["content"].as_str().unwrap()).unwrap();
    assert_eq!(card["args"]["to"], "acme");
    console.stop(Signal::SIGTERM);
    let tokens = rows(&desk)
        .into_iter()
        .find(|row| row.0 == "reader_answered")
        .unwrap()
        .1;
    assert_eq!(tokens["tokens"], 12);
    for shown in [
        desk.run(&["status", "--json"]).out,
        fs::read_to_string(desk.path().join("serve.log")).unwrap(),
    ] {
        assert!(!shown.contains("canary-http-key"));
    }
}
