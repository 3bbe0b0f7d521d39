//! Panic, pause, stop and bypasses, shared through `CS_POLICY` (rules, "Controls").
//!
//! A panic, pause or stop that does not verify, or was signed before the one in force, keeps automatic approvals off. Such a bypass
//! allows nothing.

mod value;

use std::sync::Arc;

use bytes::Bytes;
use countersign_wire::{AgentControl, AgentKey, PolicyKey};

pub(super) use self::value::ControlValue;
use self::value::Setting;
use super::policy_intake::{BucketEntry, Incoming, Taken};
use super::policy_value::{self, Put, TRIES};
use super::realm::{KeyStatus, TrustedKeys};
use super::waiting_calls::{Trial, WaitingCall};
use crate::Fault;
use crate::domain::controls::Controls;
use crate::domain::facts::names::signed_as;
use crate::domain::{AlarmCode, Timestamp};
use crate::runtime::{App, Role, Shared};
use crate::store::agents_waiting;
use crate::store::policy::{self, PolicyRow};

/// Who set a control that does not verify, for display.
const UNVERIFIED: &str = "unverified";
const OVERTAKEN: &str = "the bus did not answer, and somebody else has changed this since; check `countersign status` and set it again if it is still needed";

/// A panic, pause, stop or bypass as it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlSet {
    /// Revision of the key.
    pub revision: u64,
    /// Waiting calls that got the operator's own answer: terminated, or denied where the agent cannot end its run.
    pub terminated: u64,
    /// The others that waited: consoles deny them, or somebody else was first.
    pub left: u64,
}

/// The controls that this folder's console knew before its restart.
pub(crate) fn remembered(trusted: &TrustedKeys, rows: &[PolicyRow]) -> Controls {
    let mut controls = Controls::default();
    for row in rows {
        let Some(key) = PolicyKey::parse(&row.key) else {
            continue;
        };
        let said = ControlValue::read(&key, &row.payload);
        let cautious = || ControlValue::cautious(&key).map(|said| (said, String::new()));
        if let Some((said, by)) = said.or_else(cautious) {
            let at = stamp_of(&row.payload);
            let setting = Setting {
                revision: u64::try_from(row.revision).unwrap_or(0),
                by: named(trusted, row, &by),
                signer: row.signer.clone(),
                at,
            };
            said.set(&mut controls, setting);
        }
    }
    controls
}

/// The operator's clock, where the server's stamp is not kept.
fn stamp_of(payload: &[u8]) -> Timestamp {
    let value = countersign_wire::json_value(payload).unwrap_or_default();
    let at = value.get("at").and_then(|at| at.as_str());
    at.and_then(Timestamp::parse).unwrap_or(Timestamp(0))
}

/// Who set it, by the list's name of the key.
fn named(trusted: &TrustedKeys, row: &PolicyRow, by: &str) -> String {
    let listed = trusted.name(&row.signer);
    listed.map_or_else(|| by.to_owned(), |listed| signed_as(by, &listed))
}

/// Takes a value over. None when it or a later one is known.
pub(super) fn take(
    shared: &Shared,
    key: &PolicyKey,
    came: &Incoming,
    place: BucketEntry,
) -> Option<Taken> {
    let read = |row: &PolicyRow| ControlValue::read(key, &row.payload);
    let signed = match came {
        Incoming::Valid(row) => read(row).map(|(said, by)| {
            let by = named(&shared.trusted, row, &by);
            (said, by, row.signer.clone())
        }),
        _ => None,
    };
    let good = signed.is_some();
    let mut controls = shared.controls.write();
    let (said, by, signer) = signed.or_else(|| {
        let older = match came {
            Incoming::Stale(row) => read(row).map(|(said, _)| said),
            _ => None,
        };
        // A deletion too: nobody signs it, and only a signed value relaxes what holds back.
        let said = ControlValue::careful(key, &controls, older.as_ref())?;
        Some((said, UNVERIFIED.to_owned(), String::new()))
    })?;
    let detail = said.audited();
    let setting = Setting {
        revision: place.revision,
        by,
        signer,
        at: place.stored_at,
    };
    let newer = said.set(&mut controls, setting);
    newer.then_some(Taken { good, detail })
}

impl App {
    /// Turns every automatic approval in every console off, or on again. Returns once the bus has stored it.
    ///
    /// # Errors
    /// `ErrorCode::BusUnreachable`, `ErrorCode::ReadOnly`; nothing is changed then.
    pub async fn set_panic(&self, on: bool) -> Result<ControlSet, Fault> {
        let revision = self.put_control(&ControlValue::Panic(on)).await?;
        Ok(ControlSet {
            revision,
            terminated: 0,
            left: 0,
        })
    }

    /// Pauses, stops or resumes an agent. A stop also terminates the agent's pending requests; where the agent cannot
    /// end its run, they are denied. Returns once the bus has stored it.
    ///
    /// # Errors
    /// `ErrorCode::InvalidArgs` for a pause of a stopped agent, `ErrorCode::BusUnreachable`, `ErrorCode::ReadOnly`;
    /// nothing is changed then.
    pub async fn set_control(
        &self,
        agent: &AgentKey,
        state: AgentControl,
    ) -> Result<ControlSet, Fault> {
        let said = ControlValue::Agent(agent.clone(), state);
        let revision = self.put_control(&said).await?;
        let (terminated, left) = match state {
            AgentControl::Stopped => self.terminate_waiting(agent).await?,
            AgentControl::Running | AgentControl::Paused => (0, 0),
        };
        Ok(ControlSet {
            revision,
            terminated,
            left,
        })
    }

    /// The waiting calls that would be approved at once if panic were off, or this agent neither paused nor stopped.
    pub async fn waiting_calls_without(
        &self,
        agent: Option<&AgentKey>,
    ) -> Result<Vec<WaitingCall>, Fault> {
        let before = self.controls().await?;
        let said = match agent {
            Some(agent) => ControlValue::Agent(agent.clone(), AgentControl::Running),
            None => ControlValue::Panic(false),
        };
        let mut after = before.clone();
        let setting = Setting {
            revision: u64::MAX,
            by: String::new(),
            signer: String::new(),
            at: self.now(),
        };
        said.set(&mut after, setting);
        let asked = agents_waiting::waiting(self.reader()).await?.into_iter();
        let mut workspaces: Vec<_> = asked.filter_map(|(ws, ..)| ws.parse().ok()).collect();
        workspaces.dedup();
        let mut calls = Vec::new();
        for ws in workspaces {
            let in_force = self.policy_in_force(&ws).await?;
            let was = Trial::new(Arc::clone(&in_force), before.clone());
            let is = Trial::new(in_force, after.clone());
            calls.extend(self.newly_approved(&ws, Some(was), is).await?);
        }
        Ok(calls)
    }

    /// The controls as this folder's console knows them, without the bypasses of those who count no longer: they let
    /// nothing run.
    pub async fn controls(&self) -> Result<Controls, Fault> {
        let mut controls = match self.role() {
            Role::Console => self.inner.shared.controls.read().clone(),
            _ => self.controls_of_the_store().await?,
        };
        let trusted = &self.inner.shared.trusted;
        controls.end_bypasses(|signer| trusted.standing(signer) == KeyStatus::Active);
        Ok(controls)
    }

    async fn controls_of_the_store(&self) -> Result<Controls, Fault> {
        let mut controls = remembered(
            &self.inner.shared.trusted,
            &policy::controls(self.reader()).await?,
        );
        // What does not verify leaves no row; the console of this folder reported it, and counts it as set.
        for alarm in self.alarms().await? {
            if alarm.code == AlarmCode::ControlUnverified.as_str()
                && let Some(said) = PolicyKey::parse(&alarm.subject)
                    .and_then(|key| ControlValue::careful(&key, &controls, None))
            {
                let setting = Setting {
                    revision: u64::MAX,
                    by: UNVERIFIED.to_owned(),
                    signer: String::new(),
                    at: Timestamp(alarm.at),
                };
                said.set(&mut controls, setting);
            }
        }
        Ok(controls)
    }

    /// Writes over the current revision: the last operator decides. A value that was not seen, or that came after a try
    /// which the bus did not answer, is never overwritten.
    pub(super) async fn put_control(&self, said: &ControlValue) -> Result<u64, Fault> {
        let writer = self.policy_writer().await?;
        self.may_grant(said)?;
        self.may_end(said)?;
        let (key, by) = (said.key(), &self.identity().operator);
        let mut unanswered: Option<(u64, Bytes)> = None;
        let mut refused = None;
        for attempt in 0..TRIES {
            let expected = policy_value::revision(&writer.bus, &key).await?;
            if let Some((before, value)) = &unanswered
                && *before != expected
            {
                // It may have been stored and replaced: what came after it is the later word.
                let present = policy_value::revision_of(&writer.bus, &key, value).await?;
                return present.ok_or_else(|| Fault::bus_unreachable(OVERTAKEN.to_owned()));
            }
            // After the revision: what somebody writes meanwhile is refused by it.
            self.keeps_the_stop(&writer, said).await?;
            let payload = |at: countersign_wire::Timestamp| said.payload(by, at);
            match writer.put(&key, expected, payload).await? {
                Put::Stored(revision) => return Ok(revision),
                Put::Conflict => {}
                Put::Rejected(why) => refused = Some(why),
                Put::Unknown(value) => unanswered = Some((expected, value)),
            }
            policy_value::pause(attempt).await;
        }
        Err(Fault::bus_unreachable(refused.unwrap_or_else(|| {
            "the shared policy could not be written; check that this console may write CS_POLICY"
                .to_owned()
        })))
    }
}
