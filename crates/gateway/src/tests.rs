//! A gateway without a bus: why it does not start, and what it says to whom it cannot serve.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode};
use countersign_post::Post;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use crate::callback::Callbacks;
use crate::desk::Desk;
use crate::journal::Journal;
use crate::link::Link;
use crate::origins::Origins;
use crate::routes::routes;
use crate::shared::Shared;
use crate::tokens::Tokens;
use crate::{Gateway, Options, StartError, create};

/// One whose connection and end a test sets.
struct Made {
    shared: Arc<Shared>,
    token: String,
    link: watch::Sender<Link>,
    stop: watch::Sender<bool>,
    _dir: TempDir,
}

fn made() -> Made {
    let dir = tempfile::tempdir().unwrap();
    let agent: countersign_wire::AgentKey = "acme/bot".parse().unwrap();
    let token = create(dir.path(), "ci", &agent).unwrap().token;
    let journal = Arc::new(Journal::open(dir.path()).unwrap());
    let tokens = Tokens::follow(dir.path()).unwrap();
    let callbacks = Arc::new(Callbacks::new(Post::new().unwrap(), tokens.clone()));
    let (link, state) = watch::channel(Link::Down);
    let (stop, stopped) = watch::channel(false);
    let desk = Desk::new(agent.clone(), Uuid::nil(), journal, state, callbacks);
    let shared = Shared {
        desks: HashMap::from([(agent, Arc::new(desk))]),
        tokens,
        origins: Origins::default(),
        host: "builder".to_owned(),
        stop: stopped,
    };
    Made {
        shared: Arc::new(shared),
        token,
        link,
        stop,
        _dir: dir,
    }
}

impl Made {
    async fn call(&self, method: &str, path: &str, body: Body) -> Response<Body> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.token))
            .header("idempotency-key", "k")
            .body(body)
            .unwrap();
        let service = TowerToHyperService::new(routes(Arc::clone(&self.shared), None));
        service.call(request).await.unwrap()
    }

    async fn ask(&self, body: Body) -> Response<Body> {
        self.call("POST", "/v1/asks", body).await
    }
}

async fn json_of(response: Response<Body>) -> Value {
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// Status 503 with this code, and when to come back.
async fn is_unavailable(response: Response<Body>, code: &str) {
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE, "{code}");
    let seconds = response.headers()["retry-after"].to_str().unwrap();
    assert!(seconds.parse::<u64>().unwrap() > 0, "{code}");
    assert_eq!(json_of(response).await["error"]["code"], code);
}

#[tokio::test]
async fn without_its_bus_or_at_its_end_it_says_when_to_come_back() {
    let made = made();
    let ask = || Body::from(json!({ "tool": "deploy", "args": {} }).to_string());
    for (link, code) in [
        (Link::Down, "bus_unreachable"),
        (Link::Refused, "login_refused"),
    ] {
        made.link.send_replace(link);
        is_unavailable(made.ask(ask()).await, code).await;
        let ready = made.call("GET", "/readyz", Body::empty()).await;
        assert_eq!(ready.status(), StatusCode::SERVICE_UNAVAILABLE);
        let why = json!({ "ready": false, "why": [code] });
        assert_eq!(json_of(ready).await, why);
    }
    let kept = made.call("GET", "/v1/asks?state=waiting", Body::empty());
    assert_eq!(json_of(kept.await).await["asks"], json!([]));
    made.stop.send_replace(true);
    for (method, path) in [
        ("POST", "/v1/asks"),
        ("GET", "/v1/asks?state=waiting&wait=50"),
        ("POST", "/v1/asks/r1/claim"),
    ] {
        is_unavailable(made.call(method, path, ask()).await, "stopping").await;
    }
    let alive = made.call("GET", "/healthz", Body::empty()).await;
    assert_eq!(alive.status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_body_has_30_s() {
    let made = made();
    let begun = Instant::now();
    let never = futures::stream::pending::<Result<Vec<u8>, std::io::Error>>();
    let response = made.ask(Body::from_stream(never)).await;
    assert_eq!(begun.elapsed().as_secs(), 30);
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    let error = &json_of(response).await["error"];
    assert_eq!(
        (&error["code"], &error["reason"]),
        (&json!("invalid_request"), &json!("not_json"))
    );
}

fn login(folder: &Path, name: &str, agent: &str) -> std::path::PathBuf {
    let pair = nkeys::KeyPair::new_user();
    let digest = format!("sha256:{}", "0".repeat(64));
    let enrolment = json!({
        // Nobody is there.
        "nats_url": "nats://127.0.0.1:1", "workspace": "acme", "agent": agent, "nkey_seed": pair.seed().unwrap(),
        "inbox_prefix": format!("_INBOX_{}", pair.public_key()), "realm": Uuid::nil(), "log": { "root": digest, "n": 1, "digest": digest },
    });
    let path = folder.join(name);
    std::fs::write(&path, enrolment.to_string()).unwrap();
    path
}

fn options(folder: &Path) -> Options {
    Options {
        agents: vec![login(folder, "agent.json", "bot")],
        listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        unix: None,
        dir: folder.join("dir"),
        hosts: Vec::new(),
        callbacks: Vec::new(),
        tls: None,
        allow_plain_text: false,
    }
}

#[tokio::test]
async fn what_is_not_safe_or_damaged_does_not_start() {
    type Spoil = fn(&Path, &mut Options);
    let everywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let cases: [(&str, bool, Spoil); 12] = [
        ("--listen", true, |_, options| options.listen = None),
        ("--agent-json", true, |_, options| options.agents.clear()),
        ("1 to 64", true, |_, options| {
            options.agents = vec![options.agents[0].clone(); 65];
        }),
        ("second login", true, |folder, options| {
            options.agents.push(login(folder, "again.json", "bot"));
        }),
        ("--allow-plain-text", true, |_, options| {
            options.listen = "0.0.0.0:0".parse().ok();
        }),
        ("--callback", true, |_, options| {
            options.callbacks = vec!["http://n8n.example.org".to_owned()];
        }),
        ("agent.json", false, |_, options| {
            std::fs::write(&options.agents[0], "{").unwrap();
        }),
        ("log", false, |_, options| {
            let text = std::fs::read(&options.agents[0]).unwrap();
            let mut enrolment: Value = serde_json::from_slice(&text).unwrap();
            enrolment.as_object_mut().unwrap().remove("log");
            std::fs::write(&options.agents[0], enrolment.to_string()).unwrap();
        }),
        ("dir", false, |_, options| {
            std::fs::write(&options.dir, "").unwrap()
        }),
        ("r1.json", false, |_, options| {
            let asks = options.dir.join("asks");
            std::fs::create_dir_all(&asks).unwrap();
            std::fs::write(asks.join("r1.json"), "{").unwrap();
        }),
        ("ci.json", false, |_, options| {
            create(&options.dir, "ci", &"acme/bot".parse().unwrap()).unwrap();
            std::fs::write(options.dir.join("tokens/ci.json"), "{").unwrap();
        }),
        ("cert.pem", false, |folder, options| {
            options.tls = Some((folder.join("cert.pem"), folder.join("key.pem")));
        }),
    ];
    for (named, is_usage, spoil) in cases {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(folder.path());
        spoil(folder.path(), &mut options);
        let error = Gateway::start(options).await.err().expect(named);
        let why = error.to_string();
        assert!(why.contains(named), "{named}: {why}");
        assert_eq!(matches!(error, StartError::Usage(_)), is_usage, "{why}");
    }
    let folder = tempfile::tempdir().unwrap();
    let wanted = options(folder.path());
    let held = Gateway::start(wanted.clone()).await.unwrap();
    assert!(held.insecure.is_empty());
    let second = Gateway::start(wanted).await.err().unwrap();
    assert!(matches!(second, StartError::InUse(_)), "{second}");
    let other = tempfile::tempdir().unwrap();
    let taken = held.url.as_deref().unwrap().strip_prefix("http://");
    let listen = taken.and_then(|address| address.parse().ok());
    let wanted = Options {
        listen,
        ..options(other.path())
    };
    let error = Gateway::start(wanted).await.err().unwrap();
    assert!(matches!(error, StartError::Listen { .. }), "{error}");
    held.stop().await;
    let other = tempfile::tempdir().unwrap();
    let open = Options {
        listen: Some(everywhere),
        allow_plain_text: true,
        ..options(other.path())
    };
    let open = Gateway::start(open).await.unwrap();
    assert_eq!(open.insecure, ["plain_text"]);
    open.stop().await;
}
