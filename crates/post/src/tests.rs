#![allow(clippy::unwrap_used)]
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use tokio::net::TcpSocket;

use super::*;

/// Answers one connection with these bytes, or never, and returns what it read of the request.
fn server(answer: Option<&'static str>) -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    let served = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 4_096];
        let read = stream.read(&mut buffer).unwrap();
        match answer {
            Some(answer) => stream.write_all(answer.as_bytes()).unwrap(),
            // Until who asked has gone.
            None => drop(stream.read(&mut [0; 1])),
        }
        String::from_utf8_lossy(&buffer[..read]).into_owned()
    });
    (url, served)
}

fn call(url: &str) -> Call<'_> {
    Call {
        url,
        timeout: Duration::from_secs(60),
        largest: 10,
        ..Call::default()
    }
}

const REDIRECT: &str =
    "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";

#[tokio::test]
async fn a_call_is_sent_as_written_and_a_redirect_is_an_answer() {
    let (url, served) = server(Some(REDIRECT));
    let sent = Call {
        headers: vec![("authorization", "Bearer k".to_owned())],
        body: Some(b"{}".to_vec()),
        ..call(&url)
    };
    let reply = Post::new().unwrap().send(sent).await.unwrap();
    assert_eq!((reply.status, reply.body.len()), (302, 0));
    let request = served.join().unwrap();
    assert!(request.starts_with("POST /x HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer k\r\n"), "{request}");
    assert!(
        request.contains("content-type: application/json\r\n"),
        "{request}"
    );
}

#[tokio::test]
async fn an_answer_that_is_too_large_or_too_late_is_none() {
    let large = "HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n01234567890";
    let (url, served) = server(Some(large));
    let post = Post::new().unwrap();
    assert_eq!(post.send(call(&url)).await, Err(PostError::TooLarge));
    served.join().unwrap();
    let (url, _served) = server(None);
    let hasty = Call {
        timeout: Duration::from_millis(100),
        ..call(&url)
    };
    assert_eq!(post.send(hasty).await, Err(PostError::Timeout));
    // A port that is taken, and that nobody listens on.
    let silent = TcpSocket::new_v4().unwrap();
    silent.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let silent = (format!("http://{}/", silent.local_addr().unwrap()), silent);
    assert_eq!(post.send(call(&silent.0)).await, Err(PostError::Connect));
}

#[tokio::test]
async fn forbidden_addresses_are_refused_in_any_spelling() {
    let post = Post::new().unwrap();
    for url in [
        "http://169.254.169.254/",
        "http://0xa9.0xfe.0xa9.0xfe/",
        "http://2852039166/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://0/",
        "http://100.100.100.200/",
    ] {
        assert_eq!(
            post.send(call(url)).await,
            Err(PostError::AddressForbidden),
            "{url}"
        );
    }
    for url in ["ftp://127.0.0.1/", "127.0.0.1", "file:///etc/passwd"] {
        let refused = post.send(call(url)).await;
        assert!(
            matches!(refused, Err(PostError::Invalid | PostError::Connect)),
            "{url}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!(
        "https://localhost:{}/",
        listener.local_addr().unwrap().port()
    );
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let connection = ServerConnection::new(Arc::new(config.clone())).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            // The client ends the handshake.
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        }
    });
    assert_eq!(
        Post::new().unwrap().send(call(&url)).await,
        Err(PostError::Tls)
    );
}
