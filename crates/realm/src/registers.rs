//! The registers of the shared policy: `take` is the way in, `update` the way out.
//!
//! A value counts only if an operator in force has signed it, after the value in force, and may relax what it relaxes.

mod book;
mod bucket;
mod freshness;
mod kept;
pub mod kind;
mod news;
mod register;
mod signed;
#[cfg(test)]
mod tests;
mod write_back;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use countersign_wire::{AgentKey, PolicyKey, Timestamp as Signed, WorkspaceName};
use parking_lot::RwLock;
use tokio::sync::watch;
use uuid::Uuid;

use self::book::{Book, Held};
pub use self::bucket::{Bucket, Current, Manner, Next, revision};
pub use self::kept::{Kept, last_read};
pub use self::news::News;
use self::register::Incoming;
pub use self::register::{Entry, Register};
use self::signed::{Found, Place};
pub use self::signed::{bytes_of, sealed};
use crate::bus::PolicyChange;
use crate::domain::controls::Controls;
use crate::domain::facts::names::signed_as;
use crate::domain::{AlarmCode, Timestamp};
use crate::in_force::InForce;
use crate::setup::schema_of;
use crate::signers::Signers;
use crate::store::policy::PolicyRow;

/// Calls a method for the kind of a key; none for a key that no register has.
macro_rules! of_kind {
    ($key:expr, $on:ident.$run:ident($($more:expr),*)) => {
        match $key {
            countersign_wire::PolicyKey::Panic => $on.$run::<$crate::controls::Panic>(&(), $($more),*),
            countersign_wire::PolicyKey::Pause(agent) => $on.$run::<$crate::controls::Pause>(agent, $($more),*),
            countersign_wire::PolicyKey::Bypass(agent) => $on.$run::<$crate::controls::Bypass>(agent, $($more),*),
            countersign_wire::PolicyKey::Rules(workspace) => $on.$run::<$crate::rules::Rules>(workspace, $($more),*),
            countersign_wire::PolicyKey::Setup(agent) => $on.$run::<$crate::setup::Setup>(agent, $($more),*),
            _ => None,
        }
    };
}
use of_kind;

/// The shared policy as this console knows it.
#[derive(Default)]
pub struct Registers {
    book: RwLock<Book>,
    controls: Arc<RwLock<Controls>>,
    /// Grows with everything that may change what becomes of a waiting request.
    generation: AtomicU64,
    stored: watch::Sender<()>,
}

impl Registers {
    /// Takes a change of the bucket over, first for who asks by it. None where it or a later one is known, and for a key
    /// that no register has.
    pub async fn take<S>(
        self: &Arc<Self>,
        signers: &S,
        realm: &Uuid,
        change: &PolicyChange,
    ) -> Option<News>
    where
        S: Signers + Clone + Send + 'static,
    {
        let key = PolicyKey::parse(&change.key)?;
        if !matches!(key, PolicyKey::Rules(_)) {
            return self.take_at_once((signers, realm), &key, change);
        }
        // Conditions are compiled, which takes its time.
        let taking = {
            let (registers, signers, realm) = (Arc::clone(self), signers.clone(), *realm);
            let (key, change) = (key.clone(), change.clone());
            move || registers.take_at_once((&signers, &realm), &key, &change)
        };
        match tokio::task::spawn_blocking(taking).await {
            Ok(news) => news,
            // What this program fails to read counts as what nobody signed.
            Err(_) => {
                let unread = PolicyChange {
                    value: Some(Bytes::new()),
                    ..change.clone()
                };
                self.take_at_once((signers, realm), &key, &unread)
            }
        }
    }

    fn take_at_once(
        &self,
        by: (&impl Signers, &Uuid),
        key: &PolicyKey,
        change: &PolicyChange,
    ) -> Option<News> {
        of_kind!(key, self.take_as(key, by, change))
    }

    fn take_as<K: Held>(
        &self,
        key: &K::Key,
        name: &PolicyKey,
        (signers, realm): (&impl Signers, &Uuid),
        change: &PolicyChange,
    ) -> Option<News> {
        let place = Place::of(change);
        let found = Found::of(signers, (realm, name), (change.value.as_deref(), place));
        let read = found.payload().and_then(K::read);
        let mut book = self.book.write();
        let came = book.judge::<K>((key, name), (found, place));
        let by = |row: &PolicyRow| named(signers, row);
        let next = K::register(&book).next(key, (&came, read), (place, by));
        let good = next.bad.is_none();
        let detail = K::audited(good.then_some(&next.value), &next.value);
        if !K::register_mut(&mut book).set(key, next) {
            return None;
        }
        match &came {
            Incoming::Valid(row) => book.freshness.took(row),
            Incoming::Stale(row) => book.freshness.refused(row),
            Incoming::Deleted if good => book.freshness.deleted(name),
            Incoming::Deleted | Incoming::Invalid => {}
        }
        self.project(&mut book, name);
        Some(News::of((name, K::ALARM), came, (good, detail), place))
    }

    /// What a change of the bucket is; nothing is taken over.
    fn judge(
        &self,
        by: (&impl Signers, &Uuid),
        key: &PolicyKey,
        change: &PolicyChange,
    ) -> Incoming {
        of_kind!(key, self.judge_as(key, by, change)).unwrap_or(Incoming::Invalid)
    }

    fn judge_as<K: Held>(
        &self,
        key: &K::Key,
        name: &PolicyKey,
        (signers, realm): (&impl Signers, &Uuid),
        change: &PolicyChange,
    ) -> Option<Incoming> {
        let place = Place::of(change);
        let found = Found::of(signers, (realm, name), (change.value.as_deref(), place));
        let book = self.book.read();
        Some(book.judge::<K>((key, name), (found, place)))
    }

    /// When the value in force of a key was signed.
    fn signed_at(&self, key: &str) -> Option<Signed> {
        self.book.read().freshness.last_at(key)
    }

    /// The console of this folder raised this alarm of a key: what does not verify leaves no row.
    pub fn alarmed(&self, key: &PolicyKey, (code, since): (AlarmCode, Timestamp)) {
        of_kind!(key, self.alarmed_as(key, code, since));
    }

    fn alarmed_as<K: Held>(
        &self,
        key: &K::Key,
        name: &PolicyKey,
        code: AlarmCode,
        since: Timestamp,
    ) -> Option<()> {
        if code != K::ALARM {
            return None;
        }
        let mut book = self.book.write();
        let next = K::register(&book).unverified(key, since);
        K::register_mut(&mut book).set(key, next);
        self.project(&mut book, name);
        Some(())
    }

    fn project(&self, book: &mut Book, key: &PolicyKey) {
        match key {
            PolicyKey::Rules(workspace) => book.rebuild(workspace),
            PolicyKey::Setup(agent) => book.rebuild(&agent.workspace),
            _ => *self.controls.write() = book.controls(),
        }
        self.touch();
    }

    /// An agent says which setup keys it has; keys of a wrong declaration are none.
    pub fn declared(&self, agent: &AgentKey, declared: Option<&str>) {
        let schema = declared.and_then(schema_of).unwrap_or_default();
        let mut book = self.book.write();
        if book.schemas.get(agent) == Some(&schema) {
            return;
        }
        book.schemas.insert(agent.clone(), schema);
        if book.setups.get(agent).is_some() {
            book.rebuild(&agent.workspace);
            self.touch();
        }
    }

    /// The bucket counts its revisions anew: whatever it brings is newer than what is known, which stays in force until
    /// then.
    pub fn forget_revisions(&self) {
        let mut book = self.book.write();
        book.forget_revisions();
        *self.controls.write() = book.controls();
    }

    /// Panic, pauses, stops and bypasses.
    pub fn controls(&self) -> &Arc<RwLock<Controls>> {
        &self.controls
    }

    /// What a workspace's requests are judged by; none where it has neither rules nor setup.
    pub fn of(&self, workspace: &WorkspaceName) -> Option<Arc<InForce>> {
        self.book.read().in_force.get(workspace).map(Arc::clone)
    }

    /// Whether no workspace has anything to judge by.
    pub fn is_empty(&self) -> bool {
        let book = self.book.read();
        let mut all = book.in_force.values();
        all.all(|of| of.set.is_empty() && of.replaced.is_none())
    }

    /// How many rules approve at this time, in all workspaces; what was replaced approves nothing.
    pub fn approving(&self, now: Timestamp) -> usize {
        let book = self.book.read();
        let sets = book.in_force.values().filter(|of| of.replaced.is_none());
        sets.flat_map(|of| of.set.rules())
            .filter(|of| of.rule.approves(now))
            .count()
    }

    /// Another number after every change: what was judged before is judged again.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    fn touch(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// The store has other values than before.
    pub fn are_stored(&self) {
        self.stored.send_replace(());
    }
}

/// Who signed a value, by the realm's name of the key.
fn named(signers: &impl Signers, row: &PolicyRow) -> String {
    let value = countersign_wire::json_value(&row.payload).unwrap_or_default();
    let by = value["by"].as_str().unwrap_or_default();
    let listed = signers.name(&row.signer);
    listed.map_or_else(|| by.to_owned(), |listed| signed_as(by, &listed))
}
