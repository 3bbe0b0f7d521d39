//! What holds automatic approvals back (rules, "Controls").
//!
//! An automatic approval passes only while it is known that no panic, pause or stop applies.

use std::collections::BTreeMap;

use countersign_wire::{AgentControl, AgentKey, Risk};

use super::Timestamp;

/// A control that somebody set, with its place in the shared policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlSetting<T> {
    /// What is set.
    pub state: T,
    /// Revision of the key.
    pub revision: u64,
    /// The operator's name.
    pub by: String,
    /// The server's stamp.
    pub at: Timestamp,
}

/// The longest bypass: 8 hours (rules, "Controls").
pub const BYPASS_MAX_MS: i64 = 8 * 3_600_000;
/// Where the server's stamp of a bypass is not known, its signer's estimate of that time is used.
const CLOCK_SLACK_MS: i64 = 60_000;

/// Calls of one agent that need not ask for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bypass {
    /// The highest risk; never critical.
    pub up_to: Risk,
    /// Before this it is not in force: a server's clock that was set back would make it last longer than was meant.
    pub from: Timestamp,
    /// From here on it is over, by the server's time.
    pub until: Timestamp,
    /// The public key of the operator who signed it: what it approves is bound by that key's limits.
    pub signer: String,
}

impl Bypass {
    /// A bypass that the server stored at `at`; it never lasts longer than [`BYPASS_MAX_MS`] from there,
    /// whatever was signed.
    #[must_use]
    pub fn new(up_to: Risk, until: Timestamp, signer: String, at: Timestamp) -> Self {
        Self {
            up_to,
            from: at.plus_ms(-CLOCK_SLACK_MS),
            until: until.min(at.plus_ms(BYPASS_MAX_MS)),
            signer,
        }
    }

    fn lasts_at(&self, now: Timestamp) -> bool {
        self.from <= now && now < self.until
    }
}

/// Every control of the realm as this console knows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Controls {
    panic: Option<ControlSetting<bool>>,
    agents: BTreeMap<AgentKey, ControlSetting<AgentControl>>,
    bypasses: BTreeMap<AgentKey, ControlSetting<Option<Bypass>>>,
}

/// Why an automatic approval is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum AutomaticOff {
    /// The shared policy is not known as of the last seconds.
    #[error("the shared policy is not known well enough")]
    PolicyUnknown,
    /// Panic is on.
    #[error("panic is on")]
    Panic,
    /// The agent is paused.
    #[error("the agent is paused")]
    Paused,
    /// The agent is stopped.
    #[error("the agent is stopped")]
    Stopped,
    /// The rules do not verify or cannot be read.
    #[error("the rules cannot be read")]
    RulesUnreadable,
}

impl Controls {
    /// Sets panic on or off.
    pub fn set_panic(&mut self, set: ControlSetting<bool>) {
        self.panic = Some(set);
    }

    /// Lets an agent run, pauses or stops it.
    pub fn set_agent(&mut self, agent: AgentKey, set: ControlSetting<AgentControl>) {
        self.agents.insert(agent, set);
    }

    /// Sets or ends the bypass of an agent.
    pub fn set_bypass(&mut self, agent: AgentKey, set: ControlSetting<Option<Bypass>>) {
        self.bypasses.insert(agent, set);
    }

    /// The bypasses that are not over at `now`. Panic, a pause or a stop holds them back all the same: see
    /// [`Self::may_approve`].
    pub fn bypasses(
        &self,
        now: Timestamp,
    ) -> impl Iterator<Item = (&AgentKey, &ControlSetting<Option<Bypass>>, &Bypass)> {
        self.bypasses.iter().filter_map(move |(agent, set)| {
            let bypass = set.state.as_ref().filter(|bypass| bypass.lasts_at(now))?;
            Some((agent, set, bypass))
        })
    }

    /// Ends the bypasses of those who count no longer.
    pub fn end_bypasses(&mut self, counts: impl Fn(&str) -> bool) {
        for set in self.bypasses.values_mut() {
            set.state = set.state.take().filter(|bypass| counts(&bypass.signer));
        }
    }

    /// The bypass of an agent that is not over at `now`.
    #[must_use]
    pub fn bypass_of(
        &self,
        agent: &AgentKey,
        now: Timestamp,
    ) -> Option<(&ControlSetting<Option<Bypass>>, &Bypass)> {
        let set = self.bypasses.get(agent)?;
        let bypass = set.state.as_ref().filter(|bypass| bypass.lasts_at(now))?;
        Some((set, bypass))
    }

    /// Panic, while it is on.
    #[must_use]
    pub fn panic(&self) -> Option<&ControlSetting<bool>> {
        self.panic.as_ref().filter(|set| set.state)
    }

    /// The agents that are paused or stopped.
    pub fn agents(&self) -> impl Iterator<Item = (&AgentKey, &ControlSetting<AgentControl>)> {
        self.agents
            .iter()
            .filter(|(_, set)| set.state != AgentControl::Running)
    }

    /// Whether no panic is on and no agent is paused or stopped.
    #[must_use]
    pub fn none(&self) -> bool {
        self.panic().is_none() && self.agents().next().is_none()
    }

    /// The stop that is in force for an agent.
    #[must_use]
    pub fn stop_of(&self, agent: &AgentKey) -> Option<&ControlSetting<AgentControl>> {
        self.agents
            .get(agent)
            .filter(|set| set.state == AgentControl::Stopped)
    }

    /// The one gate of every automatic approval: rules, setup keys and bypasses ask here. Denials do not:
    /// they still go out. `policy_known` says whether the console has read the shared policy as of the
    /// last three seconds (protocol, section 8).
    ///
    /// # Errors
    /// The strongest reason for which none may be given for this agent now.
    pub fn may_approve(&self, agent: &AgentKey, policy_known: bool) -> Result<(), AutomaticOff> {
        if !policy_known {
            return Err(AutomaticOff::PolicyUnknown);
        }
        if self.panic().is_some() {
            return Err(AutomaticOff::Panic);
        }
        match self.agents.get(agent).map(|set| set.state) {
            None | Some(AgentControl::Running) => Ok(()),
            Some(AgentControl::Paused) => Err(AutomaticOff::Paused),
            Some(AgentControl::Stopped) => Err(AutomaticOff::Stopped),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn set<T>(state: T, revision: u64) -> ControlSetting<T> {
        ControlSetting {
            state,
            revision,
            by: "Ada".into(),
            at: Timestamp(0),
        }
    }

    #[test]
    fn every_control_turns_automatic_approvals_off_for_whom_it_is_set() {
        let (bot, other): (AgentKey, AgentKey) =
            ("acme/bot".parse().unwrap(), "acme/other".parse().unwrap());
        let mut controls = Controls::default();
        assert_eq!(controls.may_approve(&bot, true), Ok(()));
        assert_eq!(
            controls.may_approve(&bot, false),
            Err(AutomaticOff::PolicyUnknown)
        );
        for (state, expected) in [
            (AgentControl::Paused, Err(AutomaticOff::Paused)),
            (AgentControl::Stopped, Err(AutomaticOff::Stopped)),
            (AgentControl::Running, Ok(())),
        ] {
            let revision = controls
                .agents
                .get(&bot)
                .map_or(1, |known| known.revision + 1);
            controls.set_agent(bot.clone(), set(state, revision));
            assert_eq!(controls.may_approve(&bot, true), expected);
            assert_eq!(controls.may_approve(&other, true), Ok(()));
        }
        controls.set_panic(set(true, 9));
        assert_eq!(controls.may_approve(&other, true), Err(AutomaticOff::Panic));
        controls.set_panic(set(false, 10));
        assert_eq!(controls.may_approve(&other, true), Ok(()));
    }

    #[test]
    fn a_bypass_ends_by_itself_and_never_lasts_longer_than_eight_hours() {
        let bot: AgentKey = "acme/bot".parse().unwrap();
        let hours = |n: i64| Timestamp(n * 3_600_000);
        for (asked, ends) in [
            (hours(1), hours(1)),
            (hours(8), hours(8)),
            (hours(9), hours(8)),
        ] {
            let bypass = Bypass::new(Risk::Medium, asked, "U".into(), Timestamp(0));
            assert_eq!(bypass.until, ends);
            let mut controls = Controls::default();
            controls.set_bypass(bot.clone(), set(Some(bypass), 1));
            assert!(controls.bypass_of(&bot, ends.plus_ms(-1)).is_some());
            let set_back =
                [-59_000, -61_000].map(|ms| controls.bypass_of(&bot, Timestamp(ms)).is_some());
            assert_eq!(
                set_back,
                [true, false],
                "a server's clock that was set back"
            );
            assert!(controls.bypass_of(&bot, ends).is_none());
            assert_eq!(controls.bypasses(ends).count(), 0);
            controls.set_bypass(bot.clone(), set(None, 2));
            assert!(controls.bypass_of(&bot, Timestamp(0)).is_none());
        }
    }
}
