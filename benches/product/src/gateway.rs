//! What the gateway adds to an ask that a rule allows: ask and claim over HTTP, beside the bare protocol and the two
//! flushes of the disk that a call over it needs.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, ensure};
use countersign_load::{Agent, Figures, Login};
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::beside::since;
use crate::footprint::command;
use crate::receiver;

const CALLS: usize = 500;
/// Calls that are not counted.
const WARM_UP: usize = 20;
/// About as large as the file of an ask.
const KEPT: [u8; 2_048] = [b' '; 2_048];

pub(crate) async fn measure(
    program: &Path,
    desk: &Path,
    agent_json: &str,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let dir = desk.join("gateway");
    let about = ["--agent-json", agent_json, "--dir"];
    let mut gateway = command(program, desk)
        .args(["gateway", "--listen", "127.0.0.1:0"])
        .args(about)
        .arg(&dir)
        .stdout(Stdio::piped())
        .spawn()?;
    let out = gateway.stdout.take().context("no pipe")?;
    let line = BufReader::new(out).lines().next_line().await?;
    let ready: Value = serde_json::from_str(&line.context("no ready line")?)?;
    let made = command(program, desk)
        .args(["gateway", "token", "--name", "bench", "--json"])
        .args(about)
        .arg(&dir)
        .output()
        .await?;
    let made: Value = serde_json::from_slice(&made.stdout)?;
    let mut client = Client::connect(&ready["url"], &made["token"]).await?;
    let login: Login = serde_json::from_slice(&std::fs::read(agent_json)?)?;
    let bare = Agent::connect(&login).await?;
    let (mut floor, mut product) = (Vec::new(), Vec::new());
    for n in 0..CALLS + WARM_UP {
        let start = Instant::now();
        bare.ask().await?;
        for _ in 0..2 {
            flush(&dir)?;
        }
        let without = since(start)?;
        let start = Instant::now();
        client.run(n).await?;
        if n >= WARM_UP {
            floor.push(without);
            product.push(since(start)?);
        }
    }
    figures.percentiles("floor_gateway", floor);
    figures.percentiles("gateway", product);
    gateway.kill().await?;
    Ok(())
}

/// A file that outlives a power cut.
fn flush(folder: &Path) -> anyhow::Result<()> {
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(&KEPT)?;
    file.as_file().sync_all()?;
    file.persist(folder.join("bench"))?;
    Ok(File::open(folder)?.sync_all()?)
}

/// A client on one connection.
struct Client {
    stream: BufReader<TcpStream>,
    token: String,
}

impl Client {
    async fn connect(url: &Value, token: &Value) -> anyhow::Result<Self> {
        let address = url.as_str().and_then(|url| url.strip_prefix("http://"));
        let stream = TcpStream::connect(address.context("no address")?).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
            token: token.as_str().context("no token")?.to_owned(),
        })
    }

    /// Asks, waits for the answer, and claims it.
    async fn run(&mut self, n: usize) -> anyhow::Result<()> {
        let call = json!({
            "tool": "delete_invoice", "args": { "invoice_id": "INV-42" }, "risk": "medium", "timeout": 60,
        });
        let key = format!("bench-{n}");
        let asked = self.post("/v1/asks?wait=30", &key, &call).await?;
        ensure!(asked["state"] == "answered", "{asked}");
        let id = asked["id"].as_str().context("no id")?;
        let path = format!("/v1/asks/{id}/claim");
        let claimed = self.post(&path, "claim", &json!({})).await?;
        ensure!(claimed["run"] == true, "{claimed}");
        Ok(())
    }

    async fn post(&mut self, path: &str, key: &str, body: &Value) -> anyhow::Result<Value> {
        let (token, body) = (&self.token, body.to_string());
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Idempotency-Key: {key}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).await?;
        let answer = receiver::body(&mut self.stream).await?;
        Ok(serde_json::from_slice(&answer)?)
    }
}
