//! Signed values of the shared policy and of the audit stream (protocol, section 8).
//!
//! A value is opened only after its signature holds; whether the key may sign it is the reader's question.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nkeys::KeyPair;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    AgentKey, ConsoleId, Context, POLICY_BUCKET, PublicKey, Signature, SignatureError, Signer,
    Timestamp, WorkspaceName, json::has_private_key, read_json, sign, verify,
};

/// Why a signed value cannot be opened or made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// Not `{payload, key, sig}`.
    #[error("not a signed value of the form {{payload, key, sig}}")]
    Malformed,
    /// The signature is not valid.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

/// A signed value: `CS_POLICY` values and `CS_AUDIT` anchors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedEnvelope {
    /// The payload in base64url without padding.
    pub payload: String,
    /// The key that signed.
    pub key: Signer,
    /// The signature.
    pub sig: Signature,
}

impl SignedEnvelope {
    /// Signs a payload for a subject: see [`policy_subject`] and [`crate::audit_subject`].
    pub fn seal(
        pair: &KeyPair,
        context: Context,
        realm: &Uuid,
        subject: &str,
        payload: &[u8],
    ) -> Result<Self, EnvelopeError> {
        Ok(Self {
            payload: URL_SAFE_NO_PAD.encode(payload),
            key: PublicKey::of(pair)
                .map_err(|_| SignatureError::BadKey)?
                .into(),
            sig: sign(pair, context, realm, subject, payload)?,
        })
    }

    /// A value from its parts as they were kept; whether the signature holds is not looked at.
    pub fn of_parts(payload: &[u8], key: Signer, sig: Signature) -> Self {
        let payload = URL_SAFE_NO_PAD.encode(payload);
        Self { payload, key, sig }
    }

    /// Reads the value as stored in the bucket or stream.
    pub fn from_bytes(value: &[u8]) -> Result<Self, EnvelopeError> {
        read_json(value).map_err(|_| EnvelopeError::Malformed)
    }

    /// The value as it is stored.
    pub fn to_bytes(&self) -> Result<Vec<u8>, EnvelopeError> {
        serde_json::to_vec(self).map_err(|_| EnvelopeError::Malformed)
    }

    /// The payload, if `self.key` signed it for this subject. Of a device see [`crate::realm::Term::open`].
    pub fn open(
        &self,
        context: Context,
        realm: &Uuid,
        subject: &str,
    ) -> Result<Vec<u8>, EnvelopeError> {
        let payload = self.payload_bytes()?;
        verify(
            self.key.as_str(),
            context,
            realm,
            subject,
            &payload,
            self.sig.as_str(),
        )?;
        Ok(payload)
    }

    /// The payload without a look at the signature.
    pub fn payload_bytes(&self) -> Result<Vec<u8>, EnvelopeError> {
        let payload = URL_SAFE_NO_PAD
            .decode(&self.payload)
            .map_err(|_| EnvelopeError::Malformed)?;
        // Whoever reads it then reads a value of it.
        if has_private_key(&payload) {
            return Err(EnvelopeError::Malformed);
        }
        Ok(payload)
    }
}

/// A key of the bucket `CS_POLICY`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyKey {
    /// Every automatic approval off.
    Panic,
    /// The whole rule set of a workspace.
    Rules(WorkspaceName),
    /// Setup values and bindings of an agent.
    Setup(AgentKey),
    /// A paused agent.
    Pause(AgentKey),
    /// Calls of an agent that need not ask for a while.
    Bypass(AgentKey),
    /// A key asks to be an operator's.
    Ask(Signer),
    /// A console's presence.
    Console(ConsoleId),
}

impl PolicyKey {
    /// Reads a key; `None` when it is not one of the protocol's.
    pub fn parse(key: &str) -> Option<Self> {
        let agent = |rest: &str| {
            let (workspace, agent) = rest.split_once('.')?;
            Some(AgentKey {
                workspace: workspace.parse().ok()?,
                agent: agent.parse().ok()?,
            })
        };
        match key.split_once('.') {
            None if key == "panic" => Some(Self::Panic),
            Some(("rules", rest)) => rest.parse().ok().map(Self::Rules),
            Some(("setup", rest)) => agent(rest).map(Self::Setup),
            Some(("pause", rest)) => agent(rest).map(Self::Pause),
            Some(("bypass", rest)) => agent(rest).map(Self::Bypass),
            Some(("ask", rest)) => rest.parse().ok().map(Self::Ask),
            Some(("console", rest)) => rest.parse().ok().map(Self::Console),
            _ => None,
        }
    }

    /// The subject for which the key's value is signed.
    pub fn subject(&self) -> String {
        policy_subject(&self.to_string())
    }
}

impl std::fmt::Display for PolicyKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Panic => f.write_str("panic"),
            Self::Rules(workspace) => write!(f, "rules.{workspace}"),
            Self::Setup(key) => write!(f, "setup.{}.{}", key.workspace, key.agent),
            Self::Pause(key) => write!(f, "pause.{}.{}", key.workspace, key.agent),
            Self::Bypass(key) => write!(f, "bypass.{}.{}", key.workspace, key.agent),
            Self::Ask(key) => write!(f, "ask.{key}"),
            Self::Console(id) => write!(f, "console.{id}"),
        }
    }
}

/// `$KV.CS_POLICY.{key}`: the subject of a bucket's key.
pub fn policy_subject(key: &str) -> String {
    format!("$KV.{POLICY_BUCKET}.{key}")
}

/// A head of an audit chain (schema, "Audit chain").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Anchor {
    /// The row's number, from 1.
    pub seq: u64,
    /// The row's hash, 64 lowercase hexadecimal digits.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub hash: String,
    /// When, by the console's clock.
    pub at: Timestamp,
}
