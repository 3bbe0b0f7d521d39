//! `mcp-proxy` between a client and a server that are not ours.

mod attacks;
mod calls;
mod ends;
mod listened;
mod official;
mod permission;
mod relayed;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::desk::{Desk, LIMIT, Running, eventually};

/// The Python that the tests run with.
fn python() -> PathBuf {
    let named = std::env::var_os("COUNTERSIGN_TEST_PYTHON");
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/.venv/bin/python");
    named.map_or_else(|| own.into(), PathBuf::from)
}

/// A client of the proxy, and the server behind it.
struct Client {
    proxy: Running,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    /// What the server reads and what it says first.
    files: TempDir,
}

impl Client {
    /// Starts the proxy with these options; the server first says `said`.
    fn start(desk: &Desk, options: &[&str], said: &[u8]) -> Self {
        let files = TempDir::new().expect("a folder");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/server.py");
        fs::write(files.path().join("said"), said).expect("a file");
        let mut command = desk.command(&[&["mcp-proxy"], options, &["--"]].concat());
        command.arg(python()).arg("-S").arg(script);
        command
            .arg(files.path().join("read"))
            .arg(files.path().join("said"));
        Self::spawn(command, files)
    }

    fn spawn(mut command: Command, files: TempDir) -> Self {
        let errors = fs::File::create(files.path().join("errors")).expect("a file");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors);
        let mut child = command.spawn().expect("the program runs");
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, lines) = sync_channel(100_000);
        thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n') {
                if sender.send(line.expect("readable")).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let proxy = Running(child);
        Self {
            proxy,
            stdin,
            lines,
            files,
        }
    }

    /// The same, after the handshake.
    fn initialized(desk: &Desk, options: &[&str]) -> Self {
        let mut client = Self::start(desk, options, b"");
        client.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}));
        assert_eq!(client.answer()["result"]["serverInfo"]["name"], "small");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("open");
        stdin.write_all(bytes).expect("the proxy reads");
    }

    fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    fn call(&mut self, id: u64, name: &str, arguments: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": name, "arguments": arguments}}));
    }

    fn line(&self) -> Vec<u8> {
        self.lines.recv_timeout(LIMIT).expect("a line")
    }

    fn answer(&self) -> Value {
        let line = self.line();
        serde_json::from_slice(&line)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&line)))
    }

    /// The text of the next answer, which refuses a call.
    fn refusal(&self) -> String {
        let answer = self.answer();
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["content"][0]["text"]
            .as_str()
            .expect("a text")
            .to_owned()
    }

    /// Nothing comes for a moment.
    fn silent(&self) {
        let line = self.lines.recv_timeout(Duration::from_millis(300));
        assert_eq!(line, Err(RecvTimeoutError::Timeout));
    }

    /// Every byte that the server read.
    fn read(&self) -> Vec<u8> {
        fs::read(self.files.path().join("read")).unwrap_or_default()
    }

    /// The calls that the server got.
    fn relayed(&self) -> Vec<Value> {
        let read = self.read();
        let lines = read.split(|byte| *byte == b'\n');
        let messages = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        messages
            .filter(|message| message["method"] == "tools/call")
            .collect()
    }

    /// What it wrote on standard error.
    fn errors(&self) -> String {
        fs::read_to_string(self.files.path().join("errors")).expect("a file")
    }
}

/// The one request that waits.
fn waiting(desk: &Desk) -> String {
    let line = eventually(|| {
        let lines = desk.lines(&["inbox", "--json"]);
        (lines.len() == 1).then(|| lines[0].clone()).ok_or(lines)
    });
    line["request_id"].as_str().expect("an id").to_owned()
}
