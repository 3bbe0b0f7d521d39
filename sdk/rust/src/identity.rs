//! As whom an agent logs in, and where.
//!
//! The parts of an enrolment must belong to the same keys, and an error never repeats a secret.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_nats::{Auth, AuthError, ConnectOptions, ServerAddr};
use countersign_wire::{NkeySeed, creds_jwt, creds_seed, without_login};
use nkeys::KeyPair;

use crate::{Enrolment, GateError};

/// What the server is shown.
enum Proof {
    /// The agent's nkey.
    Nkey(String),
    /// A .creds file, and the key that signs where it holds none.
    Creds(Arc<Creds>),
    /// From the URL.
    Password(String, String),
    /// From the URL.
    Token(String),
}

struct Creds {
    path: PathBuf,
    enrolled: NkeySeed,
    /// The inbox is named after it, so it cannot change.
    key: String,
}

/// Where to connect and how to log in there.
pub(crate) struct Identity {
    proof: Proof,
    pub(crate) inbox_prefix: String,
    /// Without user and password, which the client would write to its log.
    pub(crate) servers: Vec<ServerAddr>,
}

fn bad(why: impl Into<String>) -> GateError {
    GateError::BadEnrolment { why: why.into() }
}

impl Identity {
    /// A .creds file goes before user and password in the URL, and these before the nkey.
    pub(crate) fn of(enrolment: &Enrolment) -> Result<Self, GateError> {
        let named_in = servers(&enrolment.nats_url)?;
        let servers = servers(&without_login(&enrolment.nats_url))?;
        if let Some(path) = &enrolment.nats_creds {
            let (_, pair) = read_creds(path, &enrolment.nkey_seed)?;
            let key = pair.public_key();
            let inbox_prefix = format!("_INBOX_{key}");
            return Ok(Self {
                proof: Proof::Creds(Arc::new(Creds {
                    path: path.clone(),
                    enrolled: enrolment.nkey_seed.clone(),
                    key,
                })),
                inbox_prefix,
                servers,
            });
        }
        let pair = KeyPair::from_seed(enrolment.nkey_seed.reveal())
            .map_err(|_| bad("nkey_seed is not the seed of a key"))?;
        if enrolment.inbox_prefix != format!("_INBOX_{}", pair.public_key()) {
            return Err(bad("inbox_prefix is not that of nkey_seed"));
        }
        let proof = match named_in.iter().find_map(named) {
            Some((user, Some(password))) => Proof::Password(decoded(user)?, decoded(password)?),
            Some((token, None)) => Proof::Token(decoded(token)?),
            None => Proof::Nkey(enrolment.nkey_seed.reveal().to_owned()),
        };
        Ok(Self {
            proof,
            inbox_prefix: enrolment.inbox_prefix.clone(),
            servers,
        })
    }

    /// One `tls://` among the servers asks for TLS to all of them.
    pub(crate) fn asks_for_tls(&self) -> bool {
        self.servers.iter().any(ServerAddr::tls_required)
    }

    pub(crate) fn log_in(&self) -> ConnectOptions {
        let options = ConnectOptions::new();
        match &self.proof {
            Proof::Nkey(seed) => options.nkey(seed.clone()),
            Proof::Password(user, password) => {
                options.user_and_password(user.clone(), password.clone())
            }
            Proof::Token(token) => options.token(token.clone()),
            // At each connection anew: it may have been renewed.
            Proof::Creds(creds) => {
                let creds = Arc::clone(creds);
                ConnectOptions::with_auth_callback(move |nonce| {
                    std::future::ready(creds.auth(&nonce).map_err(AuthError::new))
                })
            }
        }
    }
}

impl Creds {
    fn auth(&self, nonce: &[u8]) -> Result<Auth, GateError> {
        let (jwt, pair) = read_creds(&self.path, &self.enrolled)?;
        if pair.public_key() != self.key {
            let path = self.path.display();
            return Err(bad(format!("{path} holds another key than at the start")));
        }
        let signed = pair.sign(nonce);
        let mut auth = Auth::new();
        auth.jwt = Some(jwt);
        auth.signature = Some(signed.map_err(|error| bad(error.to_string()))?);
        Ok(auth)
    }
}

fn servers(urls: &str) -> Result<Vec<ServerAddr>, GateError> {
    urls.split(',')
        .map(|part| part.trim().parse())
        .collect::<Result<_, _>>()
        .map_err(|_| bad("nats_url is not a URL"))
}

fn named(server: &ServerAddr) -> Option<(&str, Option<&str>)> {
    Some((server.username()?, server.password()))
}

/// The JWT of the file, with the key in it or, where there is none, the enrolled one.
fn read_creds(path: &Path, enrolled: &NkeySeed) -> Result<(String, KeyPair), GateError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| bad(format!("nats_creds is {}: {error}", path.display())))?;
    let jwt =
        creds_jwt(&text).ok_or_else(|| bad(format!("{} holds no user JWT", path.display())))?;
    let seed = creds_seed(&text).unwrap_or(enrolled.reveal());
    let pair = KeyPair::from_seed(seed)
        .map_err(|_| bad("neither nats_creds nor nkey_seed holds the seed of a key"))?;
    Ok((jwt.to_owned(), pair))
}

/// Undoes percent-encoding.
fn decoded(text: &str) -> Result<String, GateError> {
    let refuse = || bad("the user or password in nats_url is not percent-encoded UTF-8");
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let hex = part
            .get(..2)
            .filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
            .ok_or_else(refuse)?;
        bytes.push(u8::from_str_radix(hex, 16).map_err(|_| refuse())?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).map_err(|_| refuse())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_logs_in_with_the_url_is_not_left_in_the_addresses() {
        let pair = KeyPair::new_user();
        let enrolment: Enrolment = serde_json::from_value(serde_json::json!({
            "nats_url": "nats://bot:s3cret@127.0.0.1:4222,tls://bot:s3cret@[::1]:4222",
            "workspace": "acme", "agent": "bot", "nkey_seed": pair.seed().unwrap(),
            "inbox_prefix": format!("_INBOX_{}", pair.public_key()),
            "realm": uuid::Uuid::nil(),
        }))
        .unwrap();
        let identity = Identity::of(&enrolment).unwrap();
        let shown = format!("{:?}", identity.servers);
        assert!(
            !shown.contains("s3cret") && !shown.contains("bot"),
            "{shown}"
        );
        assert_eq!(identity.servers.len(), 2);
        assert!(identity.asks_for_tls());
        assert!(matches!(identity.proof, Proof::Password(user, password)
            if user == "bot" && password == "s3cret"));
    }

    #[test]
    fn what_is_encoded_in_a_url_is_decoded_or_refused() {
        assert_eq!(decoded("p%40s%C3%A4").unwrap(), "p@sä");
        for text in ["%", "%4", "%zz", "%ff", "%é"] {
            assert_eq!(decoded(text).unwrap_err().code(), "bad_enrolment", "{text}");
        }
    }
}
