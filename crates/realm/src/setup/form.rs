//! An agent's setup as a form: everything it declares, what was chosen, and several changes at once.

use std::collections::BTreeMap;

use countersign_rules::arguments::same;
use countersign_rules::read::Problem;
use countersign_rules::setup::{Field, FieldType, SetupSchema, cast, read_schema};
use countersign_wire::{AgentKey, json_value};
use serde_json::Value;

use super::{Bound, Chosen, SetupChange, SetupValue};

/// Problems that are listed at once.
const PROBLEMS_MAX: usize = 20;

/// What an agent says of its setup keys.
#[derive(Debug, Clone, PartialEq)]
pub enum Declared {
    /// It has none, or has sent no hello.
    Nothing,
    /// Its declaration cannot be used: none of its keys spares a question.
    Wrong(Vec<Problem>),
    /// Its keys with their values, in the order of the form.
    Keys(Vec<SetupKey>),
}

/// Something that was set for a key which the agent does not declare, or no longer.
#[derive(Debug, Clone, PartialEq)]
pub struct Leftover {
    /// The key.
    pub key: String,
    /// Its value, which counts for nothing.
    pub chosen: Option<Chosen>,
    /// Its binding, which spares no question.
    pub bound: Option<Bound>,
}

/// An agent's setup.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSetup {
    /// Whose.
    pub agent: AgentKey,
    /// What it declares.
    pub declared: Declared,
    /// What was set for anything else.
    pub leftovers: Vec<Leftover>,
    /// Its revision on the bus; 0 while nobody has set anything.
    pub revision: u64,
    /// False when the value on the bus does not verify or cannot be read: no key spares a question, and the values are
    /// the last that could be read.
    pub readable: bool,
    /// Name and console's time of the last change.
    pub changed: Option<(String, String)>,
}

/// One line of the list of setups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupLine {
    /// Whose.
    pub agent: AgentKey,
    /// How many keys it declares; none when its declaration cannot be used.
    pub keys: Option<usize>,
    /// How many of them have a value that somebody chose.
    pub chosen: usize,
    /// How many of them spare a question at some value.
    pub bound: usize,
}

/// What became of a form.
#[derive(Debug, Clone, PartialEq)]
pub enum Saved {
    /// It is stored on the bus.
    Stored(AgentSetup),
    /// Somebody else changed the setup in between: nothing was written.
    Conflict(AgentSetup),
    /// What is wrong, each with its path; nothing was written.
    Refused(Vec<Problem>),
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

impl SetupKey {
    /// Whether its value is the one at which calls do not ask, and its agent has not changed the meaning of it.
    #[must_use]
    pub fn spares(&self) -> bool {
        let bound = self.bound.as_ref();
        bound.is_some_and(|bound| {
            let known = bound.is_known(&self.field, self.chosen.as_ref());
            known && same(&bound.skips_when, &self.value) == Ok(true)
        })
    }

    /// What somebody chose and its agent's declaration does not allow: the default counts in its place.
    #[must_use]
    pub fn unfit(&self) -> Option<&Chosen> {
        let chosen = self.chosen.as_ref().filter(|of| !of.value.is_null());
        chosen.filter(|of| !of.fits(&self.field))
    }

    /// Whether it is bound and its agent declares it otherwise since, or what was chosen does not fit: it asks
    /// until it is bound or set again.
    #[must_use]
    pub fn is_redeclared(&self) -> bool {
        let bound = self.bound.as_ref();
        bound.is_some_and(|bound| !bound.is_known(&self.field, self.chosen.as_ref()))
    }
}

/// What an agent declares, or what is wrong with it.
pub type Read = Result<SetupSchema, Vec<Problem>>;

/// What an agent declares, as it was kept.
pub fn read_declared(text: &str) -> Read {
    match json_value(text.as_bytes()) {
        Some(value) => read_schema(&value),
        None => Err(vec![problem(
            &[],
            "is not valid JSON; let the agent say hello again",
        )]),
    }
}

/// Every key of a declaration with its value, in the order in which people are shown them.
#[must_use]
pub fn keys(agent: &AgentKey, schema: SetupSchema, setup: &SetupValue) -> Vec<SetupKey> {
    let (values, _) = schema.merge(&setup.chosen());
    let key = |field: Field| SetupKey {
        agent: agent.clone(),
        value: values.get(&field.name).cloned().unwrap_or_default(),
        chosen: setup.values.get(&field.name).cloned(),
        bound: setup.bindings.get(&field.name).cloned(),
        field,
    };
    ordered(schema.0).into_iter().map(key).collect()
}

/// `readable` says whether `setup` is what the bus holds, at `revision`.
#[must_use]
pub fn form(
    agent: &AgentKey,
    declared: Option<Read>,
    (setup, readable): (SetupValue, bool),
    revision: u64,
) -> AgentSetup {
    let schema = declared.as_ref().and_then(|read| read.as_ref().ok());
    let unknown = |key: &str| schema.is_none_or(|schema| schema.field(key).is_none());
    let mut leftovers: BTreeMap<&String, Leftover> = BTreeMap::new();
    let named = setup.values.keys().chain(setup.bindings.keys());
    for key in named.filter(|key| unknown(key)) {
        leftovers.entry(key).or_insert_with(|| Leftover {
            key: key.clone(),
            chosen: setup.values.get(key).cloned(),
            bound: setup.bindings.get(key).cloned(),
        });
    }
    AgentSetup {
        agent: agent.clone(),
        leftovers: leftovers.into_values().collect(),
        revision,
        readable,
        changed: (!setup.at.is_empty()).then(|| (setup.by.clone(), setup.at.clone())),
        declared: match declared {
            None => Declared::Nothing,
            Some(Err(problems)) => Declared::Wrong(problems),
            Some(Ok(schema)) if schema.0.is_empty() => Declared::Nothing,
            Some(Ok(schema)) => Declared::Keys(keys(agent, schema, &setup)),
        },
    }
}

/// Groups by the lowest place in them, then fields by place, then the more important first, then as declared.
fn ordered(fields: Vec<Field>) -> Vec<Field> {
    let place = |field: &Field| field.order.unwrap_or(f64::MAX);
    let importance = |field: &Field| {
        field
            .importance
            .as_ref()
            .and_then(Value::as_f64)
            .unwrap_or(0.0)
    };
    let mut groups: BTreeMap<Option<String>, (f64, usize)> = BTreeMap::new();
    for (number, field) in fields.iter().enumerate() {
        let group = groups
            .entry(field.group.clone())
            .or_insert((f64::MAX, number));
        group.0 = group.0.min(place(field));
    }
    let mut fields = fields;
    // Stable: what is equal stays as declared.
    fields.sort_by(|a, b| {
        let (of_a, of_b) = (groups.get(&a.group), groups.get(&b.group));
        let lowest = |of: Option<&(f64, usize)>| of.map_or(f64::MAX, |of| of.0);
        let first = |of: Option<&(f64, usize)>| of.map_or(usize::MAX, |of| of.1);
        lowest(of_a)
            .total_cmp(&lowest(of_b))
            .then(first(of_a).cmp(&first(of_b)))
            .then(place(a).total_cmp(&place(b)))
            .then(importance(b).total_cmp(&importance(a)))
    });
    fields
}

/// What is wrong with changes, each with its path.
#[must_use]
pub fn problems(schema: &SetupSchema, changes: &[SetupChange]) -> Vec<Problem> {
    let mut found = Vec::new();
    for change in changes {
        let (key, value) = match change {
            SetupChange::Unbind(_) | SetupChange::Set(_, Value::Null) => continue,
            SetupChange::Set(key, value) | SetupChange::Bind(key, value, _) => (key, value),
        };
        match schema.field(key) {
            None => found.push(problem(&[key], "is not declared by the agent")),
            Some(field) => of_value(field, value, &mut found),
        }
    }
    found.truncate(PROBLEMS_MAX);
    found
}

/// Everything that is wrong with a value. A list is looked through: what its items hold and do not declare
/// would be dropped without a word.
fn of_value(field: &Field, value: &Value, found: &mut Vec<Problem>) {
    let name = field.name.as_str();
    let Some(items) = value
        .as_array()
        .filter(|_| field.kind == FieldType::ListDict)
    else {
        if let Err(why) = cast(field, value) {
            found.push(problem(&[name], why));
        }
        return;
    };
    for (place, item) in items.iter().enumerate() {
        let place = place.to_string();
        let Some(map) = item.as_object() else {
            found.push(problem(&[name, &place], "must be an object"));
            continue;
        };
        if field.elements.is_empty() {
            continue;
        }
        for (inner, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            let element = field.elements.iter().find(|element| element.name == *inner);
            let wrong = element.map_or_else(
                || Some("is not known here".to_owned()),
                |element| cast(element, value).err(),
            );
            found.extend(wrong.map(|why| problem(&[name, &place, inner], why)));
        }
    }
}

fn problem(path: &[&str], message: impl Into<String>) -> Problem {
    Problem {
        path: path.iter().map(|part| (*part).to_owned()).collect(),
        message: message.into(),
    }
}

#[cfg(test)]
mod tests;
