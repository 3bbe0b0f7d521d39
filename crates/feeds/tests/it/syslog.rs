use std::sync::Arc;
use std::time::Duration;

use countersign_feeds::{Desk as _, send_test};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};
use tokio_rustls::TlsAcceptor;

use crate::desk::{TestDesk, until};

/// What was written is taken once its connection has been open for so long.
const SURE: Duration = Duration::from_secs(2);

/// Frames as RFC 6587 counts them.
fn frames(mut bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    while let Some(blank) = bytes.iter().position(|byte| *byte == b' ') {
        let length: usize = std::str::from_utf8(&bytes[..blank])
            .unwrap()
            .parse()
            .unwrap();
        let Some(frame) = bytes.get(blank + 1..blank + 1 + length) else {
            break;
        };
        found.push(String::from_utf8(frame.to_vec()).unwrap());
        bytes = &bytes[blank + 1 + length..];
    }
    found
}

/// RFC 5424: `<PRI>1 TIMESTAMP HOST APP PROCID MSGID SD MSG`.
fn message(frame: &str) -> (Vec<&str>, &str) {
    let parts: Vec<&str> = frame.splitn(8, ' ').collect();
    (parts[..7].to_vec(), parts[7])
}

async fn until_frames(stream: &mut (impl AsyncRead + Unpin), bytes: &mut Vec<u8>, count: usize) {
    while frames(bytes).len() < count {
        assert_ne!(stream.read_buf(bytes).await.unwrap(), 0);
    }
}

fn settings(to: &str, more: &str) -> String {
    format!(
        "[[feed]]\nname = \"siem\"\nkind = \"syslog\"\nto = \"{to}\"\nevents = [\"audit.alarm\"]\nrest_s = [0.05]\n{more}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_before_a_connection_broke_is_written_again() {
    let desk = TestDesk::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = format!("tcp://{}", listener.local_addr().unwrap());
    let running = desk.start(&settings(&to, "")).await;
    let rows = |from: i64| {
        (from..from + 3)
            .map(|n| ("alarm", format!("acme/a{n}"), json!({})))
            .collect()
    };
    desk.log_all(rows(0)).await;
    let (mut first, _) = listener.accept().await.unwrap();
    let mut bytes = Vec::new();
    until_frames(&mut first, &mut bytes, 3).await;
    let frame = frames(&std::mem::take(&mut bytes)).remove(0);
    let (header, body) = message(&frame);
    assert_eq!(
        (header[0], header[1], header[3]),
        ("<110>1", "2026-11-28T12:00:00.000Z", "countersign")
    );
    assert_eq!(
        (header[4], header[5], header[6]),
        ("01234567", "audit.alarm", "-")
    );
    assert_eq!(
        serde_json::from_str::<Value>(body).unwrap()["data"]["seq"],
        2
    );
    let mut head = 4;
    let (mut second, again) = loop {
        let begun = Instant::now();
        desk.log_all(rows(head)).await;
        head += 3;
        until_frames(&mut first, &mut bytes, 3).await;
        // The feed is held up, and finds the connection closed once the 2 s are over.
        desk.hold().await;
        let is_early = begun.elapsed() < SURE;
        drop(first);
        sleep(SURE).await;
        desk.go_on();
        until(async || desk.row("siem").await.state == "resting").await;
        let cursor = desk.row("siem").await.cursor;
        if is_early {
            assert!(cursor < head, "it was not open for 2 s: {cursor}");
            break (accepted(&desk, &listener).await, (cursor + 1).max(2));
        }
        // The machine was too slow for that.
        desk.log_all(rows(head)).await;
        head += 3;
        (first, bytes) = (accepted(&desk, &listener).await, Vec::new());
    };
    let (mut bytes, missing) = (Vec::new(), head - again + 1);
    until_frames(&mut second, &mut bytes, missing as usize).await;
    let all = frames(&bytes);
    assert!(
        all.iter()
            .zip(again..)
            .all(|(frame, seq)| message(frame).1.contains(&format!("\"seq\":{seq}"))),
        "{all:?}"
    );
    until(async || {
        desk.pass(100);
        desk.row("siem").await.cursor == head
    })
    .await;
    running.stop().await;
}

/// The next connection, once the rest is over.
async fn accepted(desk: &TestDesk, listener: &TcpListener) -> TcpStream {
    let moving = async {
        loop {
            desk.pass(100);
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! { found = listener.accept() => found.unwrap().0, () = moving => unreachable!() }
}

struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            pem,
            issuer: Issuer::new(params, key),
        }
    }

    /// A server with a certificate of this name, which has expired or not.
    fn acceptor(&self, name: &str, expired: bool) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        if expired {
            (params.not_before, params.not_after) =
                (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
        }
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let secret = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![certificate.der().clone()], secret)
                .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_must_be_of_the_authority_for_the_name_and_in_time() {
    let desk = TestDesk::new().await;
    let (ours, others) = (Authority::new(), Authority::new());
    std::fs::write(desk.path().join("ca.pem"), &ours.pem).unwrap();
    let event = countersign_feeds::event::test(desk.sender(), "2026-11-28T12:00:00.000Z", "r");
    for (authority, name, expired, error) in [
        (&ours, "localhost", false, None),
        (&ours, "siem.example.org", false, Some("tls")),
        (&ours, "localhost", true, Some("tls")),
        (&others, "localhost", false, Some("tls")),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = authority.acceptor(name, expired);
        let served = tokio::spawn(async move {
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                let Ok(mut stream) = acceptor.accept(tcp).await else {
                    continue;
                };
                let mut bytes = Vec::new();
                // Until who sends has gone; an answer for a webhook.
                while stream.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {
                    if bytes.starts_with(b"POST") {
                        use tokio::io::AsyncWriteExt as _;
                        stream
                            .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
                            .await
                            .unwrap();
                    }
                }
            }
        });
        let syslog = settings(
            &format!("tls://localhost:{port}"),
            "tls_ca = \"ca.pem\"\nformat = \"cef\"",
        );
        let hook = format!(
            "[[feed]]\nname = \"h\"\nkind = \"webhook\"\nurl = \"https://localhost:{port}/\"\nevents = [\"*\"]\ntls_ca = \"ca.pem\"\n"
        );
        for text in [syslog, hook] {
            let feed = desk.feeds(&text).remove(0);
            let tried = send_test(desk.path(), &feed, &event, "0123456789", desk.now()).await;
            assert_eq!(tried.error, error, "{name} {expired}: {text}");
        }
        served.abort();
    }
}
