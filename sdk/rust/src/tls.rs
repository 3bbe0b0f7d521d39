//! TLS towards the bus.
//!
//! Once TLS was asked for, it never goes on without it, and beside a private authority it does not trust the system's.

use std::error::Error;
use std::fs::File;
use std::io;

use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions, rustls};
use countersign_wire::TlsFiles;

use crate::GateError;

/// The options with these files; `asked` is whether the URL asks for TLS.
pub(crate) fn apply(
    options: ConnectOptions,
    files: &TlsFiles,
    asked: bool,
) -> Result<ConnectOptions, GateError> {
    let bad = |why: String| GateError::BadEnrolment { why };
    for (name, path) in files.named() {
        File::open(path).map_err(|error| bad(format!("{name} is {}: {error}", path.display())))?;
    }
    let mut options = options.require_tls(asked || files.ask_for_tls());
    if let Some(ca) = &files.ca {
        options = options.add_root_certificates(ca.clone());
    }
    if let Some((cert, key)) = files.client().map_err(|why| bad(why.into()))? {
        options = options.add_client_certificate(cert.into(), key.into());
    }
    Ok(options)
}

/// What went wrong with TLS, if that is why the connection failed.
pub(crate) fn fault(error: &ConnectError) -> Option<String> {
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(at) = cause {
        let rustls = match at.downcast_ref::<io::Error>() {
            Some(io) => io.get_ref().and_then(|inner| inner.downcast_ref()),
            None => at.downcast_ref::<rustls::Error>(),
        };
        if let Some(fault) = rustls {
            return Some(fault.to_string());
        }
        cause = at.source();
    }
    (error.kind() == ConnectErrorKind::Tls).then(|| error.to_string())
}
