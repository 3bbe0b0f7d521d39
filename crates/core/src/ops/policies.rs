//! The rule sets of all workspaces as this console knows them.
//!
//! Refuses to decide by a set that does not verify or cannot be read: everything asks then.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use countersign_wire::{
    AgentKey, Context, KeyRole, PolicyKey, Risk, Sha256Digest, SignedEnvelope, WorkspaceName,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::job::Job;
use super::last_signed::open_counting;
use super::policy_value;
use super::rules::last_readable;
use super::setup::{SetupValue, schema_of};
use super::trusted::TrustedKeys;
use crate::bus::PolicyChange;
use crate::domain::{AlarmCode, Timestamp};
use crate::policy::read::{Problem, read_set};
use crate::policy::setup::SetupSchema;
use crate::policy::{PolicySet, Rule};
use crate::runtime::Shared;
use crate::store::audit::Entry;
use crate::store::policy::PolicyRow;
use crate::store::{Reader, StoreError};

/// What a workspace's requests are judged by.
#[derive(Debug)]
pub(crate) struct InForce {
    /// Where it is broken, the last one that was good: it may still ask for several operators.
    pub(crate) set: PolicySet,
    /// Who signed, and when the server stored it: their limits bind what the rules let run.
    pub(crate) authors: Vec<(String, Timestamp)>,
    /// It does not verify or cannot be read: nothing is decided by itself.
    pub(crate) broken: bool,
}

impl InForce {
    /// Whether everybody who signed it may let a request of this risk run.
    pub(super) fn may_allow(
        &self,
        trusted: &TrustedKeys,
        workspace: &WorkspaceName,
        risk: Risk,
    ) -> bool {
        let may = |(key, at): &(String, Timestamp)| trusted.may_allow(key, *at, workspace, risk);
        self.authors.iter().all(may)
    }
}

/// A value of `rules.{ws}`.
#[derive(Debug, Clone, Default, PartialEq)]
struct Known {
    revision: u64,
    /// Where it is broken, the last ones that were good.
    rules: Vec<Rule>,
    author: Option<(String, Timestamp)>,
    broken: bool,
}

/// A value of `setup.{ws}.{agent}`; without bindings when it does not verify or cannot be read.
#[derive(Debug, Clone, Default, PartialEq)]
struct KnownSetup {
    revision: u64,
    value: SetupValue,
    author: Option<(String, Timestamp)>,
}

#[derive(Default)]
struct Book {
    rules: BTreeMap<WorkspaceName, Known>,
    setups: BTreeMap<AgentKey, KnownSetup>,
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
        let broken = known.broken || set.is_err();
        let empty = || PolicySet::new(Vec::new(), BTreeMap::new());
        if let Ok(set) = set.or_else(|_| empty()) {
            let in_force = InForce {
                set,
                authors,
                broken,
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
    /// The sets that this folder's console knew in its earlier life, a set that cannot be read behind the one
    /// before it, and what agents declared.
    pub(crate) fn remembered(rows: &[PolicyRow], declared: &[(AgentKey, String)]) -> Self {
        let policies = Self::default();
        for (agent, schema) in declared {
            policies.declared(agent, Some(schema));
        }
        for row in rows {
            let revision = u64::try_from(row.revision).unwrap_or(0);
            let value: Value = serde_json::from_slice(&row.payload).unwrap_or_default();
            let at = value["at"].as_str().and_then(Timestamp::parse);
            let author = (row.signer.clone(), at.unwrap_or(Timestamp(0)));
            match PolicyKey::parse(&row.key) {
                Some(PolicyKey::Rules(workspace)) if row.is_deleted() => {
                    let known = Known {
                        revision,
                        ..Known::default()
                    };
                    policies.take(workspace, known);
                }
                Some(PolicyKey::Rules(workspace)) => {
                    policies.take(workspace, known(&row.payload, author, revision));
                }
                Some(PolicyKey::Setup(agent)) => {
                    let value = SetupValue::read(&row.payload).unwrap_or_default();
                    policies.take_setup(
                        agent,
                        KnownSetup {
                            revision,
                            value,
                            author: Some(author),
                        },
                    );
                }
                _ => {}
            }
        }
        policies
    }

    pub(crate) fn of(&self, workspace: &WorkspaceName) -> Option<Arc<InForce>> {
        let book = self.book.read().ok()?;
        book.in_force.get(workspace).map(Arc::clone)
    }

    /// What a workspace without rules and setup is judged by.
    pub(crate) fn nothing() -> Option<Arc<InForce>> {
        let set = PolicySet::new(Vec::new(), BTreeMap::new()).ok()?;
        Some(Arc::new(InForce {
            set,
            authors: Vec::new(),
            broken: false,
        }))
    }

    /// Whether no workspace has anything to judge by.
    pub(crate) fn is_empty(&self) -> bool {
        self.book.read().is_ok_and(|book| {
            let mut all = book.in_force.values();
            all.all(|of| of.set.is_empty() && !of.broken)
        })
    }

    /// How many rules approve at this time, in all workspaces; what cannot be read approves nothing.
    pub(crate) fn approving(&self, now: Timestamp) -> usize {
        let Ok(book) = self.book.read() else {
            return 0;
        };
        let sets = book.in_force.values().filter(|of| !of.broken);
        sets.flat_map(|of| of.set.rules())
            .filter(|of| of.rule.approves(now))
            .count()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Something changed that the judgement of waiting requests depends on.
    pub(crate) fn touch(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// The bucket counts its revisions anew: whatever it brings is newer than what is known, which stands until then.
    pub(crate) fn forget_revisions(&self) {
        let Ok(mut book) = self.book.write() else {
            return;
        };
        book.rules.values_mut().for_each(|known| known.revision = 0);
        book.setups
            .values_mut()
            .for_each(|known| known.revision = 0);
    }

    /// The rules of a workspace stand, and cannot be read.
    pub(crate) fn cannot_be_read(&self, workspace: WorkspaceName) {
        let known = Known {
            revision: u64::MAX,
            broken: true,
            ..Known::default()
        };
        self.take(workspace, known);
    }

    /// Takes the rules of a workspace over, unless they or newer ones are known. Returns whether it did.
    fn take(&self, workspace: WorkspaceName, mut known: Known) -> bool {
        let Ok(mut book) = self.book.write() else {
            return false;
        };
        let old = book.rules.get(&workspace);
        if known.broken {
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

    /// Takes the setup of an agent over, unless it or a newer one is known. Returns whether it did.
    fn take_setup(&self, agent: AgentKey, known: KnownSetup) -> bool {
        let Ok(mut book) = self.book.write() else {
            return false;
        };
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
        let Ok(mut book) = self.book.write() else {
            return;
        };
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

/// Whether a value is newer than what is known, or tells of the same revision what is not known: a store keeps no
/// stamp of the server, by which its author's limits count; the bus does.
fn is_news<T: PartialEq>((revision, value): (u64, &T), (known, old): (u64, &T)) -> bool {
    known < revision || (known == revision && old != value)
}

/// The values of a folder, each set of rules that cannot be read behind the last one that could: its asks still
/// count.
pub(crate) async fn with_last_good(
    reader: &Reader,
    rows: &[PolicyRow],
) -> Result<Vec<PolicyRow>, StoreError> {
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(PolicyKey::Rules(workspace)) = PolicyKey::parse(&row.key)
            && !row.is_deleted()
            && read_payload(&row.payload).is_err()
            && let Some((good, _)) = last_readable(reader, &workspace).await?
        {
            all.push(PolicyRow {
                revision: 0,
                ..good
            });
        }
        all.push(row.clone());
    }
    Ok(all)
}

fn known(payload: &[u8], author: (String, Timestamp), revision: u64) -> Known {
    let rules = read_payload(payload);
    Known {
        revision,
        broken: rules.is_err(),
        rules: rules.unwrap_or_default(),
        author: Some(author),
    }
}

fn read_payload(payload: &[u8]) -> Result<Vec<Rule>, Vec<Problem>> {
    let value: Value = serde_json::from_slice(payload).unwrap_or_default();
    read_set(&value, "rules")
}

/// Takes a change of `rules.{ws}` over: first for who judges, then into the store.
pub(crate) async fn changed(
    shared: &Arc<Shared>,
    realm: &Uuid,
    workspace: WorkspaceName,
    change: PolicyChange,
) {
    let key = PolicyKey::Rules(workspace.clone());
    let stamp = Timestamp::from(change.stamp);
    let (revision, deleted) = (change.revision, change.value.is_none());
    let opened = change
        .value
        .as_deref()
        .map(|value| open_counting(shared, realm, &key, value, stamp));
    let (known, row) = match opened {
        // Deleted: there are no rules.
        None => (
            Known {
                revision: change.revision,
                ..Known::default()
            },
            None,
        ),
        Some(Some(mut row)) => {
            let author = (row.signer.clone(), stamp);
            let read = row.payload.clone();
            // Conditions are compiled, which takes its time.
            let reading = tokio::task::spawn_blocking(move || known(&read, author, revision));
            let broken = Known {
                revision,
                broken: true,
                ..Known::default()
            };
            row.revision = i64::try_from(revision).unwrap_or(i64::MAX);
            (reading.await.unwrap_or(broken), Some(row))
        }
        Some(None) => (
            Known {
                revision: change.revision,
                broken: true,
                ..Known::default()
            },
            None,
        ),
    };
    let (count, good) = (known.rules.len(), !known.broken);
    let policies = Arc::clone(&shared.policies);
    let taken = tokio::task::spawn_blocking(move || policies.take(workspace, known)).await;
    // What a later value has replaced is told by nobody: the bucket is read from its beginning after each connect.
    if !taken.unwrap_or(false) {
        return;
    }
    let (code, subject) = (AlarmCode::RulesUnusable, key.to_string());
    if good {
        tell(shared, Job::LowerAlarm { code, subject }).await;
    } else {
        tracing::error!(%key, "the rules do not verify, are older or cannot be read; everything asks");
        tell(shared, Job::Alarm { code, subject }).await;
    }
    if let Some(row) = row {
        shared.last_signed.took(&row);
        let digest = Sha256Digest::of_bytes(&row.payload).to_string();
        let detail = json!({ "payload_digest": digest, "revision": row.revision, "rules": count });
        let entry = Entry {
            at: shared.clock.now(),
            actor: row.signer.clone(),
            action: "policy",
            subject: key.to_string(),
            detail,
        };
        tell(shared, Job::Policy(row, vec![entry])).await;
    }
    if deleted {
        shared.last_signed.deleted(&key);
        tell(shared, policy_value::deletion(shared, &key, revision)).await;
    }
    // What waits is judged again.
    tell(shared, Job::Rescan).await;
}

/// Takes a change of `setup.{ws}.{agent}` over.
pub(crate) async fn setup_changed(
    shared: &Shared,
    realm: &Uuid,
    agent: AgentKey,
    change: &PolicyChange,
) {
    let key = PolicyKey::Setup(agent.clone());
    let stamp = Timestamp::from(change.stamp);
    let revision = change.revision;
    let opened = change
        .value
        .as_deref()
        .map(|value| open_counting(shared, realm, &key, value, stamp));
    let read = match &opened {
        None => Some(SetupValue::default()),
        Some(opened) => opened
            .as_ref()
            .and_then(|row| SetupValue::read(&row.payload)),
    };
    let (code, subject) = (AlarmCode::SetupUnusable, key.to_string());
    let (good, deleted) = (read.is_some(), opened.is_none());
    let opened = opened.flatten();
    let author = opened.as_ref().map(|row| (row.signer.clone(), stamp));
    let known = KnownSetup {
        revision,
        value: read.unwrap_or_default(),
        author,
    };
    if !shared.policies.take_setup(agent, known) {
        return;
    }
    if good {
        tell(shared, Job::LowerAlarm { code, subject }).await;
    } else {
        tracing::error!(%key, "the setup does not verify, is older or cannot be read; its keys spare no question");
        tell(shared, Job::Alarm { code, subject }).await;
    }
    if let Some(mut row) = opened {
        row.revision = i64::try_from(revision).unwrap_or(i64::MAX);
        shared.last_signed.took(&row);
        let digest = Sha256Digest::of_bytes(&row.payload).to_string();
        let entry = Entry {
            at: shared.clock.now(),
            actor: row.signer.clone(),
            action: "policy",
            subject: key.to_string(),
            detail: json!({ "payload_digest": digest, "revision": revision }),
        };
        tell(shared, Job::Policy(row, vec![entry])).await;
    } else if deleted {
        shared.last_signed.deleted(&key);
        tell(shared, policy_value::deletion(shared, &key, revision)).await;
    }
    tell(shared, Job::Rescan).await;
}

async fn tell(shared: &Shared, job: Job) {
    if shared.jobs.send(job).await.is_err() {
        tracing::debug!("the console stops");
    }
}

/// Payload, signer and signature of a value that an operator signed.
pub(super) fn open(
    shared: &Shared,
    realm: &Uuid,
    key: &PolicyKey,
    value: &[u8],
    stamp: Timestamp,
) -> Option<(Vec<u8>, String, String)> {
    let envelope = SignedEnvelope::from_bytes(value).ok()?;
    if shared.trusted.role(envelope.key.as_str(), stamp) != Some(KeyRole::Human) {
        return None;
    }
    let payload = envelope.open(Context::Policy, realm, &key.subject()).ok()?;
    Some((payload, envelope.key.to_string(), envelope.sig.to_string()))
}
