//! The connections: how many are open, and for how long.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::tls::Tls;

/// Each takes a file of the console, whose bus needs some too; more wait for their turn.
const CONNECTIONS: usize = 64;
/// For the headers of a request, and for the handshake of TLS.
const HEADERS: Duration = Duration::from_secs(10);
/// A connection that is older ends after its answer.
const AGE: Duration = Duration::from_secs(60);
/// For the last answer of a connection.
const GRACE: Duration = Duration::from_secs(5);
/// Before it is tried again, where the system accepts none.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Connections {
    tls: Option<Tls>,
    router: Router,
    stop: CancellationToken,
}

impl Connections {
    pub(crate) fn new(tls: Option<Tls>, router: Router, stop: CancellationToken) -> Self {
        Self { tls, router, stop }
    }

    /// Until it is stopped and what was asked is answered.
    pub(crate) async fn serve(mut self, listener: TcpListener) {
        let (turns, mut open) = (Arc::new(Semaphore::new(CONNECTIONS)), JoinSet::new());
        while let Some(turn) = self
            .unless_stopped(Arc::clone(&turns).acquire_owned())
            .await
        {
            let Some(accepted) = self.unless_stopped(listener.accept()).await else {
                break;
            };
            while open.try_join_next().is_some() {}
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection for metrics cannot be accepted");
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let (router, stop) = (self.router.clone(), self.stop.clone());
            let tls = self.tls.as_mut().map(|tls| tls.acceptor(Instant::now()));
            open.spawn(async move {
                let _turn = turn;
                match tls {
                    None => speak(stream, router, stop).await,
                    Some(tls) => {
                        if let Ok(Ok(stream)) = timeout(HEADERS, tls.accept(stream)).await {
                            speak(stream, router, stop).await;
                        }
                    }
                }
            });
        }
        while open.join_next().await.is_some() {}
    }

    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.stop.run_until_cancelled(work).await
    }
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    router: Router,
    stop: CancellationToken,
) {
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut serving = pin!(serving);
    // How a connection ends concerns nobody but its client.
    tokio::select! {
        _ = &mut serving => return,
        () = stop.cancelled() => {}
        () = sleep(AGE) => {}
    }
    serving.as_mut().graceful_shutdown();
    let _ = timeout(GRACE, serving).await;
}
