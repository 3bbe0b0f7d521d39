//! A workspace's rules and setup as they are in force, and their digest.

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_wire::Sha256Digest;
use serde_json::{Map, Value, json};

use super::by_tool::ByTool;
use super::condition::{Condition, ConditionFault};
use super::read::SCHEMA;
use super::rule::{Enabled, Rule};
use crate::domain::Timestamp;

/// Why what is in the place of a workspace's rules does not count, and how far the rules before it hold on: none of
/// them approves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// An operator who may has signed what this version cannot read: it may deny less. The rules before it only ask for
    /// as many operators.
    Unreadable,
    /// Nobody who may has signed it, or it was deleted, or it is an older one: the rules before it deny, too.
    Unsigned,
}

/// A rule with its condition.
#[derive(Debug)]
pub struct Prepared {
    /// The rule.
    pub rule: Rule,
    /// Its condition, or why there is none though the rule has one.
    pub condition: Option<Result<Arc<Condition>, ConditionFault>>,
}

/// When a setup key spares a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Binding {
    /// The agent's call does not ask when the key has this value.
    pub skips_when: Value,
    /// Whether that holds for critical calls too.
    pub critical: bool,
    /// When it was bound: a tool that changed later is not covered.
    pub since: Timestamp,
    /// The agent declares the key otherwise than when it was bound: it spares nothing.
    pub redeclared: bool,
}

/// The setup of one agent as it is in force.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SetupInForce {
    /// Revision in the shared policy.
    pub revision: u64,
    /// Every declared key with its value, the default where nobody chose one.
    pub values: Map<String, Value>,
    /// Keys that spare a question, by name.
    pub bindings: BTreeMap<String, Binding>,
}

impl SetupInForce {
    fn to_json(&self) -> Value {
        let bindings = self.bindings.iter().map(|(key, binding)| {
            let since = binding.since.rfc3339();
            let mut kept = json!({
                "skips_when": binding.skips_when, "critical": binding.critical, "since": since,
            });
            if binding.redeclared {
                kept["redeclared"] = true.into();
            }
            (key.clone(), kept)
        });
        json!({ "values": self.values, "bindings": Value::Object(bindings.collect()) })
    }
}

/// What a workspace's requests are judged by.
#[derive(Debug)]
pub struct PolicySet {
    rules: Vec<Prepared>,
    by_tool: ByTool,
    setup: BTreeMap<String, SetupInForce>,
    digest: Sha256Digest,
    body: Vec<u8>,
}

impl PolicySet {
    /// Prepares rules and setup; the rules come in the order of their ids.
    pub fn new(
        mut rules: Vec<Rule>,
        setup: BTreeMap<String, SetupInForce>,
    ) -> Result<Self, String> {
        rules.sort_by(|a, b| a.id.cmp(&b.id));
        let list: Vec<Value> = rules.iter().map(Rule::to_json).collect();
        let agents = setup
            .iter()
            .map(|(agent, setup)| (agent.clone(), setup.to_json()));
        let agents: Map<String, Value> = agents.collect();
        let whole = json!({ "schema": SCHEMA, "rules": list, "setup": agents });
        let body = serde_json_canonicalizer::to_vec(&whole).map_err(|error| error.to_string())?;
        let prepare = |rule: Rule| Prepared {
            condition: rule
                .when
                .as_deref()
                .map(|when| Condition::compile(when).map(Arc::new)),
            rule,
        };
        Ok(Self {
            by_tool: ByTool::of(rules.iter()),
            rules: rules.into_iter().map(prepare).collect(),
            setup,
            digest: Sha256Digest::of_bytes(&body),
            body,
        })
    }

    /// The rules by id.
    #[must_use]
    pub fn rules(&self) -> &[Prepared] {
        &self.rules
    }

    /// The places of the rules to look at, in order: where near misses are wanted, of all that are not off.
    pub(super) fn places(&self, tool: Option<&str>, near_misses: bool) -> Arc<[usize]> {
        match near_misses {
            true => self.by_tool.all(),
            false => self.by_tool.of_tool(tool, |place| &self.rules[place].rule),
        }
    }

    /// The setup of an agent.
    #[must_use]
    pub fn setup_of(&self, agent: &str) -> Option<&SetupInForce> {
        self.setup.get(agent)
    }

    /// SHA-256 of [`Self::body`] (rules, `policy_digest`).
    #[must_use]
    pub fn digest(&self) -> &Sha256Digest {
        &self.digest
    }

    /// Canonical JSON of `{schema, rules sorted by id, setup}`.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Whether a rule may ask for several operators.
    #[must_use]
    pub fn may_raise(&self) -> bool {
        let several = |of: &Prepared| of.rule.approvals.is_some_and(|approvals| approvals > 1);
        self.rules
            .iter()
            .any(|of| several(of) && of.rule.enabled == Enabled::On)
    }

    /// Whether there is nothing to judge by.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.setup.values().all(|setup| setup.bindings.is_empty())
    }
}
