//! The registers of the shared policy in this process: what takes a change of them in, and what makes one.

use std::sync::Arc;

use countersign_realm::{Bucket, InForce, News, Registers, Signers};
use countersign_wire::realm::Term;
use countersign_wire::{KeyRole, PolicyKey, WorkspaceName};
use serde_json::Value;
use uuid::Uuid;

use super::alarms;
use super::job::Job;
use super::realm::write::refresh;
use super::realm::{KeyStatus, TrustedKeys};
use crate::Fault;
use crate::bus::{Bus, PolicyChange};
use crate::domain::controls::Controls;
use crate::domain::{AlarmCode, Timestamp};
use crate::runtime::{App, Role, Shared};
use crate::store::audit::Entry;
use crate::store::policy::{self, PolicyRow};
use crate::store::{agents, policy_history};

impl Signers for TrustedKeys {
    fn term(&self, key: &str, revision: u64) -> Option<Term> {
        self.register_term(key, revision)
    }

    fn name(&self, key: &str) -> Option<String> {
        self.name(key)
    }

    fn is_operator(&self, key: &str) -> bool {
        self.role(key) == Some(KeyRole::Human)
    }
}

/// Takes a change over: first for who asks by it, then into the store.
pub(super) async fn changed(shared: &Shared, realm: &Uuid, change: &PolicyChange) {
    let news = shared.registers.take(&shared.trusted, realm, change);
    // A value that was replaced is not reported: the bucket is read from its beginning after each connect.
    let Some(News {
        key,
        alarm,
        good,
        kept,
    }) = news.await
    else {
        return;
    };
    let subject = key.to_string();
    let job = match good {
        true => alarms::lower(alarm, subject),
        false => {
            tracing::error!(%key, "it does not verify, cannot be read, or is older than the one in force");
            alarms::raise(alarm, subject)
        }
    };
    shared.notify(job).await;
    if let Some((row, detail)) = kept {
        shared.notify(keep(shared, row, detail)).await;
    }
    // What waits is judged again, and of a stopped agent looked at.
    shared.notify(Job::Rescan).await;
}

/// Keeps a value that was taken over, with what the audit log says of it. A deletion is kept too: else whoever reads the
/// store would believe the value before.
fn keep(shared: &Shared, row: PolicyRow, detail: Value) -> Job {
    let actor = match row.is_deleted() {
        true => shared.identity.auto_key().to_string(),
        false => row.signer.clone(),
    };
    let entry = Entry {
        at: shared.clock.now(),
        actor,
        action: "policy",
        subject: row.key.clone(),
        detail,
    };
    Job::kept(move |writer, batch| {
        // Another process of this folder may have written it, and said so in the audit log.
        if policy::put(batch.tx, &row)? {
            policy_history::add(batch.tx, &row)?;
            batch.effects.audit.push(entry.clone());
        }
        batch.effects.status = true;
        let registers = Arc::clone(&writer.judge.registers);
        batch.reply(move || registers.are_stored());
        // Who may answer, and what is to be denied, may hang on it.
        writer.next_due = None;
        Ok(())
    })
}

impl App {
    /// The bucket of a connection.
    pub(super) fn bucket_of(&self, bus: &Bus, realm: Uuid) -> Bucket<'_, TrustedKeys> {
        let shared = &self.inner.shared;
        Bucket {
            bus: bus.clone(),
            realm,
            registers: &shared.registers,
            signers: &shared.trusted,
            clock: &*shared.clock,
            reader: &shared.reader,
        }
    }

    /// The bucket of the realm, once the bus was compared.
    pub(super) async fn bucket(&self) -> Result<Bucket<'_, TrustedKeys>, Fault> {
        let away = || {
            Fault::bus_unreachable(
                "the bus cannot be reached; nothing was changed, try again when it is back",
            )
        };
        self.knows_the_bus().await?;
        let bus = self.bus().ok_or_else(away)?;
        let realm = self.inner.shared.realm().ok_or_else(away)?;
        Ok(self.bucket_of(&bus, realm))
    }

    /// The same for this console's operator to change.
    ///
    /// # Errors
    /// `ErrorCode::ReadOnly` for one whose key is pending or retired: what it signs counts nowhere, and would put what
    /// others signed out of force. `ErrorCode::BusUnreachable`.
    pub(super) async fn bucket_to_sign(&self) -> Result<Bucket<'_, TrustedKeys>, Fault> {
        let bucket = self.bucket().await?;
        // A process beside the console knows the log as of its start.
        if self.role() != Role::Console {
            refresh(&self.inner.shared, &bucket.bus).await?;
        }
        let own = self.identity().human_key();
        match self.why_not_sign(own.as_str()) {
            Some(why) => Err(Fault::read_only(why)),
            None => Ok(bucket),
        }
    }

    /// The rules and the setup of a workspace with who signed them, as this folder's console knows them.
    pub(super) async fn policy_in_force(
        &self,
        workspace: &WorkspaceName,
    ) -> Result<Arc<InForce>, Fault> {
        let of_workspace = |key: &PolicyKey| match key {
            PolicyKey::Rules(of) => of == workspace,
            PolicyKey::Setup(agent) => agent.workspace == *workspace,
            _ => false,
        };
        let known = self.registers(of_workspace).await?.of(workspace);
        let failed = || {
            Fault::failed("the rules cannot be prepared; check them with `countersign rules list`")
        };
        let nothing = || InForce::nothing().map(Arc::new);
        known.or_else(nothing).ok_or_else(failed)
    }

    /// The controls as this folder's console knows them, without the bypasses of those who count no longer: they let
    /// nothing run.
    pub async fn controls(&self) -> Result<Controls, Fault> {
        let is_control = |key: &PolicyKey| {
            matches!(
                key,
                PolicyKey::Panic | PolicyKey::Pause(_) | PolicyKey::Bypass(_)
            )
        };
        let registers = self.registers(is_control).await?;
        let mut controls = registers.controls().read().clone();
        let trusted = &self.inner.shared.trusted;
        controls.end_bypasses(|signer| trusted.standing(signer) == KeyStatus::Active);
        Ok(controls)
    }

    /// The registers as this folder's console knows them: a process beside it reads what it wrote down of the keys that
    /// are `wanted`.
    async fn registers(
        &self,
        wanted: impl Fn(&PolicyKey) -> bool,
    ) -> Result<Arc<Registers>, Fault> {
        let shared = &self.inner.shared;
        if self.role() == Role::Console {
            return Ok(Arc::clone(&shared.registers));
        }
        let kept = Registers::kept(self.reader(), &wanted).await?;
        let declared = agents::setup_schemas(self.reader()).await?;
        let trusted = shared.trusted.clone();
        let preparing = move || Registers::remembered(&trusted, &kept, &declared);
        let registers = tokio::task::spawn_blocking(preparing).await;
        let registers = registers.map_err(|error| Fault::failed(format!("the rules: {error}")))?;
        for alarm in self.alarms().await? {
            let code = AlarmCode::from_word(&alarm.code);
            let key = PolicyKey::parse(&alarm.subject).filter(&wanted);
            if let (Some(code), Some(key)) = (code, key) {
                registers.alarmed(&key, (code, Timestamp(alarm.at)));
            }
        }
        Ok(Arc::new(registers))
    }
}
