//! Records of operators and their keys by their form.
//!
//! A record is complete: what it does not name ends. null is a value of the wrong type, except for limits.

use std::collections::{BTreeSet, HashSet};

use nkeys::KeyPair;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    entry::{REALM_SUBJECT, is_text},
    passkey::passkey_holds,
};
use crate::{
    Context, EnvelopeError, KeyRole, PublicKey, Risk, SignatureError, WorkspaceName,
    canonical_json, keys::is_device_key, sign, verify,
};

const MOST_RECORDS: usize = 100;
const MOST_KEYS: usize = 16;
const NAME: usize = 256;
const PROOF: usize = 4096;

/// What limits mean. They bind what is more than no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The only workspaces; `None`: all of them.
    pub workspaces: Option<BTreeSet<String>>,
    /// The highest effective risk; `None`: any.
    pub max_risk: Option<Risk>,
}

impl Limits {
    /// Whether more than no may be said to a request of this workspace and effective risk.
    pub fn allow(&self, workspace: &str, risk: Risk) -> bool {
        let here = self.workspaces.as_ref();
        here.is_none_or(|all| all.contains(workspace))
            && self.max_risk.is_none_or(|highest| risk <= highest)
    }

    /// Reads limits: the outer `None` where they have another form, the inner where they name nothing.
    pub(super) fn read(limits: Option<&Value>) -> Option<Option<Self>> {
        let fields = match limits {
            None | Some(Value::Null) => return Some(None),
            Some(Value::Object(fields)) => fields,
            Some(_) => return None,
        };
        let max_risk = match fields.get("max_risk") {
            None | Some(Value::Null) => None,
            Some(Value::String(word)) => Some(Risk::from_word(word).unwrap_or(Risk::Safe)),
            Some(_) => return None,
        };
        let workspaces = match fields.get("workspaces") {
            None | Some(Value::Null) => None,
            Some(Value::Array(names)) => {
                let name = |name: &Value| {
                    let name = name.as_str()?;
                    name.parse::<WorkspaceName>().ok().map(|_| name.to_owned())
                };
                Some(names.iter().map(name).collect::<Option<BTreeSet<_>>>()?)
            }
            Some(_) => return None,
        };
        let known = |name: &String| matches!(name.as_str(), "workspaces" | "max_risk");
        Some(if !fields.keys().all(known) {
            // A limit of a later version: nobody here knows what it allows.
            Some(Self {
                workspaces: Some(BTreeSet::new()),
                max_risk: Some(Risk::Safe),
            })
        } else if workspaces.is_none() && max_risk.is_none() {
            None
        } else {
            Some(Self {
                workspaces,
                max_risk,
            })
        })
    }
}

/// What a key may sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A desk key: what an operator decided, and entries.
    Human,
    /// A console key: decisions of rules, setup keys, time-outs and the system.
    Auto,
    /// A passkey: what an operator decided.
    Device,
    /// Of a later version: it counts for nothing.
    Other,
}

/// A key of an operator. Equal where every field is.
#[derive(Debug, Clone)]
pub struct SigningKey {
    /// Its text.
    pub key: String,
    /// Its role.
    pub role: Role,
    /// Its own limits.
    pub limits: Option<Limits>,
    /// Where it lives.
    pub device: Option<String>,
    /// Every field, as it came.
    pub fields: Map<String, Value>,
    canonical: String,
}

impl PartialEq for SigningKey {
    fn eq(&self, other: &Self) -> bool {
        self.canonical == other.canonical
    }
}

impl Role {
    /// The role as lists name it; none of a later version's.
    pub fn known(self) -> Option<KeyRole> {
        match self {
            Self::Human => Some(KeyRole::Human),
            Self::Auto => Some(KeyRole::Auto),
            Self::Device => Some(KeyRole::Device),
            Self::Other => None,
        }
    }
}

impl SigningKey {
    /// Reads a key in its form.
    pub fn read(value: &Value) -> Option<Self> {
        let fields = value.as_object()?;
        let key = fields.get("key")?;
        let role = match fields.get("role")?.as_str()? {
            "human" => Role::Human,
            "auto" => Role::Auto,
            "device" => Role::Device,
            _ => Role::Other,
        };
        let limits = Limits::read(fields.get("limits"))?;
        let highest = fields
            .get("limits")
            .and_then(|limits| limits.get("max_risk"));
        let text = key.as_str()?;
        let fits = match role {
            Role::Human => text.parse::<PublicKey>().is_ok() && limits.is_none(),
            Role::Auto => text.parse::<PublicKey>().is_ok(),
            // Asked of the record: limits of a later version read as the narrowest.
            Role::Device => is_device_key(text) && highest.is_some_and(Value::is_string),
            Role::Other => is_text(key, 1, NAME) && !text.starts_with(['U', 'W']),
        };
        let device = fields.get("device");
        let named = is_text(fields.get("proof")?, 0, PROOF)
            && device.is_none_or(|device| is_text(device, 1, NAME));
        (fits && named).then(|| Self {
            key: text.to_owned(),
            role,
            limits,
            device: device.and_then(Value::as_str).map(str::to_owned),
            fields: fields.clone(),
            canonical: canonical(fields, &["key"]),
        })
    }

    /// The key of a pair as a record has it, with its consent to be this operator's; `role` is `human` or `auto`.
    pub fn of_pair(
        pair: &KeyPair,
        realm: &Uuid,
        operator: &PublicKey,
        role: &str,
        device: Option<&str>,
    ) -> Result<Value, EnvelopeError> {
        let key = PublicKey::of(pair).map_err(|_| SignatureError::BadKey)?;
        let consent = format!("{operator}\n{role}");
        let proof = sign(pair, Context::Key, realm, REALM_SUBJECT, consent.as_bytes())?;
        let mut record = json!({"key": key, "role": role, "proof": proof});
        if let Some(device) = device {
            record["device"] = device.into();
        }
        Ok(record)
    }

    /// Whether the key agreed to be this operator's. A device says so with each signature; of a later version's key
    /// nobody here knows.
    pub fn agrees(&self, realm: &Uuid, operator: &str) -> bool {
        let role = match self.role {
            Role::Human => "human",
            Role::Auto => "auto",
            Role::Device | Role::Other => return true,
        };
        let proof = self.fields.get("proof").and_then(Value::as_str);
        consents(
            realm,
            &self.key,
            &format!("{operator}\n{role}"),
            proof.unwrap_or_default(),
        )
    }

    /// Whether this key of the operator signed a message: 64 bytes, or a device's assertion.
    pub fn signed(
        &self,
        operator: &str,
        (context, realm, subject): (Context, &Uuid, &str),
        payload: &[u8],
        sig: &str,
    ) -> bool {
        match self.role {
            Role::Human | Role::Auto => {
                verify(&self.key, context, realm, subject, payload, sig).is_ok()
            }
            Role::Device => passkey_holds(
                &self.fields,
                operator,
                (context, realm, subject),
                payload,
                sig,
            ),
            Role::Other => false,
        }
    }
}

/// Whether a key signed its consent.
pub(super) fn consents(realm: &Uuid, key: &str, payload: &str, proof: &str) -> bool {
    let payload = payload.as_bytes();
    verify(key, Context::Key, realm, REALM_SUBJECT, payload, proof).is_ok()
}

/// How an operator is from an entry on.
#[derive(Debug, Clone)]
pub struct Record {
    /// Which operator: the desk key with which the operator was let in.
    pub id: PublicKey,
    /// The name, for display.
    pub name: String,
    /// Whether the operator is an administrator.
    pub admin: bool,
    /// The limits of all of the operator's keys.
    pub limits: Option<Limits>,
    /// None: the operator ends.
    pub keys: Vec<SigningKey>,
    /// Every field, as it came.
    pub fields: Map<String, Value>,
    canonical: String,
}

impl Record {
    fn read(value: &Value) -> Option<Self> {
        let fields = value.as_object()?;
        let id = fields.get("id")?.as_str()?.parse().ok()?;
        let keys = fields
            .get("keys")?
            .as_array()
            .filter(|keys| keys.len() <= MOST_KEYS)?;
        let mut record = Self {
            id,
            name: String::new(),
            admin: false,
            limits: None,
            keys: keys.iter().map(SigningKey::read).collect::<Option<_>>()?,
            fields: fields.clone(),
            canonical: String::new(),
        };
        if keys.is_empty() {
            return Some(record);
        }
        let name = fields.get("name").filter(|name| is_text(name, 1, NAME))?;
        name.as_str()?.clone_into(&mut record.name);
        record.admin = fields.get("admin").map_or(Some(false), Value::as_bool)?;
        record.limits = Limits::read(fields.get("limits"))?;
        record.canonical = canonical(fields, &["id", "keys"]);
        let has_desk = record.keys.iter().any(|key| key.role == Role::Human);
        (has_desk && !(record.admin && record.limits.is_some())).then_some(record)
    }

    /// Reads `operators` in its form: no operator is named twice, and no key.
    pub(super) fn read_all(operators: Option<&Value>) -> Option<Vec<Self>> {
        let Some(operators) = operators else {
            return Some(Vec::new());
        };
        let listed = operators
            .as_array()
            .filter(|all| all.len() <= MOST_RECORDS)?;
        let records: Vec<Self> = listed.iter().map(Self::read).collect::<Option<_>>()?;
        let (mut ids, mut keys) = (HashSet::new(), HashSet::new());
        let once = records.iter().all(|record| ids.insert(record.id.as_str()))
            && records
                .iter()
                .flat_map(|record| &record.keys)
                .all(|key| keys.insert(key.key.as_str()));
        once.then_some(records)
    }

    /// The key of that text.
    pub fn key(&self, key: &str) -> Option<&SigningKey> {
        self.keys.iter().find(|known| known.key == key)
    }

    /// Whether it is one of the desk keys.
    pub(super) fn has_desk(&self, key: &str) -> bool {
        self.key(key).is_some_and(|key| key.role == Role::Human)
    }

    /// Whether all of it but the keys is the same.
    pub(super) fn is_titled_as(&self, other: &Self) -> bool {
        self.canonical == other.canonical
    }
}

/// What two records, or two keys, are compared by.
fn canonical(fields: &Map<String, Value>, without: &[&str]) -> String {
    let kept = fields
        .iter()
        .filter(|(name, _)| !without.contains(&name.as_str()));
    let kept = Value::Object(
        kept.map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    );
    // Read strictly, so it has one; else the text of it is stricter, never laxer.
    canonical_json(&kept).unwrap_or_else(|_| kept.to_string())
}
