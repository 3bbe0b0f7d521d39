//! The connections of both ports: how many are open, and for how long.
//!
//! Connections have a limit: each takes a file of the console, whose bus needs some too.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};
use tonic::transport::Server;
use tonic::transport::server::Connected;

/// Connections at the same time, of both ports together.
pub(super) const CONNECTIONS: usize = 64;
/// After this a connection is asked to end, by what its protocol has for that: a sender opens another one.
const AGE: Duration = Duration::from_secs(60);
/// How long it may take to do so before it is cut; longer than one call.
const GRACE: Duration = Duration::from_secs(40);
/// Calls of one connection at the same time.
const CALLS: usize = 32;
/// Before it is tried again, where the system accepts none.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);
/// A full receiver is reported at most this often.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// A server that asks connections to end when they are old; [`Connection`] cuts those that do not. tonic's own grace
/// would cut them all then, unasked and in the middle of a call. The headers of HTTP/1.1 have a limit of 30 s in it, too.
pub(super) fn server() -> Server {
    Server::builder()
        .max_connection_age(AGE)
        .concurrency_limit_per_connection(CALLS)
}

/// Whoever wants to be accepted waits for its turn; clones share the limit.
#[derive(Clone)]
pub(super) struct Connections {
    turns: Arc<Semaphore>,
}

impl Connections {
    pub(super) fn new() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(CONNECTIONS)),
        }
    }

    /// What `listener` accepts, without end.
    pub(super) fn of(self, listener: TcpListener) -> impl Stream<Item = io::Result<Connection>> {
        futures::stream::unfold(
            (self, listener, None),
            async |(all, listener, warned_at)| {
                let (turn, warned_at) = all.turn(warned_at).await?;
                let stream = accept(&listener).await;
                let connection = Connection {
                    stream,
                    end: Box::pin(tokio::time::sleep(AGE + GRACE)),
                    _turn: turn,
                };
                Some((Ok(connection), (all, listener, warned_at)))
            },
        )
    }

    async fn turn(
        &self,
        warned_at: Option<Instant>,
    ) -> Option<(OwnedSemaphorePermit, Option<Instant>)> {
        if let Ok(turn) = Arc::clone(&self.turns).try_acquire_owned() {
            return Some((turn, warned_at));
        }
        let warned_at = match warned_at {
            Some(at) if at.elapsed() < WARN_EVERY => at,
            _ => {
                tracing::warn!("{CONNECTIONS} OTLP connections are open, the next one waits");
                Instant::now()
            }
        };
        let turn = Arc::clone(&self.turns).acquire_owned().await.ok()?;
        Some((turn, Some(warned_at)))
    }
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::warn!(%error, "an OTLP connection cannot be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// An accepted connection and its turn.
pub(super) struct Connection {
    stream: TcpStream,
    /// When it is cut.
    end: Pin<Box<Sleep>>,
    _turn: OwnedSemaphorePermit,
}

impl Connection {
    fn poll_age(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.end.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_age(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_age(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) -> Self::ConnectInfo {}
}
