//! What a workspace's requests are judged by: its rules and setup keys as they are in force.

use std::collections::BTreeMap;

use countersign_rules::setup::SetupSchema;
use countersign_rules::{PolicySet, Replaced, Rule};
use countersign_wire::{AgentKey, Risk, WorkspaceName};

use crate::registers::{Entry, Register};
use crate::setup::Setup;
use crate::signers::Signers;

/// Who signed a value, and its revision: the signer's term there counts. `u64::MAX` is what is signed now.
pub type Author = (String, u64);

/// What a workspace's requests are judged by.
#[derive(Debug)]
pub struct InForce {
    /// Where it was replaced, the last one that was good.
    pub set: PolicySet,
    /// Who signed, and at which revision: their limits bind what the rules let run.
    pub authors: Vec<Author>,
    /// What is on the bus does not count.
    pub replaced: Option<Replaced>,
}

impl InForce {
    /// Of a workspace without rules and setup.
    #[must_use]
    pub fn nothing() -> Option<Self> {
        Some(Self {
            set: PolicySet::new(Vec::new(), BTreeMap::new()).ok()?,
            authors: Vec::new(),
            replaced: None,
        })
    }

    pub(crate) fn of(
        workspace: &WorkspaceName,
        rules: Option<&Entry<Vec<Rule>>>,
        setups: &Register<Setup>,
        schemas: &BTreeMap<AgentKey, SetupSchema>,
    ) -> Option<Self> {
        let mut authors: Vec<_> = rules.iter().filter_map(|of| of.author.clone()).collect();
        let mut setup = BTreeMap::new();
        for (agent, known) in setups.entries() {
            let schema = schemas.get(agent);
            let Some(schema) = schema.filter(|_| agent.workspace == *workspace) else {
                continue;
            };
            let in_force = known.value.in_force(schema, known.revision);
            if !in_force.bindings.is_empty() {
                authors.extend(known.author.clone());
            }
            setup.insert(agent.agent.to_string(), in_force);
        }
        let replaced = rules.and_then(|of| of.bad);
        let rules = rules.map(|of| of.value.clone()).unwrap_or_default();
        let set = PolicySet::new(rules, setup);
        let unreadable = set.is_err().then_some(Replaced::Unreadable);
        Some(Self {
            set: set
                .or_else(|_| PolicySet::new(Vec::new(), BTreeMap::new()))
                .ok()?,
            authors,
            replaced: replaced.or(unreadable),
        })
    }

    /// Whether anything can be decided by it.
    #[must_use]
    pub fn decides(&self) -> bool {
        self.replaced != Some(Replaced::Unreadable)
    }

    /// Whether everybody who signed it may let a request of this risk run.
    pub fn may_allow(&self, signers: &impl Signers, workspace: &WorkspaceName, risk: Risk) -> bool {
        let may = |(key, revision): &Author| {
            let term = signers.term(key, *revision);
            term.is_some_and(|term| term.allows(workspace.as_str(), risk))
        };
        self.authors.iter().all(may)
    }
}
