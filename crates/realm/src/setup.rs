//! `setup.{ws}.{agent}`: setup keys of an agent, their values, and which spare a question.
//!
//! A key counts only as the agent declares it, with a value of its type.

pub mod form;

use std::collections::BTreeMap;

use countersign_rules::setup::{Field, SetupSchema, cast};
use countersign_rules::{Binding, SetupInForce};
use countersign_wire::{AgentKey, PolicyKey, Risk, Sha256Digest, read_json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use self::form::read_declared;
use crate::domain::{AlarmCode, Fault, Timestamp};
use crate::registers::kind::{Around, Kind};
use crate::rules::asking_setup;
use crate::signers::Right;

/// A value that somebody chose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// The value.
    pub value: Value,
    /// The operator's name.
    pub by: String,
    /// When, by the operator's console.
    pub at: String,
    /// Digest of what the agent declared of the key then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Sha256Digest>,
    /// What a later console says of it.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// When a key spares the question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The agent's call does not ask when the key has this value.
    pub skips_when: Value,
    /// Whether that holds for critical calls too.
    #[serde(default)]
    pub critical: bool,
    /// The operator's name.
    pub by: String,
    /// When, by the operator's console.
    pub at: String,
    /// Digest of what the agent declared of the key then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Sha256Digest>,
    /// What a later console says of it.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Chosen {
    /// Whether it is in force for the key as its agent declares it.
    #[must_use]
    pub fn fits(&self, field: &Field) -> bool {
        cast(field, &self.value).is_ok()
    }
}

impl Bound {
    /// Whether an operator knew the key as the agent declares it now: when it was bound, or when the value in force was
    /// chosen. Else its agent would choose what spares the question, as it would with the default that counts where the
    /// chosen value does not fit.
    #[must_use]
    pub fn is_known(&self, field: &Field, chosen: Option<&Chosen>) -> bool {
        let chosen = chosen.filter(|chosen| !chosen.value.is_null());
        if chosen.is_some_and(|chosen| !chosen.fits(field)) {
            return false;
        }
        let now = Some(field.digest());
        self.declared == now || chosen.is_some_and(|chosen| chosen.declared == now)
    }
}

/// The value of `setup.{ws}.{agent}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SetupValue {
    /// The protocol's version, 1.
    pub v: u8,
    /// By key.
    #[serde(default)]
    pub values: BTreeMap<String, Chosen>,
    /// By key.
    #[serde(default)]
    pub bindings: BTreeMap<String, Bound>,
    /// The operator's name.
    pub by: String,
    /// When, by the operator's console.
    pub at: String,
    /// What a later console says of it.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl SetupValue {
    /// None for what cannot be read.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let value: Self = read_json(payload).ok()?;
        (value.v == 1).then_some(value)
    }

    /// The values that somebody chose.
    pub fn chosen(&self) -> Map<String, Value> {
        let values = self.values.iter();
        values
            .map(|(key, chosen)| (key.clone(), chosen.value.clone()))
            .collect()
    }

    /// The same without a key that spares a question.
    pub fn unbound(self) -> Self {
        Self {
            bindings: BTreeMap::new(),
            ..self
        }
    }

    /// What is in force for an agent that declares `schema`.
    pub fn in_force(&self, schema: &SetupSchema, revision: u64) -> SetupInForce {
        let (values, dropped) = schema.merge(&self.chosen());
        if !dropped.is_empty() {
            tracing::warn!(
                count = dropped.len(),
                "setup values of keys that no agent declares are left out"
            );
        }
        let bound = |(key, bound): (&String, &Bound)| {
            let chosen = self.values.get(key);
            let redeclared = |field: &Field| !bound.is_known(field, chosen);
            let binding = Binding {
                skips_when: bound.skips_when.clone(),
                critical: bound.critical,
                since: Timestamp::parse(&bound.at).unwrap_or(Timestamp(0)),
                redeclared: schema.field(key).is_some_and(redeclared),
            };
            (key.clone(), binding)
        };
        SetupInForce {
            revision,
            values,
            bindings: self.bindings.iter().map(bound).collect(),
        }
    }
}

/// What to change in an agent's setup.
#[derive(Debug, Clone, PartialEq)]
pub enum SetupChange {
    /// Choose a value; null goes back to the default.
    Set(String, Value),
    /// The key spares the question when it has this value; for critical calls too when the last field is true.
    Bind(String, Value, bool),
    /// The key spares no question.
    Unbind(String),
}

impl SetupChange {
    /// The key that it is about.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Set(key, _) | Self::Bind(key, ..) | Self::Unbind(key) => key,
        }
    }
}

/// The keys that an agent declares; none that it declares wrongly.
#[must_use]
pub fn schema_of(declared: &str) -> Option<SetupSchema> {
    read_declared(declared).ok()
}

/// The setup of an agent. Where the stored one does not count, the last values that did count on, and no key spares a
/// question: rules deny by the values.
pub struct Setup;

impl Kind for Setup {
    type Key = AgentKey;
    type Value = SetupValue;
    const ALARM: AlarmCode = AlarmCode::SetupUnusable;
    const RIGHT: Right = Right::UpTo(Risk::Critical);

    fn name(agent: &AgentKey) -> PolicyKey {
        PolicyKey::Setup(agent.clone())
    }

    fn unset() -> SetupValue {
        SetupValue::default()
    }

    fn read(payload: &[u8]) -> Option<SetupValue> {
        SetupValue::read(payload)
    }

    fn cautious(last: &SetupValue, _: Option<&SetupValue>) -> SetupValue {
        last.clone().unbound()
    }

    fn may_be_deleted(last: &SetupValue) -> bool {
        last.values.is_empty()
    }

    fn relaxes(last: &SetupValue, next: Option<&SetupValue>, around: Around<'_>) -> bool {
        let same = next.is_some_and(|next| next.chosen() == last.chosen());
        !same && !asking_setup(around.rules, around.at).is_empty()
    }

    fn audited(_: Option<&SetupValue>, _: &SetupValue) -> Value {
        json!({})
    }
}

/// Makes a change of a key as its agent declares it.
///
/// # Errors
/// `ErrorCode::InvalidArgs` for a value of another type, `ErrorCode::NotFound` for a binding that is not there.
pub fn apply(
    setup: &mut SetupValue,
    change: &SetupChange,
    field: Option<&Field>,
    (by, at): (String, String),
) -> Result<(), Fault> {
    let fitting = |value: &Value| match field {
        Some(field) => cast(field, value)
            .map_err(|why| Fault::invalid_args(format!("{}: the value {why}", field.name))),
        None => Ok(value.clone()),
    };
    match change {
        SetupChange::Set(key, Value::Null) => {
            setup.values.remove(key);
        }
        SetupChange::Set(key, value) => {
            let value = fitting(value)?;
            let chosen = Chosen {
                value,
                by,
                at,
                declared: field.map(Field::digest),
                extra: Map::new(),
            };
            setup.values.insert(key.clone(), chosen);
        }
        SetupChange::Bind(key, value, critical) => {
            let (skips_when, critical) = (fitting(value)?, *critical);
            setup.bindings.insert(
                key.clone(),
                Bound {
                    skips_when,
                    critical,
                    by,
                    at,
                    declared: field.map(Field::digest),
                    extra: Map::new(),
                },
            );
        }
        SetupChange::Unbind(key) => {
            if setup.bindings.remove(key).is_none() {
                return Err(Fault::unknown(
                    format!("a binding of setup key {key}"),
                    "setup list",
                ));
            }
        }
    }
    Ok(())
}
