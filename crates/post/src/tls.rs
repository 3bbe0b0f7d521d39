//! Whom to trust: the system's authorities, or one of one's own alone. Names and times are always checked.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// For connections that trust the authorities in this PEM file, without one those of the system.
///
/// # Errors
/// When they cannot be read.
pub fn trust(authorities: Option<&Path>) -> io::Result<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let Some(file) = authorities else {
        let system = builder.with_platform_verifier().map_err(io::Error::other)?;
        return Ok(system.with_no_client_auth());
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&std::fs::read(file)?) {
        let certificate = certificate.map_err(io::Error::other)?;
        roots.add(certificate).map_err(io::Error::other)?;
    }
    if roots.is_empty() {
        return Err(io::Error::other("there is no certificate in it"));
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
