//! Texts of the tray: how many wait, and which controls are on.
//!
//! It shows operators' names through the escaper, and leaves out everything that an agent wrote.

use countersign_core::domain::Timestamp;
use countersign_core::domain::controls::Controls;
use countersign_wire::{AgentControl, escape};

/// Controls that are named; a menu must not become a list to scroll.
const NAMED: usize = 8;
/// Characters of an operator's name: a menu is as wide as its longest line.
const NAME: usize = 40;

/// The tray as it should be now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Face {
    /// Requests that wait.
    pub(super) waiting: i64,
    /// Of these, with a finding that stops them.
    pub(super) stopped: i64,
    /// Nothing is approved automatically.
    pub(super) panic: bool,
    /// One line for each control and bypass, panic first.
    pub(super) controls: Vec<String>,
}

impl Face {
    pub(super) fn of(waiting: i64, controls: &Controls, now: Timestamp) -> Self {
        let panic = controls.panic().map(|set| {
            let by = name(&set.by);
            format!("Panic, by {by}: nothing is approved automatically")
        });
        let held = controls.agents().map(|(agent, set)| {
            let stopped = set.state == AgentControl::Stopped;
            let what = if stopped { "stopped" } else { "paused" };
            format!("{agent} {what} by {}", name(&set.by))
        });
        let bypasses = controls.bypasses(now).map(|(agent, set, bypass)| {
            let minutes = (bypass.until.0 - now.0 + 59_999) / 60_000;
            let (up_to, by) = (bypass.up_to.as_str(), name(&set.by));
            format!("Bypass: {agent}, up to {up_to}, {minutes} min left, by {by}")
        });
        let mut lines: Vec<String> = panic.iter().cloned().chain(held).chain(bypasses).collect();
        let more = lines.len().saturating_sub(NAMED);
        if more > 0 {
            lines.truncate(NAMED);
            lines.push(format!("and {more} more"));
        }
        Self {
            waiting,
            stopped: 0,
            panic: panic.is_some(),
            controls: lines,
        }
    }

    /// `3 waiting`.
    pub(super) fn headline(&self) -> String {
        match self.waiting {
            0 => "Nothing is waiting".to_owned(),
            count if self.stopped > 0 => {
                format!("{count} waiting, {} stopped by a finding", self.stopped)
            }
            count => format!("{count} waiting"),
        }
    }
}

fn name(by: &str) -> String {
    let plain = escape(by).plain();
    match plain.chars().nth(NAME) {
        None => plain,
        Some(_) => plain.chars().take(NAME).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use countersign_core::domain::controls::{Bypass, ControlSetting};
    use countersign_wire::Risk;

    use super::*;

    fn set<T>(state: T, by: &str) -> ControlSetting<T> {
        ControlSetting {
            state,
            by: by.to_owned(),
            revision: 1,
            at: Timestamp(0),
        }
    }

    fn agent(name: &str) -> countersign_wire::AgentKey {
        format!("acme/{name}").parse().unwrap()
    }

    #[test]
    fn every_control_is_named_with_who_set_it_and_a_bypass_with_the_time_left() {
        let now = Timestamp(1_000_000);
        let mut controls = Controls::default();
        assert_eq!(Face::of(0, &controls, now), Face::default());
        controls.set_agent(agent("bill_er"), set(AgentControl::Paused, "maria"));
        controls.set_agent(agent("infra"), set(AgentControl::Stopped, "a\u{202e}b"));
        let until = now.plus_ms(14 * 60_000 + 1);
        let bypass = Bypass::new(Risk::Low, until, "UKEY".to_owned(), now);
        controls.set_bypass(agent("crm"), set(Some(bypass), "ann"));
        controls.set_panic(set(true, "maria"));
        let face = Face::of(3, &controls, now);
        assert!(face.panic);
        assert_eq!(face.headline(), "3 waiting");
        let stopped = Face {
            stopped: 1,
            ..face.clone()
        };
        assert_eq!(stopped.headline(), "3 waiting, 1 stopped by a finding");
        assert_eq!(
            face.controls,
            [
                "Panic, by maria: nothing is approved automatically".to_owned(),
                "acme/bill_er paused by maria".to_owned(),
                format!("acme/infra stopped by {}", escape("a\u{202e}b").plain()),
                "Bypass: acme/crm, up to low, 15 min left, by ann".to_owned(),
            ]
        );
        assert!(!face.controls[2].contains('\u{202e}'));
        let over = Face::of(3, &controls, until);
        assert_eq!(over.controls.len(), 3, "a bypass that is over");
    }

    #[test]
    fn a_long_list_and_a_long_name_are_cut() {
        let mut controls = Controls::default();
        for number in 0..12 {
            let by = "x".repeat(200);
            controls.set_agent(agent(&format!("a{number}")), set(AgentControl::Paused, &by));
        }
        let face = Face::of(0, &controls, Timestamp(0));
        assert_eq!(face.controls.len(), NAMED + 1);
        assert_eq!(face.controls.last().unwrap(), "and 4 more");
        assert!(face.controls.iter().all(|line| line.chars().count() < 80));
    }
}
