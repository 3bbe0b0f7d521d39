//! Who is not served, and bodies that are none.

use std::time::Duration;

use countersign_gateway::{create, revoke};
use countersign_post::signature;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

use crate::console::LIMIT;
use crate::process::{Desk, call, deploy, raw};

fn code(text: &str) -> String {
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    body["error"]["code"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn requests_are_judged_by_host_origin_path_method_token_key_and_body_in_this_order() {
    let desk = Desk::start().await;
    let token = format!("Authorization: Bearer {}", desk.token);
    let close = "Connection: close";
    let ok = "Host: localhost";
    for (target, headers, status, expected) in [
        ("GET /healthz", vec![ok], 200, ""),
        ("GET /healthz", vec!["Host: 127.0.0.1:4788"], 200, ""),
        ("GET /healthz", vec!["Host: [::1]:1"], 200, ""),
        ("GET /healthz", vec!["Host: desk.example"], 200, ""),
        ("GET http://localhost/healthz", vec![ok], 200, ""),
        ("GET /healthz", vec![], 421, "wrong_host"),
        ("GET /healthz", vec![ok, ok], 421, "wrong_host"),
        (
            "GET /healthz",
            vec!["Host: evil.example"],
            421,
            "wrong_host",
        ),
        (
            "GET /healthz",
            vec!["Host: localhost.evil.example"],
            421,
            "wrong_host",
        ),
        (
            "GET http://evil.example/healthz",
            vec![ok],
            421,
            "wrong_host",
        ),
        (
            "GET http://localhost/healthz",
            vec!["Host: evil.example"],
            421,
            "wrong_host",
        ),
        (
            "GET /nothing",
            vec!["Host: evil.example", "Origin: x"],
            421,
            "wrong_host",
        ),
        (
            "GET /nothing",
            vec![ok, "Origin: http://localhost"],
            403,
            "origin_refused",
        ),
        (
            "GET /healthz",
            vec![ok, "Origin: null"],
            403,
            "origin_refused",
        ),
        ("PUT /nothing", vec![ok], 404, "not_found"),
        ("DELETE /v1/asks", vec![ok], 405, "method_not_allowed"),
        ("GET /v1/asks/x/claim", vec![ok], 405, "method_not_allowed"),
        (
            "POST /v1/asks",
            vec![ok, "Idempotency-Key: k"],
            401,
            "unauthorized",
        ),
        ("POST /v1/asks?token=x", vec![ok], 401, "unauthorized"),
        (
            "POST /v1/asks",
            vec![ok, "Authorization: Bearer cg_x"],
            401,
            "unauthorized",
        ),
        (
            "POST /v1/asks",
            vec![ok, "Authorization: Basic cg_x"],
            401,
            "unauthorized",
        ),
        (
            "POST /v1/asks",
            vec![ok, &token, &token],
            401,
            "unauthorized",
        ),
        ("POST /v1/asks", vec![ok, &token], 400, "key_required"),
        (
            "POST /v1/asks",
            vec![ok, &token, "Idempotency-Key: a b"],
            400,
            "key_required",
        ),
        (
            "POST /v1/asks",
            vec![ok, &token, "Idempotency-Key: a", "Idempotency-Key: a"],
            400,
            "key_required",
        ),
        (
            "POST /v1/asks",
            vec![ok, &token, "Idempotency-Key: k"],
            400,
            "invalid_request",
        ),
        ("GET /v1/asks", vec![ok, &token], 400, "invalid_request"),
        (
            "GET /v1/asks?state=waiting&limit=0",
            vec![ok, &token],
            400,
            "invalid_request",
        ),
        (
            "GET /v1/asks?state=waiting&wait=x",
            vec![ok, &token],
            400,
            "invalid_request",
        ),
        ("GET /v1/asks/%ff", vec![ok, &token], 404, "not_found"),
        ("GET /v1/asks/unknown", vec![ok, &token], 404, "not_found"),
        (
            "POST /v1/asks/unknown/claim",
            vec![ok, &token],
            404,
            "not_found",
        ),
    ] {
        let mut lines = vec![format!("{target} HTTP/1.1")];
        lines.extend(headers.iter().map(|&line| line.to_owned()));
        lines.push(close.to_owned());
        let text = format!("{}\r\n\r\n", lines.join("\r\n"));
        let (found, answer) = raw(&desk.gateway.url, text.as_bytes()).await;
        assert_eq!(
            (found, code(&answer).as_str()),
            (status, expected),
            "{target} {headers:?}\n{answer}"
        );
        assert_eq!(
            found == 401,
            answer.to_lowercase().contains("www-authenticate: bearer"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413_also_in_chunks() {
    let desk = Desk::start().await;
    let head = format!(
        "POST /v1/asks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nIdempotency-Key: k\r\n",
        desk.token
    );
    let whole = format!("{head}Content-Length: {}\r\n\r\n", 512 * 1024 + 1);
    let (status, answer) = raw(&desk.gateway.url, whole.as_bytes()).await;
    assert_eq!((status, code(&answer).as_str()), (413, "too_large"));
    let chunk = format!("{:x}\r\n{}\r\n", 64 * 1024, " ".repeat(64 * 1024));
    let mut bytes = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
    for _ in 0..9 {
        bytes.push_str(&chunk);
    }
    let (status, _) = raw(&desk.gateway.url, bytes.as_bytes()).await;
    // The answer may be lost where the connection is cut while the rest is on its way.
    assert!(status == 413 || status == 0, "{status}");
    assert_eq!(
        desk.get("/v1/asks?state=waiting").await.body["asks"],
        json!([])
    );
}

#[tokio::test]
async fn another_agents_token_sees_nothing_and_a_revoked_one_ends_its_long_polls() {
    let desk = Desk::start().await;
    let id = desk.deploy("k").await;
    let dir = desk.folder.path().join("dir");
    let other = create(&dir, "other", &"acme/other".parse().unwrap()).unwrap();
    let url = &desk.gateway.url;
    let path = format!("/v1/asks/{id}");
    let seen = call(url, &other.token, ("GET", &path), None, None)
        .await
        .unwrap();
    assert_eq!(seen.status, 401, "no login of this agent is here");
    let second = create(&dir, "second", &desk.console.enrolment().agent_key()).unwrap();
    let seen = call(url, &second.token, ("GET", &path), None, None)
        .await
        .unwrap();
    assert_eq!(seen.status, 200, "a token that was made a moment ago");
    let path = format!("{path}?wait=50");
    let polls = call(url, &second.token, ("GET", &path), None, None);
    let revoked = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        revoke(&dir, "second").unwrap();
        Instant::now()
    };
    let (reply, at) = tokio::join!(polls, revoked);
    assert_eq!(reply.unwrap().status, 401);
    assert!(at.elapsed() < Duration::from_secs(5));
    assert_eq!(
        desk.get(&format!("/v1/asks/{id}")).await.status,
        200,
        "its asks stay"
    );
}

#[tokio::test]
async fn a_token_that_is_revoked_while_its_body_arrives_changes_nothing() {
    let mut desk = Desk::start().await;
    let id = desk.deploy("k").await;
    let seen = desk.console.next_request().await;
    desk.console.approve(&seen).await;
    desk.left(&id).await;
    let dir = desk.folder.path().join("dir");
    let second = create(&dir, "second", &desk.console.enrolment().agent_key()).unwrap();
    let address = desk.gateway.url.strip_prefix("http://").unwrap();
    let mut open = Vec::new();
    for target in [
        "POST /v1/asks".to_owned(),
        format!("POST /v1/asks/{id}/claim"),
        format!("POST /v1/asks/{id}/withdraw"),
        format!("POST /v1/asks/{id}/receipt"),
        "PUT /v1/hello".to_owned(),
    ] {
        let head = format!(
            "{target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nIdempotency-Key: n\r\n\
             Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
            second.token
        );
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        // Comes when the body is read, after the token was.
        let mut more = [0; 25];
        let waited = timeout(LIMIT, stream.read_exact(&mut more)).await;
        waited.unwrap().unwrap();
        assert_eq!(&more, b"HTTP/1.1 100 Continue\r\n\r\n");
        open.push((target, stream));
    }
    revoke(&dir, "second").unwrap();
    let path = format!("/v1/asks/{id}");
    let looked = async || call(&desk.gateway.url, &second.token, ("GET", &path), None, None).await;
    let refused = async { while looked().await.unwrap().status != 401 {} };
    timeout(LIMIT, refused).await.unwrap();
    for (target, mut stream) in open {
        stream.write_all(b"{}").await.unwrap();
        let mut answer = String::new();
        let read = timeout(LIMIT, stream.read_to_string(&mut answer)).await;
        read.unwrap().unwrap();
        assert!(answer.starts_with("HTTP/1.1 401"), "{target}: {answer}");
    }
    assert_eq!(desk.claim(&id).await.status, 200, "nobody took it");
}

#[tokio::test]
async fn sixty_four_long_polls_of_a_token_wait_and_those_that_go_away_free_their_place() {
    let desk = Desk::start().await;
    let id = desk.deploy("k").await;
    let path = format!("/v1/asks/{id}?wait=50");
    let poll = || {
        let (url, token, path) = (desk.gateway.url.clone(), desk.token.clone(), path.clone());
        tokio::spawn(async move {
            // The test's own looks need a place now and then.
            while call(&url, &token, ("GET", &path), None, None)
                .await
                .unwrap()
                .status
                == 429
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
    };
    let polls: Vec<_> = (0..64).map(|_| poll()).collect();
    let full = async {
        loop {
            let reply = desk.get(&format!("/v1/asks/{id}?wait=1")).await;
            if reply.status == 429 {
                return reply;
            }
        }
    };
    let full = timeout(LIMIT, full).await.unwrap();
    assert_eq!(full.body["error"]["code"], "too_many_waits");
    for poll in polls {
        poll.abort();
    }
    let freed = async { while desk.get(&format!("/v1/asks/{id}?wait=1")).await.status != 200 {} };
    timeout(LIMIT, freed).await.unwrap();
}

#[tokio::test]
async fn a_callback_is_signed_and_says_only_that_there_is_something_to_look_at() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let mut desk = Desk::with(&origin).await;
    let mut body = deploy();
    body["callback_url"] = json!(format!("{origin}/webhook-waiting/7"));
    let id = desk.ask("k", body.clone()).await.body["id"]
        .as_str()
        .unwrap()
        .to_owned();
    body["callback_url"] = json!("http://127.0.0.1:1/");
    assert_eq!(
        desk.ask("k2", body).await.body["error"]["code"],
        "callback_refused"
    );
    let seen = desk.console.next_request().await;
    desk.console.approve(&seen).await;
    // The first is refused, as n8n does before its node waits.
    for answer in ["404 Not Found", "200 OK"] {
        let (mut stream, _) = timeout(LIMIT, listener.accept()).await.unwrap().unwrap();
        let mut text = String::new();
        while !text.contains("\"ask.answered\"") {
            let mut buffer = [0; 4_096];
            let read = timeout(LIMIT, stream.read(&mut buffer))
                .await
                .unwrap()
                .unwrap();
            assert_ne!(read, 0, "the connection ended: {text}");
            text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        }
        let answer = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let header = |name: &str| {
            let line = head
                .lines()
                .find(|line| line.to_lowercase().starts_with(name))
                .unwrap();
            line.split_once(": ").unwrap().1.to_owned()
        };
        assert!(head.starts_with("POST /webhook-waiting/7 HTTP/1.1"));
        assert_eq!(header("webhook-id:"), format!("ask_{id}"));
        let timestamp = header("webhook-timestamp:").parse().unwrap();
        let secrets = [desk.secret.clone()];
        let expected = signature(&secrets, &format!("ask_{id}"), timestamp, body.as_bytes());
        assert_eq!(header("webhook-signature:"), expected);
        let said: Value = serde_json::from_str(body).unwrap();
        assert_eq!(
            said["data"],
            json!({ "v": 1, "id": id, "state": "answered" })
        );
        assert!(!body.contains("production") && !body.contains("approve"));
    }
}
