//! Certificates made for one test.

use crate::TempData;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use time::OffsetDateTime;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A private authority; its files are gone on drop.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempData,
    issued: AtomicU32,
}

/// A certificate and its key, as PEM files.
pub struct Certificate {
    /// The certificate.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Authority {
    /// A new one.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().expect("a key can be made");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("it signs itself");
        let authority = Self {
            issuer,
            folder: TempData::new(),
            issued: AtomicU32::new(0),
        };
        write(&authority.ca(), &authority.issuer.pem());
        authority
    }

    /// Its own certificate, as a PEM file.
    pub fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A certificate for a server at `host`, a name or an address, that is valid today.
    pub fn server(&self, host: &str) -> Certificate {
        self.issue(host, ExtendedKeyUsagePurpose::ServerAuth, DAY)
    }

    /// One that was valid until yesterday.
    pub fn expired_server(&self, host: &str) -> Certificate {
        self.issue(host, ExtendedKeyUsagePurpose::ServerAuth, Duration::ZERO)
    }

    /// A certificate with which a client shows who it is.
    pub fn client(&self, name: &str) -> Certificate {
        self.issue(name, ExtendedKeyUsagePurpose::ClientAuth, DAY)
    }

    fn issue(&self, host: &str, purpose: ExtendedKeyUsagePurpose, left: Duration) -> Certificate {
        let mut params =
            CertificateParams::new([host.to_owned()]).expect("a name or an address of a host");
        params.extended_key_usages = vec![purpose];
        let now = now();
        params.not_before = now - 3 * DAY;
        params.not_after = now - DAY + 2 * left;
        let key = KeyPair::generate().expect("a key can be made");
        let signed = params
            .signed_by(&key, &self.issuer)
            .expect("the authority signs");
        let number = self.issued.fetch_add(1, Ordering::Relaxed);
        let made = Certificate {
            cert: self.folder.path().join(format!("{number}.pem")),
            key: self.folder.path().join(format!("{number}.key")),
        };
        write(&made.cert, &signed.pem());
        write(&made.key, &key.serialize_pem());
        made
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Certificate {
    /// The `tls` block of a server with this certificate; with `clients` it asks each client for one
    /// that is signed there.
    pub fn server_block(&self, clients: Option<&Authority>) -> String {
        let verify = clients
            .map(|authority| format!("ca_file: \"{}\", verify: true, ", authority.ca().display()));
        format!(
            "tls {{ cert_file: \"{}\", key_file: \"{}\", {}timeout: 10 }}\n",
            self.cert.display(),
            self.key.display(),
            verify.unwrap_or_default()
        )
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a certificate is judged by the clock of the machine"
)]
fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a temporary folder is writable");
}
