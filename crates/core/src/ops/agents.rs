//! Every agent that this console knows: its instances, its tools, and what is wrong with them.
//!
//! An agent whose hello cannot be read is listed with the reason.

use std::collections::BTreeMap;

use countersign_wire::{
    AgentInfo, AgentKey, Credential, Hello, HelloFault, hello_subject, looks_like, pointer,
    read_definition, read_hello,
};
use serde_json::Value;

use super::gates::Gate;
use crate::Fault;
pub use crate::domain::facts::{AgentReport, Instance, Presence, ToolReport};
use crate::domain::{StrictFault, Timestamp, strict_faults};
use crate::policy::setup::read_schema;
use crate::runtime::App;
use crate::store::agent_instances::{self, InstanceRow};
use crate::store::agents::{self, AgentRow};
use crate::store::agents_waiting;
use crate::store::tools::{self, ToolRow};
use crate::store::typed_targets::{self, TypedTargetRow};

/// Mistakes in a declaration of setup keys that are listed one by one.
const SETUP_FAULTS: usize = 20;

impl App {
    /// All agents that are enrolled, were heard or have asked, by name.
    pub async fn agents(&self) -> Result<Vec<AgentReport>, Fault> {
        let reader = self.reader();
        let now = self.now();
        let controls = self.controls().await?;
        let mut known: BTreeMap<(String, String), AgentRow> = BTreeMap::new();
        for row in agents::all(reader).await? {
            known.insert((row.ws.clone(), row.name.clone()), row);
        }
        let mut asked = BTreeMap::new();
        for (ws, name, at) in agents_waiting::all(reader).await? {
            let place = (ws, name);
            known.entry(place.clone()).or_insert_with(|| AgentRow {
                ws: place.0.clone(),
                name: place.1.clone(),
                ..AgentRow::default()
            });
            if at > 0 {
                asked.insert(place, Timestamp(at));
            }
        }
        let mut copies = by_agent(agent_instances::all(reader).await?, |row| {
            (row.ws.clone(), row.agent.clone())
        });
        let mut described = by_agent(tools::all(reader).await?, |row| {
            (row.ws.clone(), row.agent.clone())
        });
        let mut chosen = by_agent(typed_targets::all(reader).await?, |row| {
            (row.ws.clone(), row.agent.clone())
        });
        let mut waiting = by_agent(agents_waiting::waiting(reader).await?, |row| {
            (row.0.clone(), row.1.clone())
        });
        let mut reports = Vec::with_capacity(known.len());
        for (place, row) in known {
            let key: Option<AgentKey> = format!("{}/{}", row.ws, row.name).parse().ok();
            let said = match &key {
                Some(key) if row.hello_at.is_some() => self.said(key).await?,
                _ => HelloFacts::default(),
            };
            let set = key
                .as_ref()
                .and_then(|key| controls.agents().find(|(agent, _)| *agent == key));
            reports.push(AgentReport {
                info: said.info,
                skills: said.skills,
                faults: said.faults,
                presence: Presence::of(row.last_seen, now),
                last_seen: row.last_seen.map(Timestamp),
                last_request: asked.get(&place).copied(),
                waiting: waiting
                    .remove(&place)
                    .map_or(0, |rows| rows.iter().map(|(_, _, count)| count).sum()),
                enrolled: row.key.is_some(),
                revoked_at: row.revoked_at.map(Timestamp),
                control: set.map(|(_, set)| (set.state, set.by.clone(), set.at)),
                gate: Gate::of(row.gate_held_at, row.gate_open),
                instances: instances(copies.remove(&place).unwrap_or_default(), now),
                tools: tool_reports(
                    described.remove(&place).unwrap_or_default(),
                    &chosen.remove(&place).unwrap_or_default(),
                ),
                credentials: credentials(row.credentials.as_deref()),
                hello_at: row.hello_at.map(Timestamp),
                hello_fault: row.hello_fault,
                workspace: row.ws,
                agent: row.name,
            });
        }
        Ok(reports)
    }

    async fn said(&self, key: &AgentKey) -> Result<HelloFacts, Fault> {
        let (ws, name) = (key.workspace.as_ref(), key.agent.as_ref());
        let raw = agents::hello(self.reader(), ws, name).await?;
        let read = raw.and_then(|raw| read_hello(&hello_subject(key), &raw).ok());
        Ok(read.map_or_else(HelloFacts::default, |report| HelloFacts {
            skills: skill_names(&report.hello),
            faults: faults(&report.hello, report.faults),
            info: Some(report.hello.agent),
        }))
    }
}

/// What is wrong in a hello, its declaration of setup keys included: one wrong field makes all of it useless.
fn faults(hello: &Hello, mut faults: Vec<HelloFault>) -> Vec<HelloFault> {
    let declared = hello.setup_schema.as_ref().map(read_schema);
    let problems = declared.and_then(Result::err).into_iter().flatten();
    faults.extend(problems.take(SETUP_FAULTS).map(|problem| {
        let step = |name: &String| pointer::below("", name);
        let path: String = problem.path.iter().map(step).collect();
        HelloFault {
            path: format!("/setup_schema{path}"),
            what: problem.message,
        }
    }));
    faults
}

#[derive(Default)]
struct HelloFacts {
    info: Option<AgentInfo>,
    skills: Vec<String>,
    faults: Vec<HelloFault>,
}

fn by_agent<T>(
    rows: Vec<T>,
    place: impl Fn(&T) -> (String, String),
) -> BTreeMap<(String, String), Vec<T>> {
    let mut sorted: BTreeMap<_, Vec<T>> = BTreeMap::new();
    for row in rows {
        sorted.entry(place(&row)).or_default().push(row);
    }
    sorted
}

fn instances(rows: Vec<InstanceRow>, now: Timestamp) -> Vec<Instance> {
    rows.into_iter()
        .map(|row| Instance {
            live: Presence::of(Some(row.last_seen), now) == Presence::Live,
            id: row.instance_id,
            first_seen: Timestamp(row.first_seen),
            last_seen: Timestamp(row.last_seen),
        })
        .collect()
}

/// The states of an agent's credentials, as [`AgentRow::credentials`] keeps them.
pub(crate) fn credentials(json: Option<&str>) -> Vec<Credential> {
    json.and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default()
}

/// A list of names or of objects with a name, or a map by name.
fn skill_names(hello: &Hello) -> Vec<String> {
    let name = |skill: &Value| match skill {
        Value::String(name) => Some(name.clone()),
        other => other.get("name")?.as_str().map(str::to_owned),
    };
    match &hello.skills {
        Some(Value::Array(skills)) => skills.iter().filter_map(name).collect(),
        Some(Value::Object(skills)) => skills.keys().cloned().collect(),
        _ => Vec::new(),
    }
}

fn tool_reports(rows: Vec<ToolRow>, chosen: &[TypedTargetRow]) -> Vec<ToolReport> {
    let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    let lists_tools = rows.iter().any(|row| row.place.is_some());
    rows.into_iter()
        .map(|row| {
            let tool = row.def.as_deref().and_then(read_definition);
            let strict = tool.as_ref().is_some_and(|tool| tool.strict == Some(true));
            let schema = tool.as_ref().and_then(|tool| tool.args_schema.as_ref());
            let faults = if strict {
                strict_faults(schema)
            } else {
                Vec::new()
            };
            let into_hello = |fault: StrictFault| StrictFault {
                path: match row.place {
                    Some(place) => format!("/tools/{place}/args_schema{}", fault.path),
                    None => format!("/args_schema{}", fault.path),
                },
                what: fault.what,
            };
            let others = names.iter().map(String::as_str);
            let typed_target = chosen.iter().find(|choice| choice.tool == row.name);
            ToolReport {
                typed_target: typed_target.map(|choice| choice.pointer.clone()),
                strict,
                strict_faults: faults.into_iter().map(into_hello).collect(),
                looks_like: looks_like(&row.name, others).map(str::to_owned),
                gated: !tool.as_ref().is_some_and(|tool| tool.is_beyond_the_gate()),
                listed: row.place.is_some(),
                unlisted: lists_tools && row.place.is_none() && row.def_digest.is_some(),
                changed: row.approved_digest.is_some() && row.approved_digest != row.def_digest,
                digest: row.def_digest,
                changed_at: row.changed_at.map(Timestamp),
                approved_digest: row.approved_digest,
                approved_at: row.approved_at.or(row.call_approved_at).map(Timestamp),
                definition: row.def,
                approved_definition: row.approved_def,
                name: row.name,
                description: tool.as_ref().and_then(|tool| tool.description.clone()),
                risk: tool.as_ref().and_then(|tool| tool.risk.clone()),
                origin: tool.and_then(|tool| tool.origin),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_no_longer_listed_only_where_the_last_hello_lists_others() {
        let row = |name: &str, place: Option<i64>, defined: bool| ToolRow {
            name: name.to_owned(),
            place,
            def_digest: defined.then(|| "sha256:aa".to_owned()),
            ..ToolRow::default()
        };
        let unlisted = |rows: Vec<ToolRow>| -> Vec<String> {
            let reported = tool_reports(rows, &[]).into_iter();
            reported
                .filter(|tool| tool.unlisted)
                .map(|tool| tool.name)
                .collect()
        };
        let asked = row("asked", None, false);
        let gone = row("gone", None, true);
        assert_eq!(
            unlisted(vec![asked.clone(), gone.clone()]),
            Vec::<String>::new()
        );
        assert_eq!(
            unlisted(vec![row("a", Some(0), true), gone, asked]),
            ["gone"]
        );
    }

    #[test]
    fn a_declaration_of_setup_keys_that_cannot_be_used_is_a_fault_of_its_hello() {
        let field = |name: &str| json!({"bs_name": name, "bs_type": "bool", "bs_default": true, "bs_group": "g"});
        let hello =
            json!({"v": 1, "agent": {"name": "bot"}, "setup_schema": [field("kk"), field("k")]});
        let report = read_hello(
            "countersign.v1.hello.acme.bot",
            hello.to_string().as_bytes(),
        )
        .unwrap();
        let reported = faults(&report.hello, report.faults);
        let paths: Vec<&str> = reported.iter().map(|fault| fault.path.as_str()).collect();
        assert_eq!(paths, ["/setup_schema/1/bs_name"]);
    }
}
