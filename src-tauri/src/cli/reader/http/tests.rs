#![allow(clippy::unwrap_used)]
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::thread::{JoinHandle, spawn};

use countersign_reader::config::read;

use super::*;

/// Answers one request with a status and a body; the address and what was sent.
fn server(status: &str, body: String) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/x?y=1", listener.local_addr().unwrap());
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let served = spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut sent, mut buffer) = (String::new(), [0; 65_536]);
        // The body is JSON: it is whole once it ends.
        while !sent.ends_with('}') {
            let count = stream.read(&mut buffer).unwrap();
            sent.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        // Who asked may have heard enough.
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(body.as_bytes());
        sent
    });
    (url, served)
}

/// What is said, and the head and the body of what was sent.
async fn ask(more: &str, status: &str, body: String) -> (Said, String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("reader.key");
    fs::write(&key, "canary-key\n").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let (url, served) = server(status, body);
    let section = format!(
        "[reader]\nworkspaces = [\"acme\"]\nmodel = \"m-1\"\nendpoint = \"{url}\"\nkey_file = \"reader.key\"\n{more}"
    );
    let config = read(&section, folder.path()).unwrap().unwrap();
    let said = Models::new().ask(&config, "{\"v\":1}").await;
    let sent = served.join().unwrap();
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    (said, head.to_owned(), serde_json::from_str(body).unwrap())
}

#[tokio::test]
async fn openai_gets_the_system_text_and_the_card_as_two_messages() {
    let reply = json!({
        "choices": [{ "message": { "content": "fine" } }],
        "usage": { "prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12 },
    });
    let (said, head, body) = ask("", "200 OK", reply.to_string()).await;
    assert_eq!(said, Ok(("fine".to_owned(), Some(12))));
    assert!(head.starts_with("POST /v1/x?y=1 HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("\r\nauthorization: Bearer canary-key"),
        "{head}"
    );
    assert!(!head.contains("x-api-key"), "{head}");
    let system = json!({ "role": "system", "content": system_text() });
    let user = json!({ "role": "user", "content": "{\"v\":1}" });
    assert_eq!(
        body,
        json!({ "model": "m-1", "messages": [system, user], "max_tokens": 4_000 })
    );
    let other = "tokens_field = \"max_completion_tokens\"";
    let (_, _, body) = ask(other, "200 OK", reply.to_string()).await;
    assert_eq!(
        (&body["max_completion_tokens"], body.get("max_tokens")),
        (&json!(4_000), None)
    );
}

#[tokio::test]
async fn anthropic_gets_its_own_headers_and_the_first_text_is_the_answer() {
    let reply = json!({
        "content": [{ "type": "thinking", "thinking": "hm" }, { "type": "text", "text": "one" }, { "type": "text", "text": "two" }],
        "usage": { "input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 10 },
    });
    let anthropic = "protocol = \"anthropic\"";
    let (said, head, body) = ask(anthropic, "200 OK", reply.to_string()).await;
    assert_eq!(said, Ok(("one".to_owned(), Some(17))));
    assert!(head.contains("\r\nx-api-key: canary-key"), "{head}");
    assert!(head.contains("\r\nanthropic-version: 2023-06-01"), "{head}");
    assert!(!head.contains("authorization"), "{head}");
    let user = json!({ "role": "user", "content": "{\"v\":1}" });
    assert_eq!(
        body,
        json!({ "model": "m-1", "system": system_text(), "messages": [user], "max_tokens": 4_000 })
    );
}

#[tokio::test]
async fn a_status_a_login_and_a_reply_that_is_too_large_have_their_words() {
    let fine = json!({ "choices": [{ "message": { "content": "x" } }] }).to_string();
    for (status, body, fault) in [
        ("401 Unauthorized", "{}".to_owned(), ReaderFault::Login),
        ("403 Forbidden", "{}".to_owned(), ReaderFault::Login),
        ("500 Oh", fine.clone(), ReaderFault::Http),
        ("429 Slow", fine.clone(), ReaderFault::Http),
        ("301 Moved", fine.clone(), ReaderFault::Http),
        ("200 OK", "no".to_owned(), ReaderFault::Answer),
        (
            "200 OK",
            "{\"choices\": []}".to_owned(),
            ReaderFault::Answer,
        ),
        (
            "200 OK",
            format!("{fine}{}", " ".repeat(LARGEST)),
            ReaderFault::TooLarge,
        ),
    ] {
        let (said, ..) = ask("", status, body).await;
        assert_eq!(said, Err(fault), "{status}");
    }
    let below = format!("{fine}{}", " ".repeat(LARGEST - fine.len()));
    assert_eq!(ask("", "200 OK", below).await.0, Ok(("x".to_owned(), None)));
}
