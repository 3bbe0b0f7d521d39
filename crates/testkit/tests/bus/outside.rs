//! How a console reaches an outside server: TLS and the four ways to log in.

use countersign_core::bus::{Bus, BusError, BusOptions, Credentials, Insecure};
use countersign_testkit::{
    Authority, NatsAccount, NatsOperator, PlainServer, TempData, UserKey, creds, made,
};
use countersign_wire::TlsFiles;
use serde_json::json;
use std::net::TcpListener;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn trusting(authority: &Authority) -> TlsFiles {
    TlsFiles {
        ca: Some(authority.ca()),
        ..TlsFiles::default()
    }
}

fn with_certificate(authority: &Authority, signer: &Authority) -> TlsFiles {
    let own = signer.client("console");
    TlsFiles {
        cert: Some(own.cert),
        key: Some(own.key),
        ..trusting(authority)
    }
}

async fn connect(url: String, credentials: Credentials, tls: TlsFiles) -> Result<Bus, BusError> {
    Bus::connect(BusOptions {
        url,
        credentials,
        tls,
        console_id: "test".into(),
        allow_single_account: true,
    })
    .await
}

fn refused(connected: Result<Bus, BusError>) -> BusError {
    match connected {
        Ok(_) => panic!("it connected"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_console_shows_its_certificate_and_trusts_a_private_authority() {
    let authority = Authority::new();
    let tls = authority.server("127.0.0.1").server_block(Some(&authority));
    let server = PlainServer::start_with(&tls).await;
    for scheme in ["tls", "nats"] {
        let url = format!("{scheme}://127.0.0.1:{}", server.port());
        let files = with_certificate(&authority, &authority);
        let bus = connect(url, Credentials::None, files).await.unwrap();
        let state = bus.state().borrow().clone();
        assert_eq!(
            state.insecure,
            [Insecure::SingleAccount, Insecure::OpenPermissions]
        );
        made(&bus, 1).await.unwrap();
    }
}

#[tokio::test]
async fn whatever_is_wrong_with_tls_is_named_with_a_way_out() {
    let authority = Authority::new();
    let stranger = Authority::new();
    let good = authority.server("127.0.0.1").server_block(None);
    let mutual = authority.server("127.0.0.1").server_block(Some(&authority));
    let expired = authority.expired_server("127.0.0.1").server_block(None);
    let elsewhere = authority.server("elsewhere.example").server_block(None);
    for (block, files, reported) in [
        (&good, trusting(&stranger), "not signed by a trusted CA"),
        (&good, TlsFiles::default(), "not signed by a trusted CA"),
        (&expired, trusting(&authority), "has expired"),
        (&elsewhere, trusting(&authority), "for another host"),
        (&mutual, trusting(&authority), "--tls-cert"),
        (
            &mutual,
            with_certificate(&authority, &stranger),
            "refuses this console's certificate",
        ),
        (&String::new(), trusting(&authority), "does not speak TLS"),
        (&String::new(), TlsFiles::default(), "does not speak TLS"),
    ] {
        let server = PlainServer::start_with(block).await;
        let url = format!("tls://127.0.0.1:{}", server.port());
        let error = refused(connect(url, Credentials::None, files).await);
        assert_eq!(error.code(), "bus_tls", "{reported}: {error}");
        assert!(error.to_string().contains(reported), "{reported}: {error}");
    }
    let missing = TlsFiles {
        ca: Some("/nowhere/ca.pem".into()),
        ..TlsFiles::default()
    };
    let error = refused(connect("tls://127.0.0.1:1".into(), Credentials::None, missing).await);
    assert_eq!(error.code(), "bus_bad_options");
    assert!(error.to_string().contains("/nowhere/ca.pem"), "{error}");
}

/// A server in the middle says that it has no TLS, to get the password.
#[tokio::test]
async fn nothing_of_the_login_is_sent_without_tls() {
    let authority = Authority::new();
    for (scheme, files) in [
        ("tls", TlsFiles::default()),
        ("tls", trusting(&authority)),
        ("nats", trusting(&authority)),
    ] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let middle = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let info = r#"INFO {"server_id":"N","version":"2.15.1","host":"h","port":1,"headers":true,"max_payload":1048576,"proto":1,"auth_required":true,"tls_required":false}"#;
            stream.write_all(info.as_bytes()).await.unwrap();
            stream.write_all(b"\r\n").await.unwrap();
            let mut heard = vec![0; 4096];
            let length = stream.read(&mut heard).await.unwrap();
            stream.write_all(b"-ERR 'no'\r\n").await.unwrap();
            heard.truncate(length);
            heard
        });
        let url = format!("{scheme}://ada:hunter2@127.0.0.1:{port}");
        let error = refused(connect(url, Credentials::UrlUserPassword, files).await);
        assert_eq!(error.code(), "bus_tls");
        let heard = tokio::time::timeout(Duration::from_secs(5), middle);
        let heard = heard.await.unwrap().unwrap();
        assert_eq!(heard[0], 22, "the first byte of a TLS handshake");
        let text = String::from_utf8_lossy(&heard);
        assert!(!text.contains("CONNECT") && !text.contains("hunter2"));
    }
}

#[tokio::test]
async fn a_creds_file_logs_in_and_a_wrong_one_is_refused() {
    let mut operator = NatsOperator::new();
    let core = NatsAccount::new("CORE");
    operator.sign(
        &core,
        json!({ "limits": { "mem_storage": -1, "disk_storage": -1 } }),
    );
    let server = PlainServer::start_with(&operator.conf()).await;
    let console = UserKey::new();
    let folder = TempData::new();
    let file = folder.path().join("console.creds");
    let login = async |jwt: String, seed: &str| {
        std::fs::write(&file, creds(&jwt, Some(seed))).unwrap();
        let url = server.url().to_owned();
        let credentials = Credentials::CredsFile(file.clone());
        connect(url, credentials, TlsFiles::default()).await
    };
    let jwt = |expires| core.user(&console.public, json!({}), expires);
    let bus = login(jwt(None), &console.seed).await.unwrap();
    assert_eq!(bus.state().borrow().insecure, []);
    made(&bus, 1).await.unwrap();
    let foreign = NatsAccount::new("FOREIGN").user(&console.public, json!({}), None);
    for (jwt, seed) in [
        (jwt(Some(1_700_000_001)), &console.seed),
        (jwt(None), &UserKey::new().seed),
        (foreign, &console.seed),
    ] {
        let error = refused(login(jwt, seed).await);
        assert_eq!(error.code(), "bus_auth_refused");
        assert!(error.to_string().contains("bus permissions"), "{error}");
    }
    let missing = Credentials::CredsFile(folder.path().join("none.creds"));
    let error = refused(connect(server.url().into(), missing, TlsFiles::default()).await);
    assert_eq!(error.code(), "bus_bad_options");
}

#[tokio::test]
async fn an_nkey_or_user_and_password_log_in_over_tls_and_wrong_ones_do_not() {
    let authority = Authority::new();
    let console = UserKey::new();
    let tls = authority.server("127.0.0.1").server_block(None);
    let users = format!(
        r#"accounts {{ CORE {{ jetstream: enabled, users: [
            {{ nkey: {} }}, {{ user: ada, password: "p@ss" }} ] }} }}"#,
        console.public
    );
    let server = PlainServer::start_with(&format!("{tls}{users}")).await;
    let url = |login: &str| format!("tls://{login}127.0.0.1:{}", server.port());
    let nkey = |key: &UserKey| Credentials::NkeySeed(key.seed.clone());
    for (url, credentials) in [
        (url(""), nkey(&console)),
        (url("ada:p%40ss@"), Credentials::UrlUserPassword),
    ] {
        let bus = connect(url, credentials, trusting(&authority))
            .await
            .unwrap();
        assert_eq!(bus.state().borrow().insecure, []);
    }
    for (url, credentials) in [
        (url(""), nkey(&UserKey::new())),
        (url("ada:wrong@"), Credentials::UrlUserPassword),
        (url(""), Credentials::None),
    ] {
        let error = refused(connect(url, credentials, trusting(&authority)).await);
        assert_eq!(error.code(), "bus_auth_refused");
    }
}

/// In whole seconds, as a JWT names its end.
#[expect(
    clippy::disallowed_methods,
    reason = "the server judges a JWT by the wall clock"
)]
fn soon() -> i64 {
    let now = time::OffsetDateTime::now_utc().unix_timestamp();
    now + 2
}

async fn comes_back(bus: &Bus) {
    let mut reconnected = bus.reconnected();
    let back = reconnected.wait_for(|count| *count > 0);
    let in_time = tokio::time::timeout(Duration::from_secs(10), back).await;
    assert!(in_time.is_ok(), "it does not come back");
}

#[tokio::test]
async fn a_creds_file_that_was_renewed_lets_a_console_come_back() {
    let mut operator = NatsOperator::new();
    let core = NatsAccount::new("CORE");
    operator.sign(
        &core,
        json!({ "limits": { "mem_storage": -1, "disk_storage": -1 } }),
    );
    let server = PlainServer::start_with(&operator.conf()).await;
    let console = UserKey::new();
    let folder = TempData::new();
    let file = folder.path().join("console.creds");
    let renew = |expires| {
        let jwt = core.user(&console.public, json!({}), expires);
        std::fs::write(&file, creds(&jwt, Some(&console.seed))).unwrap();
    };
    renew(Some(soon()));
    let login = Credentials::CredsFile(file.clone());
    let bus = connect(server.url().into(), login, TlsFiles::default())
        .await
        .unwrap();
    renew(None);
    comes_back(&bus).await;
}

#[tokio::test]
async fn an_nkey_file_that_was_renewed_lets_a_console_come_back() {
    let users = |key: &UserKey| {
        format!(
            "accounts {{ CORE {{ jetstream: enabled, users: [ {{ nkey: {} }} ] }} }}",
            key.public
        )
    };
    let (first, second) = (UserKey::new(), UserKey::new());
    let server = PlainServer::start_with(&users(&first)).await;
    let folder = TempData::new();
    let file = folder.path().join("login.nk");
    std::fs::write(&file, format!("{}\n", first.seed)).unwrap();
    let login = Credentials::NkeyFile(file.clone());
    let bus = connect(server.url().into(), login, TlsFiles::default())
        .await
        .unwrap();
    std::fs::write(&file, &second.seed).unwrap();
    server.reconfigure(&users(&second)).await;
    comes_back(&bus).await;
}

#[tokio::test]
async fn what_keeps_a_stream_away_is_told_with_what_to_change() {
    for (limit, replicas, words) in [
        ("max_streams: 5", 1, "max_streams"),
        ("max_bytes_required: true", 1, "max_bytes_required: false"),
        ("disk_max_stream_bytes: 1GB", 1, "disk_max_stream_bytes"),
        ("max_file: 64GB", 3, "stream_replicas"),
    ] {
        let server = PlainServer::start_with(&format!(
            "accounts {{ HOUSE {{ jetstream: {{ {limit} }}, users: [{{ user: all, password: all }}] }} }}\n\
             no_auth_user: all"
        ))
        .await;
        let bus = server.console(true).await.unwrap();
        let error = made(&bus, replicas).await.unwrap_err();
        assert_eq!(error.code(), "bus_stream_limit", "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_takes_no_more_connections_is_not_said_to_be_silent() {
    for limit in [
        "max_connections: 1",
        "accounts { HOUSE { jetstream: enabled, limits: { max_connections: 1 }, users: [{ user: all, password: all }] } }\n\
         no_auth_user: all",
    ] {
        let server = PlainServer::start_with(limit).await;
        let first = server.console(true).await.unwrap();
        let error = refused(server.console(true).await);
        assert_eq!(error.code(), "bus_too_many_connections", "{error}");
        first.close().await;
    }
}

/// As a command that is beside its console, of a cluster that names addresses which do not lead anywhere.
#[tokio::test]
async fn servers_are_tried_in_the_order_given_where_that_is_asked_for() {
    let server = PlainServer::start().await;
    let silent: Vec<_> = (0..8)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    let mut urls = vec![server.url().to_owned()];
    for listener in &silent {
        listener.set_nonblocking(true).unwrap();
        urls.push(format!("nats://{}", listener.local_addr().unwrap()));
    }
    let bus = Bus::connect_in_order(BusOptions {
        url: urls.join(","),
        credentials: Credentials::None,
        tls: TlsFiles::default(),
        console_id: "test".into(),
        allow_single_account: true,
    })
    .await
    .unwrap();
    assert!(silent.iter().all(|listener| listener.accept().is_err()));
    bus.close().await;
}

#[tokio::test]
async fn the_largest_message_of_the_account_is_learned_by_trying() {
    for (limit, takes) in [(100_000, 150_000), (200_000, 200_000)] {
        let server = PlainServer::start_with(&format!(
            "accounts {{ HOUSE {{ jetstream: enabled, limits: {{ max_payload: {limit} }}, users: [{{ user: all, password: all }}] }} }}\n\
             no_auth_user: all"
        ))
        .await;
        let bus = server.console(true).await.unwrap();
        made(&bus, 1).await.unwrap();
        let reported = bus.max_payload();
        bus.try_largest(150_000).await;
        assert_eq!(bus.max_payload() < takes, limit < 150_000, "{reported}");
    }
}
