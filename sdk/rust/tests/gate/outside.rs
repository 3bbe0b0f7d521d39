//! A gate on a server that is not the console's own: TLS, .creds, user and password.

use countersign_sdk::{Enrolment, Gate, GateError};
use countersign_testkit::{
    AgentCredentials, Authority, Bus, BusOptions, Credentials, NatsAccount, NatsOperator,
    PlainServer, TempData, UserKey, creds, permissions_block,
};
use countersign_wire::{LogHead, NkeySeed, Sha256Digest, TlsFiles};
use serde_json::json;
use std::time::Duration;
use uuid::Uuid;

use crate::console::delete_invoice;

fn enrolment(url: String, agent: &UserKey) -> Enrolment {
    Enrolment {
        nats_url: url,
        workspace: "acme".parse().unwrap(),
        agent: "bot".parse().unwrap(),
        nkey_seed: NkeySeed::new(&agent.seed),
        inbox_prefix: format!("_INBOX_{}", agent.public),
        realm: Uuid::new_v4(),
        // Of nobody's log: opening a gate needs none of its entries.
        log: Some(LogHead {
            root: Sha256Digest::of_bytes(b"root"),
            n: 1,
            digest: Sha256Digest::of_bytes(b"root"),
        }),
        tls: TlsFiles::default(),
        nats_creds: None,
    }
}

fn trusting(authority: &Authority, own: Option<&Authority>) -> TlsFiles {
    let own = own.map(|signer| signer.client("agent"));
    let (cert, key) = own.map(|own| (own.cert, own.key)).unzip();
    let ca = Some(authority.ca());
    TlsFiles { ca, cert, key }
}

async fn streams(url: String, credentials: Credentials, tls: TlsFiles) {
    let options = BusOptions {
        url,
        credentials,
        tls,
        console_id: "test".into(),
        allow_single_account: false,
    };
    let bus = Bus::connect(options).await.unwrap();
    bus.ensure(true, 1).await.unwrap();
}

/// Opening a gate is an exchange with the stream of decisions.
async fn open(enrolment: Enrolment) -> Result<(), GateError> {
    let gate = Gate::connect(enrolment).await?;
    gate.close().await;
    Ok(())
}

#[tokio::test]
async fn an_agent_shows_its_certificate_and_trusts_a_private_authority() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (console, agent) = (UserKey::new(), UserKey::new());
    let access = AgentCredentials {
        url: String::new(),
        workspace: "acme".into(),
        agent: "bot".into(),
        key: agent.clone(),
    };
    let accounts = permissions_block(&[console.public.clone().into()], &[access.access()]).unwrap();
    let tls = authority.server("127.0.0.1").server_block(Some(&authority));
    let server = PlainServer::start_with(&format!("{tls}{accounts}")).await;
    let url = format!("tls://127.0.0.1:{}", server.port());
    let login = Credentials::NkeySeed(console.seed.clone());
    let mutual = trusting(&authority, Some(&authority));
    streams(url.clone(), login, mutual.clone()).await;
    let with = |tls| Enrolment {
        tls,
        ..enrolment(url.clone(), &agent)
    };
    open(with(mutual)).await.unwrap();
    for tls in [
        TlsFiles::default(),
        trusting(&stranger, Some(&authority)),
        trusting(&authority, Some(&stranger)),
        trusting(&authority, None),
    ] {
        let error = open(with(tls)).await.unwrap_err();
        assert_eq!(error.code(), "bus_tls", "{error}");
        assert!(error.to_string().contains("tls_ca"), "{error}");
    }
    let half = TlsFiles {
        key: None,
        ..trusting(&authority, Some(&authority))
    };
    assert_eq!(open(with(half)).await.unwrap_err().code(), "bad_enrolment");
}

#[tokio::test]
async fn an_agent_does_not_fall_back_to_plain_text() {
    let authority = Authority::new();
    let server = PlainServer::start().await;
    for (scheme, tls) in [
        ("tls", TlsFiles::default()),
        ("nats", trusting(&authority, None)),
    ] {
        let url = format!("{scheme}://127.0.0.1:{}", server.port());
        let enrolment = Enrolment {
            tls,
            ..enrolment(url, &UserKey::new())
        };
        assert_eq!(open(enrolment).await.unwrap_err().code(), "bus_tls");
    }
}

#[tokio::test]
async fn a_creds_file_or_a_password_in_the_url_logs_an_agent_in() {
    let mut operator = NatsOperator::new();
    let account = NatsAccount::new("CORE");
    operator.sign(
        &account,
        json!({ "limits": { "mem_storage": -1, "disk_storage": -1 } }),
    );
    let server = PlainServer::start_with(&operator.conf()).await;
    let folder = TempData::new();
    let file = folder.path().join("agent.creds");
    let agent = UserKey::new();
    let jwt = account.user(&agent.public, json!({}), None);
    std::fs::write(&file, creds(&jwt, Some(&agent.seed))).unwrap();
    let login = Credentials::CredsFile(file.clone());
    streams(server.url().into(), login, TlsFiles::default()).await;
    // With the seed in the file, and with the JWT alone beside the enrolled key.
    let named = Enrolment {
        nats_creds: Some(file.clone()),
        ..enrolment(server.url().into(), &UserKey::new())
    };
    open(named).await.unwrap();
    std::fs::write(&file, creds(&jwt, None)).unwrap();
    let named = |key: &UserKey| Enrolment {
        nats_creds: Some(file.clone()),
        ..enrolment(server.url().into(), key)
    };
    open(named(&agent)).await.unwrap();
    let wrong = open(named(&UserKey::new())).await.unwrap_err();
    assert_eq!(wrong, GateError::LoginRefused);

    let users =
        r#"accounts { CORE { jetstream: enabled, users: [ { user: bot, password: "p@ss" } ] } }"#;
    let server = PlainServer::start_with(users).await;
    let url = |login: &str| server.url().replace("nats://", &format!("nats://{login}@"));
    let login = Credentials::UrlUserPassword;
    streams(url("bot:p%40ss"), login, TlsFiles::default()).await;
    open(enrolment(url("bot:p%40ss"), &agent)).await.unwrap();
    let wrong = open(enrolment(url("bot:other"), &agent)).await;
    assert_eq!(wrong.unwrap_err(), GateError::LoginRefused);
}

#[tokio::test]
async fn a_creds_file_that_was_renewed_lets_an_agent_come_back() {
    let mut operator = NatsOperator::new();
    let account = NatsAccount::new("CORE");
    operator.sign(
        &account,
        json!({ "limits": { "mem_storage": -1, "disk_storage": -1 } }),
    );
    let server = PlainServer::start_with(&operator.conf()).await;
    let folder = TempData::new();
    let file = folder.path().join("agent.creds");
    let agent = UserKey::new();
    let renew = |expires| {
        let jwt = account.user(&agent.public, json!({}), expires);
        std::fs::write(&file, creds(&jwt, Some(&agent.seed))).unwrap();
    };
    renew(None);
    let login = Credentials::CredsFile(file.clone());
    streams(server.url().into(), login, TlsFiles::default()).await;
    #[expect(
        clippy::disallowed_methods,
        reason = "the server judges a JWT by the wall clock"
    )]
    let now = time::OffsetDateTime::now_utc().unix_timestamp();
    renew(Some(now + 2));
    let named = Enrolment {
        nats_creds: Some(file.clone()),
        ..enrolment(server.url().into(), &agent)
    };
    let gate = Gate::connect(named).await.unwrap();
    renew(None);
    // The login ends while it waits; at the deadline the answer is read over the new one.
    let asked = gate.ask(delete_invoice().timeout(Duration::from_secs(6)));
    let decision = asked.await.unwrap();
    assert_eq!(decision.unread(), None);
}
