//! The rule sets of all workspaces as this console knows them.
//!
//! A set that does not verify or cannot be read approves nothing: everything asks then, but what rules denied that
//! nobody who may has taken back.

mod remembered;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use countersign_wire::{AgentKey, Risk, WorkspaceName};
use parking_lot::RwLock;
use serde_json::{Map, Value, json};

pub(crate) use self::remembered::with_last_good;
use super::policy_intake::{BucketEntry, Incoming, Taken};
use super::realm::TrustedKeys;
use super::setup::{SetupValue, schema_of};
use crate::domain::Timestamp;
use crate::policy::read::{Problem, read_stored};
use crate::policy::setup::SetupSchema;
use crate::policy::{PolicySet, Replaced, Rule};
use crate::runtime::Shared;

/// Who signed a value, and its revision: the signer's term there counts. `u64::MAX` is what is signed now.
pub(super) type Author = (String, u64);

/// What a workspace's requests are judged by.
#[derive(Debug)]
pub(crate) struct InForce {
    /// Where it was replaced, the last one that was good.
    pub(crate) set: PolicySet,
    /// Who signed, and at which revision: their limits bind what the rules let run.
    pub(crate) authors: Vec<Author>,
    /// What is on the bus does not count.
    pub(crate) replaced: Option<Replaced>,
}

impl InForce {
    /// Whether anything can be decided by it.
    pub(super) fn decides(&self) -> bool {
        self.replaced != Some(Replaced::Unreadable)
    }

    /// Whether everybody who signed it may let a request of this risk run.
    pub(super) fn may_allow(
        &self,
        trusted: &TrustedKeys,
        workspace: &WorkspaceName,
        risk: Risk,
    ) -> bool {
        let may = |(key, revision): &Author| trusted.author_may((key, *revision), workspace, risk);
        self.authors.iter().all(may)
    }
}

/// A value of `rules.{ws}`.
#[derive(Debug, Clone, Default, PartialEq)]
struct RulesEntry {
    revision: u64,
    /// Where they were replaced, the last ones that were good.
    rules: Vec<Rule>,
    author: Option<Author>,
    replaced: Option<Replaced>,
}

/// A value of `setup.{ws}.{agent}`; the last one that was good, without bindings, when it does not verify or cannot be
/// read: rules deny by its values.
#[derive(Debug, Clone, Default, PartialEq)]
struct SetupEntry {
    revision: u64,
    value: SetupValue,
    author: Option<Author>,
}

#[derive(Default)]
struct Book {
    rules: BTreeMap<WorkspaceName, RulesEntry>,
    setups: BTreeMap<AgentKey, SetupEntry>,
    schemas: BTreeMap<AgentKey, SetupSchema>,
    in_force: BTreeMap<WorkspaceName, Arc<InForce>>,
}

impl Book {
    /// What the workspace's requests are judged by from now on.
    fn rebuild(&mut self, workspace: &WorkspaceName) {
        let known = self.rules.get(workspace).cloned().unwrap_or_default();
        let mut authors: Vec<_> = known.author.into_iter().collect();
        let mut setup = BTreeMap::new();
        let of_workspace = self
            .setups
            .iter()
            .filter(|(agent, _)| agent.workspace == *workspace);
        for (agent, known) in of_workspace {
            let Some(schema) = self.schemas.get(agent) else {
                continue;
            };
            let in_force = known.value.in_force(schema, known.revision);
            if !in_force.bindings.is_empty() {
                authors.extend(known.author.clone());
            }
            setup.insert(agent.agent.to_string(), in_force);
        }
        let set = PolicySet::new(known.rules, setup);
        let unreadable = set.is_err().then_some(Replaced::Unreadable);
        let empty = || PolicySet::new(Vec::new(), BTreeMap::new());
        if let Ok(set) = set.or_else(|_| empty()) {
            let in_force = InForce {
                set,
                authors,
                replaced: known.replaced.or(unreadable),
            };
            self.in_force.insert(workspace.clone(), Arc::new(in_force));
        }
    }
}

/// The sets of all workspaces.
#[derive(Default)]
pub(crate) struct Policies {
    book: RwLock<Book>,
    /// Grows with everything that may change what becomes of a waiting request.
    generation: AtomicU64,
}

impl Policies {
    /// The rules and setup in force in a workspace; none where there are none.
    pub(crate) fn of(&self, workspace: &WorkspaceName) -> Option<Arc<InForce>> {
        let book = self.book.read();
        book.in_force.get(workspace).map(Arc::clone)
    }

    /// The rules of a workspace; where they were replaced, the last ones that were good.
    pub(super) fn rules(&self, workspace: &WorkspaceName) -> Vec<Rule> {
        let book = self.book.read();
        let known = book.rules.get(workspace);
        known.map(|known| known.rules.clone()).unwrap_or_default()
    }

    /// What a workspace without rules and setup is judged by.
    pub(crate) fn nothing() -> Option<Arc<InForce>> {
        let set = PolicySet::new(Vec::new(), BTreeMap::new()).ok()?;
        Some(Arc::new(InForce {
            set,
            authors: Vec::new(),
            replaced: None,
        }))
    }

    /// Whether no workspace has anything to judge by.
    pub(crate) fn is_empty(&self) -> bool {
        let book = self.book.read();
        let mut all = book.in_force.values();
        all.all(|of| of.set.is_empty() && of.replaced.is_none())
    }

    /// How many rules approve at this time, in all workspaces; what was replaced approves nothing.
    pub(crate) fn approving(&self, now: Timestamp) -> usize {
        let book = self.book.read();
        let sets = book.in_force.values().filter(|of| of.replaced.is_none());
        sets.flat_map(|of| of.set.rules())
            .filter(|of| of.rule.approves(now))
            .count()
    }

    /// Another number after every change: what was judged before is judged again.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Something changed that the judgement of waiting requests depends on.
    pub(crate) fn touch(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// The bucket counts its revisions anew: whatever it brings is newer than what is known, which stays in force until
    /// then.
    pub(crate) fn forget_revisions(&self) {
        let mut book = self.book.write();
        book.rules.values_mut().for_each(|known| known.revision = 0);
        book.setups
            .values_mut()
            .for_each(|known| known.revision = 0);
    }

    /// The bucket holds, in the place of a workspace's rules, a value that does not count, and that left no row where
    /// they can be read themselves.
    pub(crate) fn replaced(&self, workspace: WorkspaceName) {
        let before = self.book.read().rules.get(&workspace).cloned();
        let known = RulesEntry {
            revision: u64::MAX,
            replaced: before
                .and_then(|known| known.replaced)
                .or(Some(Replaced::Unsigned)),
            ..RulesEntry::default()
        };
        self.take(workspace, known);
    }

    /// Takes the rules of a workspace over, unless they or newer ones are known. Returns whether it did.
    fn take(&self, workspace: WorkspaceName, mut known: RulesEntry) -> bool {
        let mut book = self.book.write();
        let old = book.rules.get(&workspace);
        if known.replaced.is_some() {
            known.rules = old.map(|old| old.rules.clone()).unwrap_or_default();
        }
        let news = old.is_none_or(|old| is_news((known.revision, &known), (old.revision, old)));
        if news {
            book.rules.insert(workspace.clone(), known);
            book.rebuild(&workspace);
            self.touch();
        }
        news
    }

    /// The values of an agent's setup keys that somebody chose.
    pub(super) fn chosen(&self, agent: &AgentKey) -> Map<String, Value> {
        self.setup(agent).chosen()
    }

    fn setup(&self, agent: &AgentKey) -> SetupValue {
        let book = self.book.read();
        let known = book.setups.get(agent);
        known.map(|known| known.value.clone()).unwrap_or_default()
    }

    /// Takes the setup of an agent over, unless it or a newer one is known. Returns whether it did.
    fn take_setup(&self, agent: AgentKey, known: SetupEntry) -> bool {
        let mut book = self.book.write();
        let old = book.setups.get(&agent);
        let news = old.is_none_or(|old| is_news((known.revision, &known), (old.revision, old)));
        if news {
            book.setups.insert(agent.clone(), known);
            book.rebuild(&agent.workspace);
            self.touch();
        }
        news
    }

    /// An agent says which setup keys it has; keys of a wrong declaration are none.
    pub(crate) fn declared(&self, agent: &AgentKey, declared: Option<&str>) {
        let schema = declared.and_then(schema_of).unwrap_or_default();
        let mut book = self.book.write();
        if book.schemas.get(agent) == Some(&schema) {
            return;
        }
        book.schemas.insert(agent.clone(), schema);
        if book.setups.contains_key(agent) {
            book.rebuild(&agent.workspace);
            self.touch();
        }
    }
}

/// Whether a value is newer than what is known, or adds to the same revision what is not known: a store keeps no stamp
/// of the server, by which its author's limits count; the bus does.
fn is_news<T: PartialEq>((revision, value): (u64, &T), (known, old): (u64, &T)) -> bool {
    known < revision || (known == revision && old != value)
}

fn known(payload: &[u8], author: Author, revision: u64) -> RulesEntry {
    let rules = read_payload(payload);
    RulesEntry {
        revision,
        replaced: rules.is_err().then_some(Replaced::Unreadable),
        rules: rules.unwrap_or_default(),
        author: Some(author),
    }
}

pub(super) fn read_payload(payload: &[u8]) -> Result<Vec<Rule>, Vec<Problem>> {
    let value: Value = serde_json::from_slice(payload).unwrap_or_default();
    read_stored(&value)
}

/// Takes the rules of a workspace over. None when they or later ones are known.
pub(super) async fn take_rules(
    shared: &Shared,
    workspace: &WorkspaceName,
    came: &Incoming,
    place: BucketEntry,
) -> Option<Taken> {
    let revision = place.revision;
    let replaced = |by| RulesEntry {
        revision,
        replaced: Some(by),
        ..RulesEntry::default()
    };
    let known = match came {
        Incoming::Valid(row) => {
            let (payload, author) = (row.payload.clone(), (row.signer.clone(), revision));
            // Conditions are compiled, which takes its time.
            let reading = tokio::task::spawn_blocking(move || known(&payload, author, revision));
            reading.await.unwrap_or(replaced(Replaced::Unreadable))
        }
        Incoming::Deleted if shared.policies.rules(workspace).is_empty() => RulesEntry {
            revision,
            ..RulesEntry::default()
        },
        // Nobody signs a deletion.
        Incoming::Stale(_) | Incoming::Invalid | Incoming::Deleted => replaced(Replaced::Unsigned),
    };
    let (good, detail) = (
        known.replaced.is_none(),
        json!({ "rules": known.rules.len() }),
    );
    let (policies, workspace) = (Arc::clone(&shared.policies), workspace.clone());
    let taken = tokio::task::spawn_blocking(move || policies.take(workspace, known)).await;
    taken.unwrap_or(false).then_some(Taken { good, detail })
}

/// Takes the setup of an agent over. None when it or a later one is known.
pub(super) fn take_setup(
    shared: &Shared,
    agent: &AgentKey,
    came: &Incoming,
    place: BucketEntry,
) -> Option<Taken> {
    let last = shared.policies.setup(agent).unbound();
    let (read, author) = match came {
        Incoming::Deleted if last.chosen().is_empty() => (Some(SetupValue::default()), None),
        Incoming::Valid(row) => {
            let author = Some((row.signer.clone(), place.revision));
            (SetupValue::read(&row.payload), author)
        }
        Incoming::Stale(_) | Incoming::Invalid | Incoming::Deleted => (None, None),
    };
    let (good, detail) = (read.is_some(), json!({}));
    let known = SetupEntry {
        revision: place.revision,
        value: read.unwrap_or(last),
        author,
    };
    let taken = shared.policies.take_setup(agent.clone(), known);
    taken.then_some(Taken { good, detail })
}
