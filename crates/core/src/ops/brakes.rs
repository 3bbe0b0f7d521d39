//! Panic, pause, stop and bypasses, shared through `CS_POLICY` (rules, "Brakes").
//!
//! Refuses to read a brake that does not verify, or was signed before the one in force, as none: automatic approvals
//! then stay off. Such a bypass lets nothing run.

use std::time::Duration;

use bytes::Bytes;
use countersign_wire::{
    AgentBrake, AgentKey, BypassGrant, BypassValue, Context, KeyRole, PanicValue, PauseValue,
    PolicyKey, SignedEnvelope, parse_bypass, parse_panic, parse_pause,
};
use serde_json::json;
use uuid::Uuid;

use super::job::Job;
use super::last_signed::next_time;
use super::policy_value;
use crate::bus::{Bus, PolicyChange, PublishOutcome};
use crate::domain::brakes::{Brakes, Bypass, SetBrake};
use crate::domain::{AlarmCode, Timestamp};
use crate::error::OpError;
use crate::runtime::{App, Shared};
use crate::store::audit::Entry;
use crate::store::policy::{self, PolicyRow};

const TRIES: u32 = 10;
/// Who set a brake that does not verify, for display.
const UNVERIFIED: &str = "unverified";
const OVERTAKEN: &str = "the bus did not answer, and somebody else has changed this since; look with `countersign status` and say it again if it must stand";

/// A brake as it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrakeSet {
    /// Revision of the key.
    pub revision: u64,
    /// Waiting calls that got the operator's own answer: terminated, or denied where the agent cannot end its run.
    pub terminated: u64,
    /// The others that waited: consoles deny them, or somebody else was first.
    pub left: u64,
}

/// What a payload sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    Panic(bool),
    Agent(AgentKey, AgentBrake),
    Bypass(AgentKey, Option<BypassGrant>),
}

/// Who said it, and where it stands.
struct Place {
    revision: u64,
    by: String,
    signer: String,
    at: Timestamp,
}

impl Said {
    pub(super) fn key(&self) -> PolicyKey {
        match self {
            Self::Panic(_) => PolicyKey::Panic,
            Self::Agent(agent, _) => PolicyKey::Pause(agent.clone()),
            Self::Bypass(agent, _) => PolicyKey::Bypass(agent.clone()),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Panic(true) | Self::Bypass(_, Some(_)) => "on",
            Self::Panic(false) | Self::Bypass(_, None) => "off",
            Self::Agent(_, AgentBrake::Running) => "running",
            Self::Agent(_, AgentBrake::Paused) => "paused",
            Self::Agent(_, AgentBrake::Stopped) => "stopped",
        }
    }

    fn payload(&self, by: &str, at: Timestamp) -> Result<Vec<u8>, serde_json::Error> {
        let (v, by, at) = (
            1,
            by.to_owned(),
            countersign_wire::Timestamp::new(at.into()),
        );
        match self {
            Self::Panic(on) => serde_json::to_vec(&PanicValue { v, on: *on, by, at }),
            Self::Agent(_, state) => {
                let state = *state;
                serde_json::to_vec(&PauseValue { v, state, by, at })
            }
            Self::Bypass(_, grant) => {
                let grant = grant.clone();
                serde_json::to_vec(&BypassValue { v, grant, by, at })
            }
        }
    }

    fn read(key: &PolicyKey, payload: &[u8]) -> Option<(Self, String)> {
        match key {
            PolicyKey::Panic => {
                let value = parse_panic(payload).ok()?;
                Some((Self::Panic(value.on), value.by))
            }
            PolicyKey::Pause(agent) => {
                let value = parse_pause(payload).ok()?;
                Some((Self::Agent(agent.clone(), value.state), value.by))
            }
            PolicyKey::Bypass(agent) => {
                let value = parse_bypass(payload).ok()?;
                Some((Self::Bypass(agent.clone(), value.grant), value.by))
            }
            _ => None,
        }
    }

    /// What counts where nothing can be believed, given what counted before; `refused` says what was signed, and is
    /// too old to count. A stop stays one.
    fn careful(key: &PolicyKey, brakes: &Brakes, refused: Option<&Self>) -> Option<Self> {
        match (Self::cautious(key)?, refused) {
            (Self::Agent(agent, _), Some(Self::Agent(_, AgentBrake::Stopped))) => {
                Some(Self::Agent(agent, AgentBrake::Stopped))
            }
            (Self::Agent(agent, _), _) if brakes.stop_of(&agent).is_some() => {
                Some(Self::Agent(agent, AgentBrake::Stopped))
            }
            (cautious, _) => Some(cautious),
        }
    }

    fn cautious(key: &PolicyKey) -> Option<Self> {
        match key {
            PolicyKey::Panic => Some(Self::Panic(true)),
            PolicyKey::Pause(agent) => Some(Self::Agent(agent.clone(), AgentBrake::Paused)),
            PolicyKey::Bypass(agent) => Some(Self::Bypass(agent.clone(), None)),
            _ => None,
        }
    }

    /// What the audit log keeps of it.
    fn audited(&self) -> serde_json::Value {
        match self {
            Self::Bypass(_, Some(grant)) => {
                json!({ "state": "on", "up_to": grant.up_to, "until": grant.until })
            }
            other => json!({ "state": other.word() }),
        }
    }

    fn set(self, brakes: &mut Brakes, place: Place) -> bool {
        match self {
            Self::Panic(state) => brakes.set_panic(place.of(state)),
            Self::Agent(agent, state) => brakes.set_agent(agent, place.of(state)),
            Self::Bypass(agent, grant) => {
                let (signer, at) = (place.signer.clone(), place.at);
                let bypass = grant.map(|grant| {
                    let until = Timestamp::from(grant.until.get());
                    Bypass::new(grant.up_to, until, signer, at)
                });
                brakes.set_bypass(agent, place.of(bypass))
            }
        }
    }
}

impl Place {
    fn of<T>(self, state: T) -> SetBrake<T> {
        SetBrake {
            state,
            revision: self.revision,
            by: self.by,
            at: self.at,
        }
    }
}

/// The brakes that this folder's console knew in its earlier life.
pub(crate) fn remembered(rows: &[PolicyRow]) -> Brakes {
    let mut brakes = Brakes::default();
    for row in rows {
        let Some(key) = PolicyKey::parse(&row.key) else {
            continue;
        };
        let said = Said::read(&key, &row.payload);
        let cautious = || Said::cautious(&key).map(|said| (said, String::new()));
        if let Some((said, by)) = said.or_else(cautious) {
            let place = Place {
                revision: u64::try_from(row.revision).unwrap_or(0),
                by,
                signer: row.signer.clone(),
                at: stamp_of(&row.payload),
            };
            said.set(&mut brakes, place);
        }
    }
    brakes
}

/// The operator's clock, where the server's stamp is not kept.
fn stamp_of(payload: &[u8]) -> Timestamp {
    let value = countersign_wire::json_value(payload).unwrap_or_default();
    let at = value.get("at").and_then(|at| at.as_str());
    at.and_then(Timestamp::parse).unwrap_or(Timestamp(0))
}

/// Takes a change of a brake over: at once for who asks, then into the store.
pub(crate) async fn changed(shared: &Shared, realm: &Uuid, key: &PolicyKey, change: &PolicyChange) {
    let stamp = Timestamp::from(change.stamp);
    let opened = change
        .value
        .as_deref()
        .map(|value| open(shared, realm, key, value, stamp));
    let (said, by, row) = match opened.flatten() {
        Some((said, by, row)) if shared.last_signed.lets(&row, stamp) => {
            (Some(said), by, Some(row))
        }
        // A deletion too: nobody signs it, and what holds back is only let go by who signs for it.
        other => {
            let refused = other.as_ref().map(|(said, ..)| said);
            let brakes = shared.brakes.read();
            let said = brakes
                .ok()
                .and_then(|brakes| Said::careful(key, &brakes, refused));
            (said, UNVERIFIED.to_owned(), None)
        }
    };
    let verifies = row.is_some();
    let Some(said) = said else { return };
    let mut detail = said.audited();
    let place = Place {
        revision: change.revision,
        by,
        signer: row
            .as_ref()
            .map(|row| row.signer.clone())
            .unwrap_or_default(),
        at: stamp,
    };
    let newer = match shared.brakes.write() {
        Ok(mut brakes) => said.set(&mut brakes, place),
        Err(_) => return,
    };
    // What a later value has replaced is told by nobody: the bucket is read from its beginning after each connect.
    if !newer {
        return;
    }
    let (code, subject) = (AlarmCode::BrakeUnverified, key.to_string());
    if verifies {
        tell(shared, Job::LowerAlarm { code, subject }).await;
    } else {
        tracing::error!(%key, "a brake does not verify, or is older than the one in force; it counts as set");
        tell(shared, Job::Alarm { code, subject }).await;
    }
    if let Some(mut row) = row {
        row.revision = i64::try_from(change.revision).unwrap_or(i64::MAX);
        shared.last_signed.took(&row);
        let digest = countersign_wire::Sha256Digest::of_bytes(&row.payload).to_string();
        detail["payload_digest"] = json!(digest);
        detail["revision"] = json!(row.revision);
        let entry = Entry {
            at: shared.clock.now(),
            actor: row.signer.clone(),
            action: "policy",
            subject: key.to_string(),
            detail,
        };
        tell(shared, Job::Policy(row, vec![entry])).await;
    }
    shared.policies.touch();
    // What waits of a stopped agent is looked at.
    tell(shared, Job::Rescan).await;
}

async fn tell(shared: &Shared, job: Job) {
    if shared.jobs.send(job).await.is_err() {
        tracing::debug!("the console stops");
    }
}

pub(super) fn open(
    shared: &Shared,
    realm: &Uuid,
    key: &PolicyKey,
    value: &[u8],
    stamp: Timestamp,
) -> Option<(Said, String, PolicyRow)> {
    let envelope = SignedEnvelope::from_bytes(value).ok()?;
    if shared.trusted.role(envelope.key.as_str(), stamp) != Some(KeyRole::Human) {
        return None;
    }
    let payload = envelope.open(Context::Policy, realm, &key.subject()).ok()?;
    let (said, by) = Said::read(key, &payload)?;
    let row = PolicyRow {
        key: key.to_string(),
        revision: 0,
        payload,
        signer: envelope.key.to_string(),
        sig: envelope.sig.to_string(),
    };
    Some((said, by, row))
}

impl App {
    /// Turns every automatic approval in every console off, or lets them be given again. It stands on
    /// the bus when this returns.
    ///
    /// # Errors
    /// [`OpError::BusUnreachable`], [`OpError::ReadOnly`]; nothing is changed then.
    pub async fn set_panic(&self, on: bool) -> Result<BrakeSet, OpError> {
        let revision = self.put_brake(&Said::Panic(on)).await?;
        Ok(BrakeSet {
            revision,
            terminated: 0,
            left: 0,
        })
    }

    /// Pauses, stops or resumes an agent. A stop also terminates what waits of it; where the agent cannot
    /// end its run, it is denied. It stands on the bus when this returns.
    ///
    /// # Errors
    /// [`OpError::InvalidArgs`] for a pause of a stopped agent, [`OpError::BusUnreachable`],
    /// [`OpError::ReadOnly`]; nothing is changed then.
    pub async fn set_brake(
        &self,
        agent: &AgentKey,
        state: AgentBrake,
    ) -> Result<BrakeSet, OpError> {
        let said = Said::Agent(agent.clone(), state);
        let revision = self.put_brake(&said).await?;
        let (terminated, left) = match state {
            AgentBrake::Stopped => self.terminate_waiting(agent).await?,
            AgentBrake::Running | AgentBrake::Paused => (0, 0),
        };
        Ok(BrakeSet {
            revision,
            terminated,
            left,
        })
    }

    /// The brakes as this folder's console knows them.
    ///
    /// # Errors
    /// [`OpError::Store`].
    pub async fn brakes(&self) -> Result<Brakes, OpError> {
        if self.role() == crate::runtime::Role::Console
            && let Ok(brakes) = self.inner.shared.brakes.read()
        {
            return Ok(brakes.clone());
        }
        let mut brakes = remembered(&policy::brakes(self.reader()).await?);
        // What does not verify leaves no row; the console of this folder told of it, and counts it as set.
        for alarm in self.alarms().await? {
            if alarm.code == AlarmCode::BrakeUnverified.as_str()
                && let Some(said) = PolicyKey::parse(&alarm.subject)
                    .and_then(|key| Said::careful(&key, &brakes, None))
            {
                let place = Place {
                    revision: u64::MAX,
                    by: UNVERIFIED.to_owned(),
                    signer: String::new(),
                    at: Timestamp(alarm.at),
                };
                said.set(&mut brakes, place);
            }
        }
        Ok(brakes)
    }

    /// Writes over whatever revision stands: the last operator decides, and none writes over a value
    /// that was not seen, or that came after a try which the bus did not answer.
    pub(super) async fn put_brake(&self, said: &Said) -> Result<u64, OpError> {
        let shared = &self.inner.shared;
        let away =
            || OpError::BusUnreachable("the bus cannot be reached; nothing was changed".to_owned());
        self.knows_the_bus().await?;
        let (bus, realm) = (
            self.bus().ok_or_else(away)?,
            shared.realm().ok_or_else(away)?,
        );
        let key = said.key();
        let name = key.to_string();
        let mut unanswered: Option<(u64, Bytes)> = None;
        for attempt in 0..TRIES {
            let expected = policy_value::revision(&bus, &key).await?;
            if let Some((before, value)) = &unanswered
                && *before != expected
            {
                // It may have been stored and replaced: what came after it is the later word.
                return match stored(&bus, &name, value).await? {
                    Some(revision) => Ok(revision),
                    None => Err(OpError::BusUnreachable(OVERTAKEN.to_owned())),
                };
            }
            self.keeps_the_stop(&bus, &realm, said).await?;
            // After the revision: what somebody writes meanwhile is refused by it, and is not signed later than this.
            let at = next_time(shared, &bus, &key).await?;
            let value = self.sealed(said, &realm, at.get().into())?;
            match bus.policy_put(&name, expected, value.clone()).await? {
                PublishOutcome::Stored { seq } => {
                    self.seen_by_console(&name, seq).await;
                    return Ok(seq);
                }
                PublishOutcome::Refused { .. } => {}
                PublishOutcome::NoAnswer => {
                    // It may be stored all the same.
                    if let Some(revision) = stored(&bus, &name, &value).await? {
                        return Ok(revision);
                    }
                    unanswered = Some((expected, value));
                }
            }
            tokio::time::sleep(Duration::from_millis(20 << attempt.min(5))).await;
        }
        Err(OpError::BusUnreachable(
            "the shared policy could not be written; check that this console may write CS_POLICY"
                .to_owned(),
        ))
    }

    fn sealed(&self, said: &Said, realm: &Uuid, at: Timestamp) -> Result<Bytes, OpError> {
        let identity = self.identity();
        let failed = |error: String| OpError::Failed(format!("the brake: {error}"));
        let payload = said
            .payload(&identity.operator, at)
            .map_err(|error| failed(error.to_string()))?;
        let subject = said.key().subject();
        SignedEnvelope::seal(
            &identity.signing().human,
            Context::Policy,
            realm,
            &subject,
            &payload,
        )
        .and_then(|envelope| envelope.to_bytes())
        .map(Bytes::from)
        .map_err(|error| failed(error.to_string()))
    }
}

async fn stored(bus: &Bus, key: &str, value: &Bytes) -> Result<Option<u64>, OpError> {
    let now = bus.policy_get(key).await?;
    Ok(now
        .filter(|stored| stored.value == *value)
        .map(|stored| stored.revision))
}
