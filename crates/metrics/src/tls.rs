//! A certificate that is read again while the program runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

/// A renewed certificate counts from then on.
const READ_EVERY: Duration = Duration::from_secs(30);

pub(crate) struct Tls {
    files: (PathBuf, PathBuf),
    acceptor: TlsAcceptor,
    read_at: Instant,
}

impl Tls {
    pub(crate) fn read(files: (PathBuf, PathBuf)) -> Result<Self, String> {
        let acceptor = acceptor(&files)?;
        Ok(Self {
            files,
            acceptor,
            read_at: Instant::now(),
        })
    }

    /// With the certificate as it is now. Files that cannot be used leave the one before in force.
    pub(crate) fn acceptor(&mut self, now: Instant) -> TlsAcceptor {
        if now - self.read_at >= READ_EVERY {
            self.read_at = now;
            match acceptor(&self.files) {
                Ok(acceptor) => self.acceptor = acceptor,
                Err(why) => tracing::warn!("the former certificate of metrics is used: {why}"),
            }
        }
        self.acceptor.clone()
    }
}

fn acceptor((cert, key): &(PathBuf, PathBuf)) -> Result<TlsAcceptor, String> {
    let unusable = |path: &PathBuf, why: &dyn std::fmt::Display| {
        format!("{} cannot be used: {why}", path.display())
    };
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(cert).and_then(|found| found.collect());
    let chain = chain.map_err(|error| unusable(cert, &error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| {
            config
                .with_no_client_auth()
                .with_single_cert(chain, private)
        });
    let mut config = config.map_err(|error| unusable(cert, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
