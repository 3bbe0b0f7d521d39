//! Sockets, TLS and connections: how many, and for how long.

use std::fs::Permissions;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::start_error::StartError;

const CONNECTIONS: usize = 1_024;
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
const LARGEST_HEADERS: usize = 16 * 1024;
/// Before it is tried again, where the system accepts none.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);
/// How often the certificate is read again.
const READ_AGAIN: Duration = Duration::from_secs(30);

/// The sockets.
pub(crate) struct Listening {
    pub(crate) tcp: Option<(TcpListener, SocketAddr)>,
    unix: Option<UnixListener>,
}

impl Listening {
    pub(crate) async fn open(
        tcp: Option<SocketAddr>,
        unix: Option<PathBuf>,
    ) -> Result<Self, StartError> {
        let failed = |at: String| move |source| StartError::Listen { at, source };
        let tcp = match tcp {
            Some(address) => {
                let listener = TcpListener::bind(address).await;
                let listener = listener.map_err(failed(address.to_string()))?;
                let bound = listener.local_addr().map_err(failed(address.to_string()))?;
                Some((listener, bound))
            }
            None => None,
        };
        let unix = match unix {
            Some(path) => {
                let at = path.display().to_string();
                if is_left_over(&path).await {
                    let _ = std::fs::remove_file(&path);
                }
                let listener = UnixListener::bind(&path).map_err(failed(at.clone()))?;
                let private = std::fs::set_permissions(&path, Permissions::from_mode(0o600));
                private.map_err(failed(at))?;
                Some(listener)
            }
            None => None,
        };
        Ok(Self { tcp, unix })
    }
}

/// Whether a killed process left a socket there: nobody is behind it.
async fn is_left_over(path: &Path) -> bool {
    let found = std::fs::symlink_metadata(path);
    found.is_ok_and(|of| of.file_type().is_socket())
        && UnixStream::connect(path)
            .await
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// A certificate, read again while it is used.
#[derive(Clone)]
pub(crate) struct Tls {
    cert: PathBuf,
    key: PathBuf,
    config: Arc<Mutex<Arc<ServerConfig>>>,
}

impl Tls {
    pub(crate) fn read(cert: PathBuf, key: PathBuf) -> Result<Self, StartError> {
        let config = config(&cert, &key).map_err(|source| StartError::Listen {
            at: cert.display().to_string(),
            source,
        })?;
        let config = Arc::new(Mutex::new(Arc::new(config)));
        Ok(Self { cert, key, config })
    }

    fn current(&self) -> Arc<ServerConfig> {
        let held = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&held)
    }

    fn put(&self, config: ServerConfig) {
        *self.config.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }

    /// One that cannot be used leaves the last one in force.
    async fn follow(self) {
        loop {
            sleep(READ_AGAIN).await;
            match config(&self.cert, &self.key) {
                Ok(config) => self.put(config),
                Err(error) => tracing::warn!("the certificate before is used: {error}"),
            }
        }
    }
}

fn config(cert: &PathBuf, key: &PathBuf) -> io::Result<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(cert).and_then(Iterator::collect);
    let chain: Vec<_> = chain.map_err(io::Error::other)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(io::Error::other)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let config = builder.with_no_client_auth().with_single_cert(chain, key);
    config.map_err(io::Error::other)
}

/// Serves until `stop`, and then until what was taken is answered.
pub(crate) fn serve(
    listening: Listening,
    tls: Option<Tls>,
    [over_tcp, over_unix]: [Router; 2],
    stop: &watch::Sender<bool>,
) -> JoinSet<()> {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let mut servers = JoinSet::new();
    if let Some(tls) = tls.clone() {
        tokio::spawn(tls.follow());
    }
    if let Some((listener, _)) = listening.tcp {
        let permits = Arc::clone(&permits);
        let socket = Socket::Tcp(listener, tls);
        servers.spawn(socket.serve(over_tcp, permits, stop.subscribe()));
    }
    if let Some(listener) = listening.unix {
        let socket = Socket::Unix(listener);
        servers.spawn(socket.serve(over_unix, permits, stop.subscribe()));
    }
    servers
}

enum Socket {
    Tcp(TcpListener, Option<Tls>),
    Unix(UnixListener),
}

enum Accepted {
    Tcp(TcpStream, Option<Tls>),
    Unix(UnixStream),
}

impl Socket {
    async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(listener, tls) => {
                let (stream, _) = listener.accept().await?;
                // Slower without it, and not there any more where the client has gone.
                let _ = stream.set_nodelay(true);
                Ok(Accepted::Tcp(stream, tls.clone()))
            }
            Self::Unix(listener) => Ok(Accepted::Unix(listener.accept().await?.0)),
        }
    }

    async fn serve(
        self,
        router: Router,
        permits: Arc<Semaphore>,
        mut stopped: watch::Receiver<bool>,
    ) {
        let mut open = JoinSet::new();
        loop {
            while open.try_join_next().is_some() {}
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
                return;
            };
            let accepted = tokio::select! {
                accepted = self.accept() => accepted,
                _ = stopped.wait_for(|stop| *stop) => break,
            };
            let Ok(accepted) = accepted else {
                sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let (router, stopped) = (router.clone(), stopped.clone());
            open.spawn(async move {
                let _permit = permit;
                match accepted {
                    Accepted::Unix(stream) => connection(stream, router, stopped).await,
                    Accepted::Tcp(stream, None) => connection(stream, router, stopped).await,
                    Accepted::Tcp(stream, Some(tls)) => {
                        let acceptor = TlsAcceptor::from(tls.current());
                        let stream = timeout(HEADERS_WITHIN, acceptor.accept(stream)).await;
                        if let Ok(Ok(stream)) = stream {
                            connection(stream, router, stopped).await;
                        }
                    }
                }
            });
        }
        drop(self);
        while open.join_next().await.is_some() {}
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    mut stopped: watch::Receiver<bool>,
) {
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .max_buf_size(LARGEST_HEADERS);
    let service = TowerToHyperService::new(router);
    let served = server.serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    tokio::select! {
        // A client that breaks off needs no answer.
        _ = &mut served => return,
        _ = stopped.wait_for(|stop| *stop) => {}
    }
    served.as_mut().graceful_shutdown();
    let _ = served.await;
}

#[cfg(test)]
mod tests;
