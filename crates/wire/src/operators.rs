//! Who may sign, since when and how much (protocol, section 8, "Operators").
//!
//! Every answer needs a time: a key counts only between its `from` and `until`, and a limit binds what is stored while
//! it is in force.

use std::fmt;

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{
        Error as _, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_json::{Map, Value};
use time::OffsetDateTime;

use crate::{KeyRole, PublicKey, Risk, SignedEnvelope, Timestamp, Verdict, WorkspaceName};

/// One term of a signing key. A key that was retired and came back, or whose limits changed, has several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorEntry {
    /// The public key.
    pub key: PublicKey,
    /// The operator's or the console's name, for display.
    pub name: String,
    /// What it may sign.
    pub role: KeyRole,
    /// Counts for decisions stored from this moment of the server's time.
    pub from: Timestamp,
    /// Counts no longer from this moment; null while it counts.
    #[serde(default)]
    pub until: Option<Timestamp>,
    /// The only workspaces in which it may say more than no; absent: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspaces: Option<Vec<WorkspaceName>>,
    /// The highest effective risk at which it may say more than no; absent: any. An unknown word reads
    /// `safe`, the narrowest.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "risk_or_narrowest"
    )]
    pub max_risk: Option<Risk>,
    /// Id of the console whose key it is, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<String>,
    /// The word of the key from which this one has taken over: see [`crate::Handover`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_over: Option<SignedEnvelope>,
    /// Fields of later versions, kept when the list is written again.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

impl OperatorEntry {
    /// A term from now on, without limits.
    pub fn new(key: PublicKey, name: String, role: KeyRole, from: Timestamp) -> Self {
        Self {
            key,
            name,
            role,
            from,
            until: None,
            workspaces: None,
            max_risk: None,
            console: None,
            takes_over: None,
            extra: Map::new(),
        }
    }

    /// Whether it counts for what was stored at this moment of the server's time.
    pub fn counts_at(&self, stored_at: OffsetDateTime) -> bool {
        self.from.get() <= stored_at && self.until.is_none_or(|until| stored_at < until.get())
    }

    /// Whether it has any limit.
    pub fn is_limited(&self) -> bool {
        self.workspaces.is_some() || self.max_risk.is_some()
    }

    /// Whether its limits let it say more than no to a request of this workspace and effective risk.
    pub fn may_allow(&self, workspace: &WorkspaceName, risk: Risk) -> bool {
        let here = self.workspaces.as_ref();
        here.is_none_or(|all| all.contains(workspace))
            && self.max_risk.is_none_or(|highest| risk <= highest)
    }
}

/// Whether an operator's limits bind this verdict. A denial is always allowed: no limit makes a call run.
pub fn is_bound_by_limits(verdict: Verdict) -> bool {
    !matches!(verdict, Verdict::Deny | Verdict::Terminate)
}

/// A key that registered itself and counts for nothing until an operator accepts it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingKey {
    /// The public key.
    pub key: PublicKey,
    /// The name that it gave itself.
    pub name: String,
    /// What it wants to sign.
    pub role: KeyRole,
    /// When it asked, by its estimate of the server's time.
    pub asked_at: Timestamp,
    /// Id of the console whose key it is, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<String>,
    /// Fields of later versions, kept when the list is written again.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

/// The value of the policy key `operators`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperatorList {
    /// The protocol's version, 1.
    #[schemars(schema_with = "crate::heartbeat::version_schema")]
    pub v: u8,
    /// Every key that ever counted.
    pub operators: Vec<OperatorEntry>,
    /// The realm setting: a new key waits until an operator accepts it. Absent: false.
    #[serde(skip_serializing_if = "is_false")]
    #[schemars(default)]
    pub operator_approval: bool,
    /// Keys that wait to be accepted; they count for nothing. Absent: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub waiting: Vec<WaitingKey>,
    /// When it was signed, by its signer's estimate of the server's time: a list counts over another when it was
    /// signed later. One without counts over none that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Endorsements of operators for those who came later: see [`crate::Vouch`]. Absent: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub vouched: Vec<SignedEnvelope>,
    /// Where the signer may not edit the list: the list before it whose signer might, as it was stored. Agents follow that
    /// one until somebody who may has signed again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Box<SignedEnvelope>>,
    /// Fields of later versions, kept when the list is written again.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

impl OperatorList {
    /// A list of these entries, open to every new console.
    pub fn new(operators: Vec<OperatorEntry>) -> Self {
        Self {
            v: 1,
            operators,
            operator_approval: false,
            waiting: Vec::new(),
            at: None,
            vouched: Vec::new(),
            base: None,
            extra: Map::new(),
        }
    }

    /// The terms of a key that count for what was stored at this moment.
    pub fn terms_at(
        &self,
        key: &str,
        stored_at: OffsetDateTime,
    ) -> impl Iterator<Item = &OperatorEntry> {
        self.operators
            .iter()
            .filter(move |entry| entry.key.as_str() == key && entry.counts_at(stored_at))
    }

    /// The role of a key for what was stored at this moment of the server's
    /// time. A key with entries of both roles at once is trusted with neither.
    pub fn role_at(&self, key: &str, stored_at: OffsetDateTime) -> Option<KeyRole> {
        KeyRole::of_all(self.terms_at(key, stored_at).map(|entry| entry.role))
    }

    /// Whether a key may change the list at this moment of the server's time: a person's, without limits.
    pub fn may_edit_at(&self, key: &str, at: OffsetDateTime) -> bool {
        self.role_at(key, at) == Some(KeyRole::Human)
            && self.terms_at(key, at).all(|term| !term.is_limited())
    }

    /// Whether no term of the key that counts at this moment keeps it from saying more than no.
    pub fn may_allow_at(
        &self,
        key: &str,
        stored_at: OffsetDateTime,
        workspace: &WorkspaceName,
        risk: Risk,
    ) -> bool {
        self.terms_at(key, stored_at)
            .all(|entry| entry.may_allow(workspace, risk))
    }

    /// Whether a key waits to be accepted.
    pub fn is_waiting(&self, key: &str) -> bool {
        self.waiting
            .iter()
            .any(|waiting| waiting.key.as_str() == key)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

fn risk_or_narrowest<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Risk>, D::Error> {
    let word = Option::<Value>::deserialize(from)?;
    Ok(word.map(|word| {
        let known = word.as_str().and_then(Risk::from_word);
        known.unwrap_or(Risk::Safe)
    }))
}

impl<'de> Deserialize<'de> for OperatorList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Object {
            v: u8,
            operators: Vec<OperatorEntry>,
            #[serde(default)]
            operator_approval: bool,
            #[serde(default)]
            waiting: Vec<WaitingKey>,
            #[serde(default)]
            at: Option<Timestamp>,
            #[serde(default)]
            vouched: Vec<SignedEnvelope>,
            #[serde(default)]
            base: Option<Box<SignedEnvelope>>,
            #[serde(flatten)]
            extra: Map<String, Value>,
        }
        struct Form;

        impl<'de> Visitor<'de> for Form {
            type Value = OperatorList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or a bare list of operators")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, from: A) -> Result<OperatorList, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(from)).map(OperatorList::new)
            }

            fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<OperatorList, A::Error> {
                let object = Object::deserialize(MapAccessDeserializer::new(from))?;
                if object.v != 1 {
                    return Err(A::Error::custom("v is not 1"));
                }
                Ok(OperatorList {
                    v: 1,
                    operators: object.operators,
                    operator_approval: object.operator_approval,
                    waiting: object.waiting,
                    at: object.at,
                    vouched: object.vouched,
                    base: object.base,
                    extra: object.extra,
                })
            }
        }

        from.deserialize_any(Form)
    }
}
