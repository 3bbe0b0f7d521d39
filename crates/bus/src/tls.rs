//! TLS towards an outside server.
//!
//! Once TLS was asked for, it never goes on without it, and beside a private authority it does not trust the system's.

use super::BusError;
use async_nats::{ConnectOptions, rustls};
use countersign_wire::TlsFiles;
use std::error::Error;
use std::fs::File;
use std::io;

/// The options with these files; `always` forbids plain text, towards servers learned later too.
pub(super) fn apply(
    connect: ConnectOptions,
    files: &TlsFiles,
    always: bool,
) -> Result<ConnectOptions, BusError> {
    let bad = |why: String| BusError::BadOptions { why };
    for (_, path) in files.named() {
        File::open(path).map_err(|error| bad(format!("{}: {error}", path.display())))?;
    }
    let mut connect = connect.require_tls(always);
    if let Some(ca) = &files.ca {
        connect = connect.add_root_certificates(ca.clone());
    }
    if let Some((cert, key)) = files.client().map_err(|why| bad(why.into()))? {
        connect = connect.add_client_certificate(cert.into(), key.into());
    }
    Ok(connect)
}

/// What went wrong with TLS, if that is why the connection failed.
pub(super) fn fault(error: &async_nats::ConnectError) -> Option<String> {
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(at) = cause {
        let rustls = match at.downcast_ref::<io::Error>() {
            Some(io) => io.get_ref().and_then(|inner| inner.downcast_ref()),
            None => at.downcast_ref::<rustls::Error>(),
        };
        if let Some(fault) = rustls {
            return Some(words(fault));
        }
        cause = at.source();
    }
    (error.kind() == async_nats::ConnectErrorKind::Tls).then(|| error.to_string())
}

fn words(fault: &rustls::Error) -> String {
    use rustls::{AlertDescription as Alert, CertificateError as Cert, Error as Fault};
    let reported = match fault {
        Fault::InvalidCertificate(Cert::UnknownIssuer | Cert::BadSignature) => {
            "its certificate is not signed by a trusted CA; name the right one with --tls-ca"
        }
        Fault::InvalidCertificate(Cert::Expired | Cert::ExpiredContext { .. }) => {
            "its certificate has expired; it needs a new one"
        }
        Fault::InvalidCertificate(Cert::NotValidYet | Cert::NotValidYetContext { .. }) => {
            "its certificate is not valid yet; compare the clocks"
        }
        Fault::InvalidCertificate(Cert::NotValidForName | Cert::NotValidForNameContext { .. }) => {
            "its certificate is for another host; use the name in it"
        }
        Fault::AlertReceived(Alert::CertificateRequired) => {
            "it asks for a client certificate; name one with --tls-cert and --tls-key"
        }
        Fault::AlertReceived(_) => "it refuses this console's certificate",
        Fault::InvalidMessage(_) => "it does not speak TLS",
        _ => return fault.to_string(),
    };
    reported.into()
}
