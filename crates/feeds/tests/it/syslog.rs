use std::sync::Arc;

use countersign_feeds::{Desk as _, send_test};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::desk::{TestDesk, until};

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
    let rows = |from: i32| {
        (from..from + 3)
            .map(|n| ("alarm", format!("acme/a{n}"), json!({})))
            .collect()
    };
    desk.log_all(rows(0)).await;
    let (mut first, _) = listener.accept().await.unwrap();
    let mut bytes = Vec::new();
    until_frames(&mut first, &mut bytes, 3).await;
    let frame = frames(&bytes).remove(0);
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
    // 1.9 s are not enough.
    desk.pass(1_900);
    desk.log_all(rows(3)).await;
    until_frames(&mut first, &mut bytes, 6).await;
    drop(first);
    until(async || {
        desk.pass(20);
        desk.row("siem").await.state == "resting"
    })
    .await;
    assert!(desk.row("siem").await.cursor < 2, "none of them is taken");
    let accepted = async {
        let (mut second, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        until_frames(&mut second, &mut bytes, 6).await;
        (second, frames(&bytes))
    };
    let moving = async {
        loop {
            desk.pass(100);
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    let (_second, all) =
        tokio::select! { found = accepted => found, () = moving => unreachable!() };
    assert!(
        all.iter()
            .zip(2..)
            .all(|(frame, seq)| message(frame).1.contains(&format!("\"seq\":{seq}"))),
        "{all:?}"
    );
    until(async || {
        desk.pass(100);
        desk.row("siem").await.cursor == 7
    })
    .await;
    running.stop().await;
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
