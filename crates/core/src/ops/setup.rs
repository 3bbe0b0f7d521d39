//! Setup keys of agents: their values, and which spare a question.

use std::collections::BTreeMap;

use countersign_realm::registers::last_read;
use countersign_realm::setup::form::{Read, form, keys, problems, read_declared};
use countersign_realm::setup::{SetupValue, apply, schema_of};
use countersign_realm::{Current, Manner, Next};
use countersign_wire::{AgentKey, PolicyKey, WorkspaceName};
use serde_json::json;

use crate::Fault;
use crate::policy::read::Problem;
use crate::policy::setup::{Field, SetupSchema, read_schema};
use crate::runtime::App;
use crate::store::{StoreError, agents, policy};

pub use countersign_realm::setup::form::{
    AgentSetup, Declared, Leftover, Saved, SetupKey, SetupLine,
};
pub use countersign_realm::setup::{Bound, Chosen, SetupChange};

const MANNER: Manner = Manner {
    insists: false,
    overtaken: "the setup kept changing while this was being saved; try again",
};

impl App {
    /// Every key that agents of a workspace declare, with its value.
    pub async fn setup(&self, workspace: &WorkspaceName) -> Result<Vec<SetupKey>, Fault> {
        let mut all = Vec::new();
        for (agent, declared) in agents::setup_schemas(self.reader()).await? {
            let Some(schema) = schema_of(&declared).filter(|_| agent.workspace == *workspace)
            else {
                continue;
            };
            let row =
                policy::get(self.reader(), &PolicyKey::Setup(agent.clone()).to_string()).await?;
            let read = row.and_then(|row| SetupValue::read(&row.payload));
            let setup = self.setup_or_last(&agent, read).await?;
            all.extend(keys(&agent, schema, &setup));
        }
        Ok(all)
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
        let changes = [(change, field.as_ref())];
        let key = &PolicyKey::Setup(agent.clone());
        let make = |current: Current| async move {
            let (payload, _) = self.changed_setup(agent, &current, &changes).await?;
            Ok::<_, Fault>(Next::Write(payload, ()))
        };
        let bucket = self.bucket_to_sign().await?;
        let update = bucket.update(self.identity(), (key, MANNER), make);
        Ok(update.await?.0)
    }

    /// An agent's setup with changes made to it: as it is signed, and as it is.
    async fn changed_setup(
        &self,
        agent: &AgentKey,
        current: &Current,
        changes: &[(&SetupChange, Option<&Field>)],
    ) -> Result<(Vec<u8>, SetupValue), Fault> {
        let read = current.payload().and_then(SetupValue::read);
        let mut setup = self.setup_or_last(agent, read).await?;
        let before = setup.chosen();
        let (by, at) = (self.identity().operator.clone(), self.now().rfc3339());
        (setup.v, setup.by, setup.at) = (1, by.clone(), at.clone());
        for (change, field) in changes {
            apply(&mut setup, change, *field, (by.clone(), at.clone()))?;
        }
        self.may_choose(agent, (&before, &setup.chosen())).await?;
        let payload = current.object(&PolicyKey::Setup(agent.clone()), json!(setup))?;
        Ok((payload, setup))
    }

    /// What was read of an agent's setup; where that is nothing, the last values that could be read: rules deny by them,
    /// and go on to. They spare nobody a question.
    async fn setup_or_last(
        &self,
        agent: &AgentKey,
        read: Option<SetupValue>,
    ) -> Result<SetupValue, StoreError> {
        if let Some(setup) = read {
            return Ok(setup);
        }
        let key = PolicyKey::Setup(agent.clone());
        let last = last_read(self.reader(), &key, SetupValue::read).await?;
        Ok(last.map(|(_, last)| last.unbound()).unwrap_or_default())
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

    /// Every known agent with what it declares, by name.
    pub async fn setups(&self) -> Result<Vec<SetupLine>, Fault> {
        let declared: BTreeMap<_, _> = agents::setup_schemas(self.reader())
            .await?
            .into_iter()
            .collect();
        let mut set: BTreeMap<AgentKey, SetupValue> = BTreeMap::new();
        for row in policy::all(self.reader()).await? {
            if let Some(PolicyKey::Setup(agent)) = PolicyKey::parse(&row.key) {
                let read = SetupValue::read(&row.payload);
                let setup = self.setup_or_last(&agent, read).await?;
                set.insert(agent, setup);
            }
        }
        let mut all: Vec<AgentKey> = agents::all(self.reader())
            .await?
            .iter()
            .filter_map(|row| format!("{}/{}", row.ws, row.name).parse().ok())
            .collect();
        all.extend(
            set.keys()
                .filter(|agent| !all.contains(agent))
                .cloned()
                .collect::<Vec<_>>(),
        );
        let line = |agent: AgentKey| {
            let read = declared.get(&agent).map(|text| read_declared(text));
            let schema = read.as_ref().and_then(|read| read.as_ref().ok());
            let setup = set.get(&agent);
            let known = |key: &&String| schema.is_some_and(|schema| schema.field(key).is_some());
            SetupLine {
                keys: match &read {
                    None => Some(0),
                    Some(read) => read.as_ref().ok().map(|schema| schema.0.len()),
                },
                chosen: setup.map_or(0, |setup| setup.values.keys().filter(known).count()),
                bound: setup.map_or(0, |setup| setup.bindings.keys().filter(known).count()),
                agent,
            }
        };
        let mut lines: Vec<_> = all.into_iter().map(line).collect();
        lines.sort_by(|a, b| a.agent.cmp(&b.agent));
        Ok(lines)
    }

    /// One agent's setup as this console knows it.
    pub async fn setup_of(&self, agent: &AgentKey) -> Result<AgentSetup, Fault> {
        let row = policy::get(self.reader(), &PolicyKey::Setup(agent.clone()).to_string()).await?;
        let read = row.as_ref().map(|row| SetupValue::read(&row.payload));
        let revision = row
            .as_ref()
            .map_or(0, |row| u64::try_from(row.revision).unwrap_or(0));
        let declared = self.declaration(agent).await?;
        self.form(agent, declared, read, revision).await
    }

    /// Makes several changes of one agent's setup at once, all or none, if it is still as it was `seen`.
    ///
    /// # Errors
    /// `ErrorCode::Usage` without a change, `ErrorCode::NotFound` for a binding that is not there,
    /// `ErrorCode::BusUnreachable`, `ErrorCode::ReadOnly`, `ErrorCode::VerdictNotAllowed` as [`App::change_setup`];
    /// nothing is changed then.
    pub async fn save_setup(
        &self,
        agent: &AgentKey,
        seen: u64,
        changes: &[SetupChange],
    ) -> Result<Saved, Fault> {
        if changes.is_empty() {
            return Err(Fault::usage("there is nothing to change"));
        }
        let declared = self.declaration(agent).await?;
        let empty = SetupSchema::default();
        let schema = match &declared {
            Some(Ok(schema)) => schema,
            _ => &empty,
        };
        let problems = problems(schema, changes);
        if !problems.is_empty() {
            return Ok(Saved::Refused(problems));
        }
        let changes: Vec<_> = changes
            .iter()
            .map(|change| (change, schema.field(change.key())))
            .collect();
        let (key, changes) = (&PolicyKey::Setup(agent.clone()), &changes);
        let make = |current: Current| async move {
            if current.revision != seen {
                return Ok::<_, Fault>(Next::Leave(Err(current)));
            }
            let (payload, setup) = self.changed_setup(agent, &current, changes).await?;
            Ok(Next::Write(payload, Ok(setup)))
        };
        let bucket = self.bucket_to_sign().await?;
        let update = bucket.update(self.identity(), (key, MANNER), make);
        Ok(match update.await? {
            (revision, Ok(setup)) => Saved::Stored(form(agent, declared, (setup, true), revision)),
            (revision, Err(current)) => {
                let read = current.payload().and_then(SetupValue::read);
                let read = (revision > 0).then_some(read);
                Saved::Conflict(self.form(agent, declared, read, revision).await?)
            }
        })
    }

    /// `read` is none where nothing was ever set, and holds none where what was set cannot be read.
    async fn form(
        &self,
        agent: &AgentKey,
        declared: Option<Read>,
        read: Option<Option<SetupValue>>,
        revision: u64,
    ) -> Result<AgentSetup, Fault> {
        let readable = !matches!(read, Some(None));
        let setup = self.setup_or_last(agent, read.flatten()).await?;
        Ok(form(agent, declared, (setup, readable), revision))
    }

    /// What an agent declares; none when it declares nothing.
    async fn declaration(&self, agent: &AgentKey) -> Result<Option<Read>, Fault> {
        let declared = agents::setup_schema_of(self.reader(), agent).await?;
        Ok(declared.map(|declared| read_schema(&declared)))
    }
}

fn problem_line(problem: &Problem) -> String {
    format!("{}: {}", problem.place(), problem.message)
}
