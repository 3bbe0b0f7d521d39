use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::*;

async fn answer(stream: impl AsyncReadExt + AsyncWriteExt + Unpin) -> String {
    ask(stream, "/healthz").await
}

async fn ask(mut stream: impl AsyncReadExt + AsyncWriteExt + Unpin, path: &str) -> String {
    let asked = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(asked.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A client may end TLS without a farewell.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

fn listening() -> Options {
    Options {
        listen: "127.0.0.1:0".parse().unwrap(),
        token: None,
        tls: None,
    }
}

#[tokio::test]
async fn it_listens_until_it_is_stopped_and_no_address_is_had_twice() {
    let desk = Handle::with(Figures::default()).await;
    let metrics = Metrics::start(listening(), desk.clone(), "1.2.3")
        .await
        .unwrap();
    let listen = metrics.address;
    let stream = TcpStream::connect(listen).await.unwrap();
    assert!(answer(stream).await.starts_with("HTTP/1.1 200 "));
    let second = Metrics::start(
        Options {
            listen,
            ..listening()
        },
        desk,
        "1.2.3",
    )
    .await;
    let why = second.err().unwrap().to_string();
    assert!(why.contains(&listen.to_string()), "{why}");
    // An open connection that says nothing does not hold up the end.
    let mut silent = TcpStream::connect(listen).await.unwrap();
    metrics.stop().await;
    assert!(!matches!(silent.read(&mut [0]).await, Ok(1..)));
}

#[tokio::test]
async fn one_connection_more_waits_for_its_turn() {
    let desk = Handle::with(Figures::default()).await;
    let metrics = Metrics::start(listening(), desk.clone(), "1.2.3").await;
    let metrics = metrics.unwrap();
    // A page that cannot be made yet takes as long as it is held.
    let held = desk.0.figures.lock().await;
    let mut busy = Vec::new();
    for _ in 0..64 {
        let stream = TcpStream::connect(metrics.address).await.unwrap();
        busy.push(tokio::spawn(ask(stream, "/metrics")));
    }
    let last = TcpStream::connect(metrics.address).await.unwrap();
    let mut answered = tokio::spawn(answer(last));
    let early = tokio::time::timeout(Duration::from_millis(200), &mut answered).await;
    assert!(early.is_err(), "{early:?}");
    drop(held);
    assert!(answered.await.unwrap().starts_with("HTTP/1.1 200 "));
    for page in busy {
        assert!(page.await.unwrap().starts_with("HTTP/1.1 200 "));
    }
    metrics.stop().await;
}

#[tokio::test]
async fn with_a_certificate_it_speaks_tls_alone_and_a_renewed_one_counts() {
    let folder = tempfile::tempdir().unwrap();
    let files = (
        folder.path().join("cert.pem"),
        folder.path().join("key.pem"),
    );
    let issue = || {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(&files.0, cert.pem()).unwrap();
        std::fs::write(&files.1, signing_key.serialize_pem()).unwrap();
        cert.der().clone()
    };
    let first = issue();
    let options = Options {
        tls: Some(files.clone()),
        ..listening()
    };
    let metrics = Metrics::start(options, Handle::default(), "1.2.3")
        .await
        .unwrap();
    let stream = TcpStream::connect(metrics.address).await.unwrap();
    let trusted = connect(&first).connect(localhost(), stream).await.unwrap();
    assert!(answer(trusted).await.starts_with("HTTP/1.1 200 "));
    let plain = TcpStream::connect(metrics.address).await.unwrap();
    assert!(!answer(plain).await.contains("HTTP/1.1 200"));
    metrics.stop().await;

    let mut tls = Tls::read(files.clone()).unwrap();
    let second = issue();
    let after = |seconds| Instant::now() + Duration::from_secs(seconds);
    assert!(shows(&tls.acceptor(after(1)), &first).await);
    assert!(shows(&tls.acceptor(after(30)), &second).await);
    // One that cannot be used leaves the one in force.
    std::fs::write(&files.1, "no key").unwrap();
    assert!(shows(&tls.acceptor(after(60)), &second).await);
    let why = Tls::read(files.clone()).err().unwrap();
    assert!(why.contains("key.pem"), "{why}");
}

/// Whether a client that trusts this certificate alone gets through.
async fn shows(server: &tokio_rustls::TlsAcceptor, trusted: &CertificateDer<'static>) -> bool {
    let (ours, theirs) = tokio::io::duplex(16_384);
    let client = connect(trusted);
    let (accepted, connected) =
        tokio::join!(server.accept(theirs), client.connect(localhost(), ours));
    accepted.is_ok() && connected.is_ok()
}

fn localhost() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

fn connect(trusted: &CertificateDer<'static>) -> TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}
