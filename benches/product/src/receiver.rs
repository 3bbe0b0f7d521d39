//! A receiver of webhooks that takes every call.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::ensure;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::Sender;

/// A body, and when it came by the wall clock.
pub(crate) type Came = (Value, f64);

/// The section of `config.toml` for the receiver at this address.
pub(crate) fn feed(events: &str, at: SocketAddr) -> String {
    format!(
        "[[feed]]\nname = \"bench\"\nkind = \"webhook\"\nurl = \"http://{at}/\"\nevents = [\"{events}\"]\n"
    )
}

/// Takes every call, and passes on what came where that is wanted.
pub(crate) async fn receive(listener: TcpListener, taken: Option<Sender<Came>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let taken = taken.clone();
        // A connection that ends is opened anew.
        tokio::spawn(async move { drop(calls(stream, taken).await) });
    }
}

async fn calls(stream: TcpStream, taken: Option<Sender<Came>>) -> anyhow::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let body = body(&mut stream).await?;
        #[expect(clippy::disallowed_methods, reason = "the bus runs on this machine")]
        let at = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64() * 1e3;
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
        if let Some(taken) = &taken {
            taken.send((serde_json::from_slice(&body)?, at)).await?;
        }
    }
}

/// The body of a message of HTTP/1.1.
pub(crate) async fn body(stream: &mut BufReader<TcpStream>) -> anyhow::Result<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        ensure!(stream.read_line(&mut line).await? > 0, "closed");
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse()?;
            }
            None if line == "\r\n" => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(body)
}
