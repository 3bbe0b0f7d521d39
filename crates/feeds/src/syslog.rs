//! Syslog over TCP or TLS. TCP confirms nothing: what was written is taken once its connection has stayed open for 2 s.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use countersign_post::{cause, resolve, trust};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::Desk;
use crate::cef::frame;
use crate::config::Syslog;
use crate::event::Event;
use crate::ordered::Sink;
use crate::webhook::word;

const SURE: Duration = Duration::from_secs(2);

trait Stream: AsyncRead + AsyncWrite + Send + Sync + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Stream for T {}

/// A connection that is opened when something is to be written.
pub(crate) struct Connection {
    to: Syslog,
    console: String,
    host: String,
    open: Option<Box<dyn Stream>>,
}

impl Connection {
    pub(crate) fn new<D: Desk>(desk: &D, to: &Syslog) -> Self {
        Self::of(to, &desk.sender().console)
    }

    fn of(to: &Syslog, console: &str) -> Self {
        Self {
            to: to.clone(),
            console: console.to_owned(),
            host: host(),
            open: None,
        }
    }

    async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        let addresses = resolve(&self.to.host, self.to.port).await?;
        let tcp = TcpStream::connect(addresses.as_slice()).await?;
        if !self.to.tls {
            return Ok(Box::new(tcp));
        }
        let connector = TlsConnector::from(Arc::new(trust(self.to.tls_ca.as_deref())?));
        let name = ServerName::try_from(self.to.host.clone()).map_err(io::Error::other)?;
        Ok(Box::new(connector.connect(name, tcp).await?))
    }

    async fn send(&mut self, events: &[Event]) -> io::Result<()> {
        let mut stream = match self.open.take() {
            Some(stream) => stream,
            None => self.connect().await?,
        };
        let frames = events
            .iter()
            .map(|event| frame(event, &self.host, &self.console, self.to.cef));
        stream
            .write_all(frames.collect::<String>().as_bytes())
            .await?;
        stream.flush().await?;
        self.open = Some(stream);
        Ok(())
    }
}

impl Sink for Connection {
    const SURE_AFTER: Duration = SURE;

    async fn write(&mut self, events: &[Event]) -> Result<(), &'static str> {
        let limit = Duration::from_secs(self.to.timeout_s);
        match timeout(limit, self.send(events)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(cause(&error).map_or("connect", word)),
            Err(_) => Err("timeout"),
        }
    }

    async fn lost(&mut self) -> &'static str {
        // What it says is of no use; its end is.
        let mut said = [0; 1_024];
        while let Some(stream) = &mut self.open {
            if !matches!(stream.read(&mut said).await, Ok(1..)) {
                self.open = None;
            }
        }
        "connect"
    }
}

/// Sends one event and waits until it counts as taken.
pub(crate) async fn send_test(
    to: &Syslog,
    console: &str,
    event: &Event,
) -> Result<(), &'static str> {
    let mut connection = Connection::of(to, console);
    connection.write(std::slice::from_ref(event)).await?;
    timeout(SURE, connection.lost()).await.map_or(Ok(()), Err)
}

/// The machine's name as a header may have it.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String = name
        .trim()
        .chars()
        .filter(char::is_ascii_graphic)
        .take(255)
        .collect();
    if name.is_empty() {
        "-".to_owned()
    } else {
        name
    }
}
