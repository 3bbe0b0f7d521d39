#![allow(clippy::unwrap_used)]
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use countersign_wire::Sha256Digest;

use super::*;
use crate::tokens::{create, revoke};

/// An ask that expired, and wants to be called back.
fn ask(url: &str, token: Sha256Digest) -> Ask {
    serde_json::from_value(json!({
        "seq": 1, "realm": uuid::Uuid::nil(), "agent": {"workspace": "acme", "agent": "bot"},
        "id": "r1", "key": token, "about": token,
        "kind": "tool_call", "tool": "deploy", "args_digest": null, "reports": true,
        "callback": { "url": url, "token": token, "over": false },
        "lifetime": 100.0, "asked": Moment::now(), "request": "{}", "answer": null,
        "end": { "state": "expired", "text": "", "message": null }, "claim": null, "receipt": null,
    }))
    .unwrap()
}

fn callbacks(dir: &Path) -> (Callbacks, Sha256Digest) {
    let made = create(dir, "ci", &"acme/bot".parse().unwrap()).unwrap();
    let callbacks = Callbacks::new(Post::new().unwrap(), Tokens::follow(dir).unwrap());
    (callbacks, Sha256Digest::of_bytes(made.token.as_bytes()))
}

#[tokio::test]
async fn a_status_counts_whatever_body_comes_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let (callbacks, token) = callbacks(dir.path());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for status in ["200 OK", "404 Not Found"] {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4_096]).unwrap();
            let length = 2 * LARGEST;
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n");
            // The gateway hangs up before the end.
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&vec![b' '; length]);
        }
    });
    assert!(callbacks.is_over(|| ask(&url, token)).await);
    assert!(!callbacks.is_over(|| ask(&url, token)).await);
}

#[tokio::test]
async fn a_token_that_cannot_be_read_ends_no_callback_and_a_revoked_one_does() {
    let dir = tempfile::tempdir().unwrap();
    let (callbacks, token) = callbacks(dir.path());
    let other = create(dir.path(), "other", &"acme/bot".parse().unwrap()).unwrap();
    let tokens = callbacks.tokens.clone();
    assert!(tokens.of(&other.token).is_some());
    // Reads the folder for a token that it does not know.
    let read = || assert!(tokens.of(&format!("cg_{}", "x".repeat(43))).is_none());
    let over = async || {
        callbacks
            .is_over(|| ask("http://127.0.0.1:1/", token))
            .await
    };
    let (folder, away) = (dir.path().join("tokens"), dir.path().join("away"));
    let file = folder.join("ci.json");
    let kept = fs::read(&file).unwrap();
    fs::write(&file, "{").unwrap();
    read();
    assert!(!over().await, "damaged");
    assert!(tokens.of(&other.token).is_some(), "the others count");
    fs::write(&file, kept).unwrap();
    read();
    assert!(tokens.get(&token).is_some());
    fs::rename(&folder, &away).unwrap();
    fs::write(&folder, "").unwrap();
    read();
    assert!(tokens.of(&other.token).is_none(), "nobody is served");
    assert!(!over().await, "no folder");
    fs::remove_file(&folder).unwrap();
    fs::rename(&away, &folder).unwrap();
    read();
    assert!(tokens.get(&token).is_some());
    revoke(dir.path(), "ci").unwrap();
    read();
    assert!(over().await, "revoked");
}
