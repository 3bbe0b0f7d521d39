#![allow(clippy::unwrap_used)]
use axum::routing::get;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use super::*;

const LIMIT: Duration = Duration::from_secs(30);
const ASKED: &str = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
const LAST: &str = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

fn router() -> Router {
    Router::new().route("/", get(|| async { "here" }))
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// What comes until the connection ends.
async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, asked: &str) -> String {
    // It may end while it is written to, TLS also without a farewell.
    let _ = stream.write_all(asked.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_socket_replaces_one_that_was_left_over_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let open = |path: PathBuf| Listening::open(None, Some(path));
    std::fs::write(at("file"), "kept").unwrap();
    assert!(open(at("file")).await.is_err());
    assert_eq!(std::fs::read(at("file")).unwrap(), b"kept");
    drop(std::os::unix::net::UnixListener::bind(at("left")).unwrap());
    std::os::unix::fs::symlink(at("left"), at("link")).unwrap();
    assert!(open(at("link")).await.is_err());
    let held = open(at("left")).await.unwrap();
    assert!(open(at("left")).await.is_err());
    let mode = std::fs::metadata(at("left")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn headers_have_16_kib_and_10_s() {
    let long = |kib: usize| {
        let header = format!("x-long: {}\r\nconnection", "x".repeat(kib * 1024));
        LAST.replace("connection", &header)
    };
    for (asked, status, seconds) in [
        (LAST.to_owned(), "200", 0),
        (long(15), "200", 0),
        (long(17), "431", 0),
        (long(64), "431", 0),
        (String::new(), "", 10),
        ("GET / HTTP/1.1\r\nhost: x\r\n".to_owned(), "", 10),
        // A connection that is kept gets as long for its next request.
        (format!("{ASKED}GET / HT"), "200", 10),
    ] {
        let (client, stream) = duplex(256 * 1024);
        let (_stop, stopped) = watch::channel(false);
        let begun = Instant::now();
        tokio::spawn(connection(stream, router(), stopped));
        let answer = answer(client, &asked).await;
        let about = format!("{} bytes: {answer}", asked.len());
        assert_eq!(begun.elapsed().as_secs(), seconds, "{about}");
        let found = answer.split(' ').nth(1).unwrap_or_default();
        assert!(
            found == status || status.is_empty() && found != "200",
            "{about}"
        );
    }
}

#[tokio::test]
async fn one_connection_more_than_there_is_room_for_waits_for_its_turn() {
    let (listener, address) = listener().await;
    let (stop, stopped) = watch::channel(false);
    let room = Arc::new(Semaphore::new(2));
    let serving = tokio::spawn(Socket::Tcp(listener, None).serve(router(), room, stopped));
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(ASKED.as_bytes()).await.unwrap();
        stream.read_exact(&mut [0; 12]).await.unwrap();
        kept.push(stream);
    }
    let last = TcpStream::connect(address).await.unwrap();
    let mut last = tokio::spawn(answer(last, LAST));
    let early = timeout(Duration::from_millis(200), &mut last).await;
    assert!(early.is_err(), "{early:?}");
    kept.pop();
    let turn = timeout(LIMIT, last).await.unwrap().unwrap();
    assert!(turn.starts_with("HTTP/1.1 200 "), "{turn}");
    stop.send_replace(true);
    timeout(LIMIT, serving).await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

/// Files of a certificate for `localhost`, and a new one in them at each call.
struct Issuer(tempfile::TempDir);

impl Issuer {
    fn files(&self) -> (PathBuf, PathBuf) {
        (
            self.0.path().join("cert.pem"),
            self.0.path().join("key.pem"),
        )
    }

    fn issue(&self) -> CertificateDer<'static> {
        let (cert_file, key_file) = self.files();
        let made = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let CertifiedKey { cert, signing_key } = made;
        std::fs::write(cert_file, cert.pem()).unwrap();
        std::fs::write(key_file, signing_key.serialize_pem()).unwrap();
        cert.der().clone()
    }
}

/// A client that trusts this certificate alone.
fn client(trusted: &CertificateDer<'static>) -> TlsConnector {
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

fn localhost() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

async fn shows(tls: &Tls, trusted: &CertificateDer<'static>) -> bool {
    let (ours, theirs) = duplex(16 * 1024);
    let server = TlsAcceptor::from(tls.current());
    let client = client(trusted);
    let (accepted, connected) =
        tokio::join!(server.accept(theirs), client.connect(localhost(), ours));
    accepted.is_ok() && connected.is_ok()
}

#[tokio::test]
async fn with_a_certificate_it_speaks_tls_alone() {
    let issuer = Issuer(tempfile::tempdir().unwrap());
    let (cert, key) = issuer.files();
    assert!(Tls::read(cert.clone(), key.clone()).is_err(), "no files");
    let trusted = issuer.issue();
    let tls = Tls::read(cert, key).unwrap();
    let (listener, address) = listener().await;
    let (stop, stopped) = watch::channel(false);
    let room = Arc::new(Semaphore::new(9));
    let serving = tokio::spawn(Socket::Tcp(listener, Some(tls)).serve(router(), room, stopped));
    let connect = async || TcpStream::connect(address).await.unwrap();
    let stream = client(&trusted).connect(localhost(), connect().await).await;
    assert!(
        answer(stream.unwrap(), LAST)
            .await
            .starts_with("HTTP/1.1 200 ")
    );
    assert!(!answer(connect().await, LAST).await.contains("HTTP/1.1 200"));
    let stranger = Issuer(tempfile::tempdir().unwrap()).issue();
    let stream = client(&stranger)
        .connect(localhost(), connect().await)
        .await;
    assert!(stream.is_err(), "another certificate");
    stop.send_replace(true);
    timeout(LIMIT, serving).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_renewed_certificate_counts_within_a_minute_and_a_damaged_one_never() {
    let issuer = Issuer(tempfile::tempdir().unwrap());
    let first = issuer.issue();
    let (cert, key) = issuer.files();
    let tls = Tls::read(cert, key.clone()).unwrap();
    tokio::spawn(tls.clone().follow());
    let second = issuer.issue();
    assert!(shows(&tls, &first).await);
    sleep(Duration::from_secs(60)).await;
    assert!(shows(&tls, &second).await && !shows(&tls, &first).await);
    std::fs::write(key, "no key").unwrap();
    sleep(Duration::from_secs(60)).await;
    assert!(shows(&tls, &second).await);
}
