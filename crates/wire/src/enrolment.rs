//! `agent.json`: what an agent needs to connect and to trust (protocol, section 5).
//!
//! Its seed is never printed, nor a password in the URL of the bus.

use std::fmt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{AgentKey, AgentName, Sha256Digest, WorkspaceName, uuid_text::hyphenated};

/// The seed of an agent's login key. Never shown by `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NkeySeed(String);

impl NkeySeed {
    /// Takes a seed.
    pub fn new(seed: impl Into<String>) -> Self {
        Self(seed.into())
    }

    /// The seed, to log in with.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for NkeySeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NkeySeed(hidden)")
    }
}

/// An agent's enrolment file, mode 0600.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Enrolment {
    /// Where the bus is.
    pub nats_url: String,
    /// The agent's workspace.
    pub workspace: WorkspaceName,
    /// The agent's name.
    pub agent: AgentName,
    /// The seed of its login key.
    pub nkey_seed: NkeySeed,
    /// Its inbox prefix, `_INBOX_{agent nkey}`.
    pub inbox_prefix: String,
    /// The realm.
    #[serde(deserialize_with = "hyphenated")]
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub realm: Uuid,
    /// The realm log by which it judges who may sign. Without it an agent starts only where it was told to
    /// (`insecure`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogHead>,
    /// For a bus that speaks TLS.
    #[serde(flatten)]
    pub tls: TlsFiles,
    /// A .creds file for a bus that asks for a JWT; relative to this file. A seed in it goes before
    /// `nkey_seed`, and the inbox prefix is then that of its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nats_creds: Option<PathBuf>,
}

/// The realm log as an agent was enrolled with it: the agent lets nothing run by a log without this entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogHead {
    /// The digest of entry 1.
    pub root: Sha256Digest,
    /// The number of the enrolling console's last entry.
    pub n: u64,
    /// The digest of that entry.
    pub digest: Sha256Digest,
}

/// The PEM files of a TLS connection to the bus; naming one of them asks for TLS. In `agent.json` they are
/// relative to that file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsFiles {
    /// The authorities that may have signed the server's certificate. Without it the system's count,
    /// with it no others.
    #[serde(rename = "tls_ca", default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// The client's certificate, with the chain up to its authority.
    #[serde(rename = "tls_cert", default, skip_serializing_if = "Option::is_none")]
    pub cert: Option<PathBuf>,
    /// The key of that certificate.
    #[serde(rename = "tls_key", default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}

impl TlsFiles {
    /// Each file that is named, with its name in `agent.json`.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        [
            ("tls_ca", &self.ca),
            ("tls_cert", &self.cert),
            ("tls_key", &self.key),
        ]
        .into_iter()
        .filter_map(|(name, path)| Some((name, path.as_deref()?)))
    }

    /// Whether a connection without TLS would break what these files ask for.
    pub fn ask_for_tls(&self) -> bool {
        self.named().next().is_some()
    }

    /// The certificate and its key, if both are named; what is missing if only one is.
    pub fn client(&self) -> Result<Option<(&Path, &Path)>, &'static str> {
        match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => Ok(Some((cert, key))),
            (None, None) => Ok(None),
            (Some(_), None) => Err("a client certificate is named but not its key"),
            (None, Some(_)) => Err("a client key is named but not its certificate"),
        }
    }

    /// The same with relative paths starting at `folder`.
    #[must_use]
    pub fn under(self, folder: &Path) -> Self {
        let at = |path: Option<PathBuf>| path.map(|path| folder.join(path));
        Self {
            ca: at(self.ca),
            cert: at(self.cert),
            key: at(self.key),
        }
    }
}

/// Neither the seed nor what logs in with the URL.
impl fmt::Debug for Enrolment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            nats_url,
            workspace,
            agent,
            nkey_seed,
            inbox_prefix,
            realm,
            log,
            tls,
            nats_creds,
        } = self;
        f.debug_struct("Enrolment")
            .field("nats_url", &without_login(nats_url))
            .field("workspace", workspace)
            .field("agent", agent)
            .field("nkey_seed", nkey_seed)
            .field("inbox_prefix", inbox_prefix)
            .field("realm", realm)
            .field("log", log)
            .field("tls", tls)
            .field("nats_creds", nats_creds)
            .finish()
    }
}

/// The URL of a bus, or several divided by commas, without user, password and token, and with its scheme:
/// `nats` where none is named.
pub fn without_login(urls: &str) -> String {
    // A password may look like the end of a scheme.
    let is_scheme = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let one = |url: &str| {
        let (scheme, rest) = url
            .trim()
            .split_once("://")
            .filter(|(scheme, _)| is_scheme(scheme))
            .unwrap_or(("nats", url.trim()));
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        format!("{scheme}://{host}")
    };
    urls.split(',').map(one).collect::<Vec<_>>().join(",")
}

impl Enrolment {
    /// Which agent it is for.
    pub fn agent_key(&self) -> AgentKey {
        AgentKey {
            workspace: self.workspace.clone(),
            agent: self.agent.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn debug_shows_neither_the_seed_nor_what_logs_in_with_the_url() {
        for (url, shown) in [
            ("nats://h:1", "nats://h:1"),
            ("nats://bot:s3cret@h:1", "nats://h:1"),
            ("bot:s3cret@h", "nats://h"),
            ("bot:s3cret://s3cret@h", "nats://h"),
            ("h:1", "nats://h:1"),
            ("tls://s3cret@h:1", "tls://h:1"),
            (
                "nats://bot:s3cret@a, tls://bot:p%40s3cret@b:2",
                "nats://a,tls://b:2",
            ),
            // Not well encoded, but not shown either.
            ("nats://bot:s3cret@s3cret@h:1", "nats://h:1"),
        ] {
            assert_eq!(without_login(url), shown);
            let enrolment: Enrolment = serde_json::from_value(serde_json::json!({
                "nats_url": url, "workspace": "acme", "agent": "bot",
                "nkey_seed": "SUs3cret", "inbox_prefix": "_INBOX_U", "realm": Uuid::nil(),
            }))
            .unwrap();
            for debug in [format!("{enrolment:?}"), format!("{enrolment:#?}")] {
                assert!(!debug.contains("s3cret"), "{debug}");
                assert!(debug.contains(shown) && debug.contains("acme"), "{debug}");
            }
        }
    }
}
