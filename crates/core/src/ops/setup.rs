//! Setup keys of agents: their values, and which spare a question.
//!
//! A key counts only as the agent declares it, with a value of its type.

mod form;
mod last_good;

use std::collections::BTreeMap;

use countersign_wire::{AgentKey, PolicyKey, Sha256Digest, WorkspaceName, read_json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::policy_value::{TRIES, pause};
use crate::Fault;
use crate::domain::Timestamp;
use crate::policy::read::Problem;
use crate::policy::setup::{Field, SetupSchema, cast};
use crate::policy::{Binding, SetupInForce};
use crate::runtime::App;
use crate::store::{agents, policy};

use form::read_declared;
pub use form::{AgentSetup, Declared, Leftover, Saved, SetupLine};
pub(in crate::ops) use last_good::last_readable_setup;

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
pub(crate) struct SetupValue {
    v: u8,
    #[serde(default)]
    values: BTreeMap<String, Chosen>,
    #[serde(default)]
    bindings: BTreeMap<String, Bound>,
    by: String,
    at: String,
    /// What a later console says of it.
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl SetupValue {
    /// None for what cannot be read.
    pub(crate) fn read(payload: &[u8]) -> Option<Self> {
        let value: Self = read_json(payload).ok()?;
        (value.v == 1).then_some(value)
    }

    /// The values that somebody chose.
    pub(crate) fn chosen(&self) -> Map<String, Value> {
        let values = self.values.iter();
        values
            .map(|(key, chosen)| (key.clone(), chosen.value.clone()))
            .collect()
    }

    /// The same without a key that spares a question.
    pub(crate) fn unbound(self) -> Self {
        Self {
            bindings: BTreeMap::new(),
            ..self
        }
    }

    /// What is in force for an agent that declares `schema`.
    pub(crate) fn in_force(&self, schema: &SetupSchema, revision: u64) -> SetupInForce {
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

/// A declared key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct SetupKey {
    /// Whose.
    pub agent: AgentKey,
    /// What the agent declares.
    pub field: Field,
    /// The value in force.
    pub value: Value,
    /// Who chose it; none where the default counts.
    pub chosen: Option<Chosen>,
    /// When it spares the question.
    pub bound: Option<Bound>,
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
    fn key(&self) -> &str {
        match self {
            Self::Set(key, _) | Self::Bind(key, ..) | Self::Unbind(key) => key,
        }
    }
}

/// The keys that an agent declares; none that it declares wrongly.
pub(crate) fn schema_of(declared: &str) -> Option<SetupSchema> {
    read_declared(declared).ok()
}

impl App {
    /// Every key that agents of a workspace declare, with its value.
    pub async fn setup(&self, workspace: &WorkspaceName) -> Result<Vec<SetupKey>, Fault> {
        let mut keys = Vec::new();
        for (agent, declared) in agents::setup_schemas(self.reader()).await? {
            let Some(schema) = schema_of(&declared).filter(|_| agent.workspace == *workspace)
            else {
                continue;
            };
            let row =
                policy::get(self.reader(), &PolicyKey::Setup(agent.clone()).to_string()).await?;
            let read = row.and_then(|row| SetupValue::read(&row.payload));
            let setup = self.setup_or_last(&agent, read).await?;
            keys.extend(form::keys(&agent, schema, &setup));
        }
        Ok(keys)
    }

    /// Agents of a workspace whose declaration cannot be read, and what is wrong with it.
    pub async fn unreadable_setups(
        &self,
        workspace: &WorkspaceName,
    ) -> Result<Vec<(AgentKey, Vec<Problem>)>, Fault> {
        let all = agents::setup_schemas(self.reader()).await?;
        let of = all
            .into_iter()
            .filter(|(agent, _)| agent.workspace == *workspace);
        Ok(of
            .filter_map(|(agent, declared)| Some((agent, read_declared(&declared).err()?)))
            .collect())
    }

    /// Changes an agent's setup. Returns once the bus has stored it.
    ///
    /// # Errors
    /// `ErrorCode::NotFound` for a key that the agent does not declare, `ErrorCode::InvalidArgs` for a value of another
    /// type, `ErrorCode::BusUnreachable`, `ErrorCode::ReadOnly`, `ErrorCode::VerdictNotAllowed` for a value by which
    /// rules deny or ask where the operator may not allow everything; nothing is changed then.
    pub async fn change_setup(&self, agent: &AgentKey, change: &SetupChange) -> Result<u64, Fault> {
        let field = self.declared(agent, change).await?;
        let key = PolicyKey::Setup(agent.clone());
        let writer = self.policy_writer().await?;
        for attempt in 0..TRIES {
            let current = self.current_policy(&key).await?;
            let read = current.payload.as_deref().and_then(SetupValue::read);
            let mut setup = self.setup_or_last(agent, read).await?;
            let before = setup.chosen();
            let (by, at) = (self.identity().operator.clone(), self.now().rfc3339());
            (setup.v, setup.by, setup.at) = (1, by.clone(), at.clone());
            apply(&mut setup, change, field.as_ref(), (by, at))?;
            self.may_choose(agent, (&before, &setup.chosen())).await?;
            if let Some(revision) = writer
                .put_object(&key, current.revision, &json!(setup))
                .await?
            {
                return Ok(revision);
            }
            pause(attempt).await;
        }
        let why = "the setup kept changing while this was being saved; try again";
        Err(Fault::bus_unreachable(why))
    }

    /// The field that a change is about. What nobody declares any more can still be unbound.
    async fn declared(
        &self,
        agent: &AgentKey,
        change: &SetupChange,
    ) -> Result<Option<Field>, Fault> {
        let all = agents::setup_schemas(self.reader()).await?;
        let declared = all.into_iter().find(|(other, _)| other == agent);
        let unbinds = matches!(change, SetupChange::Unbind(_));
        let schema = match declared.map(|(_, declared)| read_declared(&declared)) {
            Some(Err(problems)) if !unbinds => {
                let problems: Vec<String> = problems.iter().map(problem_line).collect();
                return Err(Fault::invalid_args(format!(
                    "the setup keys that {agent} declares cannot be read: {}; fix them in the agent, which declares them in its hello",
                    problems.join("; ")
                )));
            }
            other => other.and_then(Result::ok),
        };
        let field = schema
            .as_ref()
            .and_then(|schema| schema.field(change.key()))
            .cloned();
        if field.is_none() && !unbinds {
            let key = change.key();
            return Err(Fault::unknown(
                format!("setup key {key} of {agent}"),
                "setup list",
            ));
        }
        Ok(field)
    }
}

fn problem_line(problem: &Problem) -> String {
    format!("{}: {}", problem.place(), problem.message)
}

fn apply(
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
