//! A server's operator that signs accounts, and accounts that sign users, as JWTs: what `nsc` does.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use nkeys::KeyPair;
use serde_json::{Value, json};
use std::fmt::Write;

/// One operator with its accounts, for a server with a resolver in memory.
pub struct NatsOperator {
    key: KeyPair,
    accounts: Vec<(String, String)>,
    system: String,
}

/// An account of an operator.
pub struct NatsAccount {
    key: KeyPair,
    name: String,
}

impl NatsOperator {
    /// One with a system account and no other.
    pub fn new() -> Self {
        let system = NatsAccount::new("SYS");
        let mut made = Self {
            key: KeyPair::new_operator(),
            accounts: Vec::new(),
            system: system.public(),
        };
        made.sign(&system, json!({}));
        made
    }

    /// Lets the server know an account; `claims` are exports, imports and limits beside those of JetStream.
    pub fn sign(&mut self, account: &NatsAccount, claims: Value) {
        let mut limits = json!({
            "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
            "conn": -1, "leaf": -1,
        });
        merge(
            &mut limits,
            claims.get("limits").cloned().unwrap_or_default(),
        );
        let mut nats = json!({ "type": "account", "version": 2 });
        merge(&mut nats, claims);
        nats["limits"] = limits;
        let jwt = token(&self.key, &account.public(), &account.name, nats, None);
        self.accounts.push((account.public(), jwt));
    }

    /// The lines of the server's configuration.
    pub fn conf(&self) -> String {
        let claims = json!({ "type": "operator", "version": 2, "system_account": self.system });
        let own = token(&self.key, &self.key.public_key(), "test", claims, None);
        let mut text = format!(
            "operator: {own}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload {{\n",
            self.system
        );
        for (account, jwt) in &self.accounts {
            let _ = writeln!(text, "  {account}: {jwt}");
        }
        text.push_str("}\n");
        text
    }
}

impl Default for NatsOperator {
    fn default() -> Self {
        Self::new()
    }
}

impl NatsAccount {
    /// A new key for an account of this name.
    pub fn new(name: &str) -> Self {
        Self {
            key: KeyPair::new_account(),
            name: name.into(),
        }
    }

    /// `A…`
    pub fn public(&self) -> String {
        self.key.public_key()
    }

    /// The JWT of a user with these permissions (`pub`, `sub`), which ends at `expires` (seconds since 1970).
    pub fn user(&self, nkey: &str, permissions: Value, expires: Option<i64>) -> String {
        let mut nats =
            json!({ "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1 });
        merge(&mut nats, permissions);
        token(&self.key, nkey, "user", nats, expires)
    }

    /// The token with which account `importer` may import what this one exports.
    pub fn activation(&self, importer: &str, subject: &str, kind: &str) -> String {
        let nats = json!({ "type": "activation", "version": 2, "subject": subject, "kind": kind });
        token(&self.key, importer, subject, nats, None)
    }
}

/// A `.creds` file.
pub fn creds(jwt: &str, seed: Option<&str>) -> String {
    let mut text =
        format!("-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n");
    if let Some(seed) = seed {
        let _ = write!(
            text,
            "-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        );
    }
    text
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}

fn token(issuer: &KeyPair, subject: &str, name: &str, nats: Value, expires: Option<i64>) -> String {
    let mut claims = json!({
        "jti": subject, "iat": 1_700_000_000, "iss": issuer.public_key(), "sub": subject,
        "name": name, "nats": nats,
    });
    if let Some(expires) = expires {
        claims["exp"] = expires.into();
    }
    let header = BASE64.encode(r#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
    let signed = format!("{header}.{}", BASE64.encode(claims.to_string()));
    let signature = issuer.sign(signed.as_bytes()).expect("a new key signs");
    format!("{signed}.{}", BASE64.encode(signature))
}
