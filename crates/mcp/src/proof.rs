//! A probe through a configured server entry, as a client would start it.

mod http;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use countersign_sdk::PROBE;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::answer::RELAYED;

pub use http::probe_url;

/// Some servers are downloaded when they first start.
const LONG_ENOUGH: Duration = Duration::from_secs(60);

/// What became of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probed {
    /// The proxy denied it, in these words, and sent nothing on.
    Denied(String),
    /// What answered is not our proxy, or it sent the call on.
    PassedOn,
}

/// Starts the command of an entry and calls the probe through it.
///
/// Errors: it does not start, or does not answer as an MCP server does.
pub async fn probe(
    command: &[String],
    environment: &[(String, String)],
    folder: &Path,
) -> Result<Probed, String> {
    let (program, args) = command.split_first().ok_or("the entry has no command")?;
    let mut child = Command::new(program)
        .args(args)
        .envs(environment.iter().cloned())
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("{program} does not start: {error}"))?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (to, from) = pipes.ok_or("it has no standard input and output")?;
    let asked = timeout(LONG_ENOUGH, ask(to, BufReader::new(from).lines())).await;
    let answer = asked.map_err(|_| too_slow())??;
    // Its input is closed: whoever it started ends with it.
    let _ = timeout(Duration::from_secs(2), child.wait()).await;
    Ok(judged(&answer))
}

fn judged(answer: &Value) -> Probed {
    let result = &answer["result"];
    let denied = result["_meta"][RELAYED] == 0 && result["isError"] == true;
    match denied {
        true => {
            let words = result["content"][0]["text"].as_str().unwrap_or_default();
            Probed::Denied(words.to_owned())
        }
        false => Probed::PassedOn,
    }
}

fn too_slow() -> String {
    format!("it did not answer within {} s", LONG_ENOUGH.as_secs())
}

fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "countersign doctor", "version": env!("CARGO_PKG_VERSION") },
    }})
}

fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

fn call() -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": PROBE, "arguments": {},
    }})
}

async fn ask(mut to: ChildStdin, mut from: Lines<BufReader<ChildStdout>>) -> Result<Value, String> {
    send(&mut to, &hello()).await?;
    answer(&mut from, 1).await?;
    send(&mut to, &initialized()).await?;
    send(&mut to, &call()).await?;
    answer(&mut from, 2).await
}

async fn send(to: &mut ChildStdin, message: &Value) -> Result<(), String> {
    let written = to.write_all(format!("{message}\n").as_bytes()).await;
    written.map_err(|error| format!("it does not read: {error}"))
}

/// The answer with this id; what else the server says is passed over.
async fn answer(from: &mut Lines<BufReader<ChildStdout>>, id: u64) -> Result<Value, String> {
    loop {
        let line = from.next_line().await.map_err(|error| error.to_string())?;
        let line = line.ok_or("it ended without an answer")?;
        if let Ok(message) = serde_json::from_str::<Value>(&line)
            && message["id"] == id
            && message["method"].is_null()
        {
            return Ok(message);
        }
    }
}
