//! What is known under all keys, and what follows from it. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use countersign_rules::setup::SetupSchema;
use countersign_wire::{AgentKey, PolicyKey, WorkspaceName};

use super::freshness::Freshness;
use super::kind::{Around, Kind, workspace_of};
use super::register::{Entry, Incoming, Register};
use super::signed::{Found, Place};
use crate::controls::{Bypass, Panic, Pause};
use crate::domain::Timestamp;
use crate::domain::controls::{self, ControlSetting, Controls};
use crate::in_force::InForce;
use crate::rules::Rules;
use crate::setup::Setup;
use crate::store::policy::PolicyRow;

/// The registers, and what requests are judged by.
#[derive(Default)]
pub(super) struct Book {
    pub(super) panic: Register<Panic>,
    pub(super) pauses: Register<Pause>,
    pub(super) bypasses: Register<Bypass>,
    pub(super) rules: Register<Rules>,
    pub(super) setups: Register<Setup>,
    pub(super) freshness: Freshness,
    /// What agents declare of their setup keys.
    pub(super) schemas: BTreeMap<AgentKey, SetupSchema>,
    pub(super) in_force: BTreeMap<WorkspaceName, Arc<InForce>>,
}

/// A kind that has its register in the book.
pub(super) trait Held: Kind + Sized {
    fn register(book: &Book) -> &Register<Self>;
    fn register_mut(book: &mut Book) -> &mut Register<Self>;
}

macro_rules! held {
    ($($kind:ident => $field:ident),* $(,)?) => { $(
        impl Held for $kind {
            fn register(book: &Book) -> &Register<Self> {
                &book.$field
            }

            fn register_mut(book: &mut Book) -> &mut Register<Self> {
                &mut book.$field
            }
        }
    )* };
}

held! { Panic => panic, Pause => pauses, Bypass => bypasses, Rules => rules, Setup => setups }

impl Book {
    fn around(&self, key: &PolicyKey, at: Timestamp) -> Around<'_> {
        let rules = workspace_of(key).and_then(|workspace| self.rules.get(workspace));
        let rules = rules.map_or(&[][..], |known| &known.value);
        Around { rules, at }
    }

    /// What a value of the bucket is.
    pub(super) fn judge<K: Held>(
        &self,
        (key, name): (&K::Key, &PolicyKey),
        (found, place): (Found, Place),
    ) -> Incoming {
        let lets = |row: &PolicyRow| self.freshness.lets(row, place.stored_at);
        let last = K::register(self).value(key);
        let around = self.around(name, place.stored_at);
        Incoming::of::<K>(found, lets, (key, &last), around)
    }

    /// What the workspace's requests are judged by from now on.
    pub(super) fn rebuild(&mut self, workspace: &WorkspaceName) {
        let rules = self.rules.get(workspace);
        let in_force = InForce::of(workspace, rules, &self.setups, &self.schemas);
        if let Some(in_force) = in_force {
            self.in_force.insert(workspace.clone(), Arc::new(in_force));
        }
    }

    pub(super) fn controls(&self) -> Controls {
        fn setting<V, T>(known: &Entry<V>, state: T) -> ControlSetting<T> {
            ControlSetting {
                state,
                revision: known.revision,
                by: known.by.clone(),
                at: known.at,
            }
        }
        let mut controls = Controls::default();
        for (_, known) in self.panic.entries() {
            controls.set_panic(setting(known, known.value));
        }
        for (agent, known) in self.pauses.entries() {
            controls.set_agent(agent.clone(), setting(known, known.value));
        }
        for (agent, known) in self.bypasses.entries() {
            let signer = known.author.as_ref().map(|(signer, _)| signer.clone());
            let bypass = known.value.as_ref().map(|grant| {
                let until = Timestamp::from(grant.until.get());
                let signer = signer.unwrap_or_default();
                controls::Bypass::new(grant.up_to, until, signer, known.at)
            });
            controls.set_bypass(agent.clone(), setting(known, bypass));
        }
        controls
    }

    /// The bucket counts its revisions anew.
    pub(super) fn forget_revisions(&mut self) {
        self.panic.forget_revisions();
        self.pauses.forget_revisions();
        self.bypasses.forget_revisions();
        self.rules.forget_revisions();
        self.setups.forget_revisions();
    }
}
