//! An agent that writes NATS's lines itself: bytes that no client library sends.

use crate::AgentCredentials;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A login of an agent on a bare connection.
pub struct RawAgent {
    stream: BufReader<TcpStream>,
    inbox: String,
}

impl AgentCredentials {
    /// Logs in on a bare connection.
    pub async fn connect_raw(&self) -> RawAgent {
        let address = self.url.rsplit('/').next().unwrap_or_default();
        let stream = TcpStream::connect(address).await.expect("a server there");
        let mut agent = RawAgent {
            stream: BufReader::new(stream),
            inbox: format!("{}.raw", self.inbox_prefix()),
        };
        let info = agent.line_of("INFO ").await;
        let info: Value = serde_json::from_str(&info).expect("the server's INFO is JSON");
        let nonce = info["nonce"].as_str().unwrap_or_default();
        let key = KeyPair::from_seed(&self.key.seed).expect("the seed of the login");
        let sig = key.sign(nonce.as_bytes()).expect("a seed can sign");
        let login = json!({
            "verbose": false, "pedantic": false, "headers": true, "protocol": 1, "lang": "raw", "version": "1",
            "nkey": self.key.public, "sig": URL_SAFE_NO_PAD.encode(sig),
        });
        agent
            .send(format!("CONNECT {login}\r\nSUB {} 1\r\nPING\r\n", agent.inbox).as_bytes())
            .await;
        agent.line_of("PONG").await;
        agent
    }
}

impl RawAgent {
    /// Sends a message with this header block, none where it is empty.
    pub async fn publish(&mut self, subject: &[u8], headers: &[u8], payload: &[u8]) {
        self.put(subject, "", headers, payload).await;
    }

    /// Sends a message, and returns its sequence in the stream that took it.
    pub async fn store(&mut self, subject: &[u8], headers: &[u8], payload: &[u8]) -> u64 {
        let reply = format!(" {}", self.inbox);
        self.put(subject, &reply, headers, payload).await;
        let line = self.line_of("MSG ").await;
        let length = line.rsplit(' ').next().and_then(|word| word.parse().ok());
        let mut answer = vec![0; length.expect("the length of the answer")];
        self.stream
            .read_exact(&mut answer)
            .await
            .expect("an answer");
        let answer: Value = serde_json::from_slice(&answer).expect("the answer is JSON");
        let seq = answer["seq"].as_u64().unwrap_or_default();
        assert!(seq > 0, "{answer}");
        seq
    }

    async fn put(&mut self, subject: &[u8], reply: &str, headers: &[u8], payload: &[u8]) {
        let (verb, sizes) = match headers.len() {
            0 => ("PUB ", format!(" {}", payload.len())),
            n => ("HPUB ", format!(" {n} {}", n + payload.len())),
        };
        let parts = [
            verb.as_bytes(),
            subject,
            reply.as_bytes(),
            sizes.as_bytes(),
            b"\r\n",
            headers,
            payload,
            b"\r\n",
        ];
        self.send(&parts.concat()).await;
    }

    async fn send(&mut self, bytes: &[u8]) {
        self.stream
            .write_all(bytes)
            .await
            .expect("the server takes bytes");
    }

    /// The rest of the next line with this beginning; pings before it are answered.
    async fn line_of(&mut self, beginning: &str) -> String {
        loop {
            let mut line = String::new();
            let read = self
                .stream
                .read_line(&mut line)
                .await
                .expect("a line of the server");
            assert!(
                read > 0 && !line.starts_with("-ERR"),
                "the server said: {line}"
            );
            if let Some(rest) = line.trim_end().strip_prefix(beginning) {
                return rest.to_owned();
            }
            if line.starts_with("PING") {
                self.send(b"PONG\r\n").await;
            }
        }
    }
}
