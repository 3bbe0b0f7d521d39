//! One gateway after another on one folder, and a client that checks each answer against the description.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use countersign_gateway::{Gateway, Options, create, openapi};
use countersign_sdk::Enrolment;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use crate::console::{Console, LIMIT};

pub(crate) struct Desk {
    pub(crate) console: Console,
    pub(crate) folder: TempDir,
    pub(crate) token: String,
    pub(crate) secret: String,
    pub(crate) gateway: Process,
}

pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) url: String,
}

/// A status and what came with it.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Desk {
    pub(crate) async fn start() -> Self {
        Self::with("").await
    }

    /// Callbacks may go to this origin.
    pub(crate) async fn with(callback: &str) -> Self {
        let console = Console::start().await;
        let enrolment = console.enrolment();
        Self::of(console, &enrolment, callback).await
    }

    /// With this login.
    pub(crate) async fn of(console: Console, enrolment: &Enrolment, callback: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let agent = enrolment.agent_key();
        let enrolment = serde_json::to_vec(enrolment).unwrap();
        std::fs::write(folder.path().join("agent.json"), enrolment).unwrap();
        let made = create(&folder.path().join("dir"), "ci", &agent).unwrap();
        let gateway = Process::start(folder.path().to_owned(), callback).await;
        let desk = Self {
            console,
            folder,
            token: made.token,
            secret: made.callback_secret,
            gateway,
        };
        desk.ready().await;
        desk
    }

    /// Killed without a word, and started again.
    pub(crate) async fn restart(&mut self) {
        self.kill().await;
        self.start_again().await;
    }

    pub(crate) async fn start_again(&mut self) {
        self.gateway = Process::start(self.folder.path().to_owned(), "").await;
        self.ready().await;
    }

    pub(crate) async fn kill(&mut self) {
        self.gateway.child.kill().await.unwrap();
    }

    /// Asked to end, as a system does.
    pub(crate) fn terminate(&self) {
        let pid = self.gateway.child.id().unwrap().cast_signed();
        nix::sys::signal::kill(Pid::from_raw(pid), Signal::SIGTERM).unwrap();
    }

    /// Until the bus is reached.
    pub(crate) async fn ready(&self) {
        let ready = async {
            while self.get("/readyz").await.status != 200 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(LIMIT, ready).await.unwrap();
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.call("GET", path, None, None).await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.call("POST", path, None, Some(body)).await.unwrap()
    }

    pub(crate) async fn ask(&self, key: &str, body: Value) -> Reply {
        self.call("POST", "/v1/asks", Some(key), Some(body))
            .await
            .unwrap()
    }

    /// Asks for a deployment and gives the id.
    pub(crate) async fn deploy(&self, key: &str) -> String {
        let reply = self.ask(key, deploy()).await;
        assert_eq!(reply.status, 201, "{reply:?}");
        reply.body["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn claim(&self, id: &str) -> Reply {
        let path = format!("/v1/asks/{id}/claim");
        self.call("POST", &path, None, None).await.unwrap()
    }

    /// The state, once it is another than `waiting`.
    pub(crate) async fn left(&self, id: &str) -> Value {
        self.get(&format!("/v1/asks/{id}?wait=20")).await.body
    }

    pub(crate) async fn call(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<Value>,
    ) -> Option<Reply> {
        call(&self.gateway.url, &self.token, (method, path), key, body).await
    }
}

pub(crate) fn deploy() -> Value {
    json!({ "tool": "deploy", "args": { "to": "production" }, "timeout": 60 })
}

/// Reads the system's authorities once. Keeps no connection: each test has a runtime of its own.
static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| {
    // Fails where it was done before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy();
    client.pool_max_idle_per_host(0).build().unwrap()
});

/// None where the connection broke.
pub(crate) async fn call(
    url: &str,
    token: &str,
    (method, path): (&str, &str),
    key: Option<&str>,
    body: Option<Value>,
) -> Option<Reply> {
    let mut request = CLIENT
        .request(method.parse().unwrap(), format!("{url}{path}"))
        .timeout(Duration::from_secs(60))
        .header("authorization", format!("Bearer {token}"));
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    if let Some(body) = body {
        request = request.body(body.to_string());
    }
    let response = request.send().await.ok()?;
    let status = response.status().as_u16();
    assert_eq!(response.headers()["cache-control"], "no-store");
    let text = response.bytes().await.ok()?;
    let body = serde_json::from_slice(&text).unwrap();
    is_described(method, path, status, &body);
    Some(Reply { status, body })
}

static DOCUMENT: LazyLock<Value> = LazyLock::new(openapi);
/// Of each schema that was needed.
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<jsonschema::Validator>>>> =
    LazyLock::new(Mutex::default);

/// The answer is one that the description has for this request.
pub(crate) fn is_described(method: &str, path: &str, status: u16, body: &Value) {
    let path = path.split('?').next().unwrap();
    let parts: Vec<_> = path.split('/').collect();
    let template = match parts.as_slice() {
        ["", "v1", "asks", _] => "/v1/asks/{id}".to_owned(),
        ["", "v1", "asks", _, act] => format!("/v1/asks/{{id}}/{act}"),
        _ => path.to_owned(),
    };
    let operation = &DOCUMENT["paths"][&template][method.to_lowercase()];
    let responses = &operation["responses"];
    let response = responses
        .get(status.to_string())
        .or_else(|| responses.get("default"));
    let Some(response) = response else {
        assert!(
            status == 404 || status == 405,
            "{method} {path} {status} is not described"
        );
        return;
    };
    let schema = &response["content"]["application/json"]["schema"];
    let validator = {
        let mut validators = VALIDATORS.lock().unwrap();
        let made = validators.entry(schema.to_string()).or_insert_with(|| {
            let mut schema = schema.clone();
            schema["components"] = DOCUMENT["components"].clone();
            Arc::new(jsonschema::draft202012::new(&schema).unwrap())
        });
        Arc::clone(made)
    };
    let faults: Vec<_> = validator
        .iter_errors(body)
        .map(|error| error.to_string())
        .collect();
    assert!(
        faults.is_empty(),
        "{method} {path} {status} {body}: {faults:?}"
    );
}

impl Process {
    pub(crate) async fn start(folder: PathBuf, callback: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process::serves", "--nocapture"])
            .env("GATEWAY_FOLDER", folder)
            .env("GATEWAY_CALLBACK", callback)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = async {
            loop {
                let line = lines.next_line().await.unwrap().expect("the gateway ended");
                if let Some((_, url)) = line.split_once("url ") {
                    return url.to_owned();
                }
            }
        };
        let url = timeout(LIMIT, ready).await.unwrap();
        Self { child, url }
    }
}

/// The gateway, where another process of this program wants one.
#[tokio::test]
async fn serves() {
    let Some(folder) = std::env::var_os("GATEWAY_FOLDER").map(PathBuf::from) else {
        return;
    };
    let callback = std::env::var("GATEWAY_CALLBACK").unwrap();
    let started = Gateway::start(Options {
        agents: vec![folder.join("agent.json")],
        listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        unix: None,
        dir: folder.join("dir"),
        hosts: vec!["desk.example".to_owned()],
        callbacks: [callback]
            .into_iter()
            .filter(|origin| !origin.is_empty())
            .collect(),
        tls: None,
        allow_plain_text: false,
    });
    let gateway = started.await.unwrap();
    let mut asked = signal(SignalKind::terminate()).unwrap();
    println!("\nurl {}", gateway.url.as_deref().unwrap());
    asked.recv().await;
    gateway.stop().await;
    // As the program does.
    std::process::exit(0);
}

/// Sends these bytes on a connection of their own and reads until its end, or the first answer's.
pub(crate) async fn raw(url: &str, bytes: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap())
        .await
        .unwrap();
    let mut text = Vec::new();
    let exchange = async {
        // The gateway may have answered and closed before it read all of it.
        let _ = stream.write_all(bytes).await;
        let _ = stream.read_to_end(&mut text).await;
    };
    timeout(LIMIT, exchange).await.unwrap();
    let text = String::from_utf8(text).unwrap();
    let status = text.split(' ').nth(1).and_then(|word| word.parse().ok());
    (status.unwrap_or_default(), text)
}
