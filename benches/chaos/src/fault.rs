//! What goes wrong, when, and for how long: a plan drawn from a seed.
//!
//! One thing is never broken twice at the same time in the same way, so that every fault can be undone.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// What is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// The console with this number.
    Console(usize),
    /// Its operator.
    Operator(usize),
    /// nats-server: an outside one, or the one of the first console.
    Bus,
    /// The agent with this number.
    Agent(usize),
    /// The wire of all agents.
    AgentsWire,
}

/// How it is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Kind {
    /// `kill -9`, started again afterwards.
    Kill,
    /// SIGTERM, started again afterwards.
    Restart,
    /// SIGSTOP, SIGCONT afterwards.
    Pause,
    /// Connections are closed and refused.
    Cut,
    /// Nothing passes, connections stay.
    Stall,
    /// What is sent arrives, what is answered does not; then connections are closed.
    Deafen,
    /// The network device is down: packets vanish.
    Unplug,
    /// No room left on its disk.
    FullDisk,
}

/// Things that can be broken apart from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Process,
    Wire,
    Plug,
    Disk,
}

impl Kind {
    fn part(self) -> Part {
        match self {
            Self::Kill | Self::Restart | Self::Pause => Part::Process,
            Self::Cut | Self::Stall | Self::Deafen => Part::Wire,
            Self::Unplug => Part::Plug,
            Self::FullDisk => Part::Disk,
        }
    }

    /// How long it lasts, in milliseconds. Some are longer than the times after which somebody
    /// silent is thought dead.
    fn lasts(self) -> std::ops::Range<u64> {
        match self {
            Self::Kill | Self::Restart => 100..4_000,
            Self::Pause | Self::Stall | Self::Unplug => 300..12_000,
            Self::Cut => 200..8_000,
            Self::Deafen => 300..6_000,
            Self::FullDisk => 500..8_000,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kill => "kill -9",
            Self::Restart => "restart",
            Self::Pause => "pause",
            Self::Cut => "cut off",
            Self::Stall => "stall",
            Self::Deafen => "deafen",
            Self::Unplug => "unplug",
            Self::FullDisk => "full disk",
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Console(number) => write!(f, "console {number}"),
            Self::Operator(number) => write!(f, "operator {number}"),
            Self::Bus => f.write_str("nats-server"),
            Self::Agent(number) => write!(f, "agent {number}"),
            Self::AgentsWire => f.write_str("the agents' wire"),
        }
    }
}

/// One fault of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// From the start of the faults.
    pub(crate) at: Duration,
    pub(crate) lasts: Duration,
    pub(crate) target: Target,
    pub(crate) kind: Kind,
    /// Whether connections are closed when a stall ends.
    pub(crate) resets: bool,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, lasts) = (self.at.as_secs_f64(), self.lasts.as_secs_f64());
        write!(
            f,
            "{at:7.2} s  {} of {}, {lasts:.2} s",
            self.kind, self.target
        )
    }
}

/// What there is to break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Breakable {
    pub(crate) consoles: usize,
    pub(crate) agents: usize,
    /// Whether the bus is outside: then consoles have wires.
    pub(crate) outside: bool,
    /// Whether there are namespaces.
    pub(crate) isolated: bool,
}

/// The faults of `time`, in their order; only of these kinds, if any are named.
pub(crate) fn plan(seed: u64, time: Duration, what: Breakable, kinds: &[Kind]) -> Vec<Fault> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut choices = choices(what);
    choices.retain(|(_, _, kind)| kinds.is_empty() || kinds.contains(kind));
    let total: u32 = choices.iter().map(|(weight, ..)| weight).sum();
    let mut busy: BTreeMap<(Target, Part), Duration> = BTreeMap::new();
    let mut faults = Vec::new();
    let mut at = Duration::from_millis(random.random_range(500..2_000));
    while at < time {
        let mut place = random.random_range(0..total.max(1));
        let chosen = choices.iter().find(|(weight, ..)| {
            let here = place < *weight;
            place = place.saturating_sub(*weight);
            here
        });
        let resets = random.random_bool(0.5);
        if let Some(&(_, target, kind)) = chosen {
            let lasts = kind.lasts();
            // Mostly short: otherwise nothing would ever work, and nothing could break.
            let longest = lasts.start
                + (lasts.end - lasts.start) / if random.random_bool(0.7) { 4 } else { 1 };
            let lasts = Duration::from_millis(random.random_range(lasts.start..longest));
            let free = busy.entry((target, kind.part())).or_default();
            if *free <= at {
                // A moment between two faults of one thing, so that it can come back at all.
                *free = at + lasts + Duration::from_millis(1_500);
                faults.push(Fault {
                    at,
                    lasts,
                    target,
                    kind,
                    resets,
                });
            }
        }
        at += Duration::from_millis(random.random_range(200..4_500));
    }
    faults
}

/// Every fault there is, and how often it is chosen.
fn choices(what: Breakable) -> Vec<(u32, Target, Kind)> {
    let mut choices = vec![
        (4, Target::Bus, Kind::Kill),
        (3, Target::Bus, Kind::Pause),
        (2, Target::AgentsWire, Kind::Cut),
        (2, Target::AgentsWire, Kind::Stall),
        (1, Target::AgentsWire, Kind::Deafen),
    ];
    for number in 0..what.consoles {
        let console = Target::Console(number);
        choices.extend([
            (4, console, Kind::Kill),
            (1, console, Kind::Restart),
            (3, console, Kind::Pause),
            (3, console, Kind::FullDisk),
            (1, Target::Operator(number), Kind::Kill),
        ]);
        if what.outside {
            choices.extend([
                (2, console, Kind::Cut),
                (2, console, Kind::Stall),
                (2, console, Kind::Deafen),
            ]);
        }
        if what.outside && what.isolated {
            choices.push((3, console, Kind::Unplug));
        }
    }
    for number in 0..what.agents {
        choices.push((1, Target::Agent(number), Kind::Kill));
    }
    if what.outside {
        choices.push((2, Target::Bus, Kind::FullDisk));
    }
    choices
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Breakable = Breakable {
        consoles: 2,
        agents: 3,
        outside: true,
        isolated: true,
    };

    #[test]
    fn a_seed_gives_the_same_plan_every_time_and_another_seed_another_one() {
        let time = Duration::from_secs(600);
        assert_eq!(plan(7, time, ALL, &[]), plan(7, time, ALL, &[]));
        assert_ne!(plan(7, time, ALL, &[]), plan(8, time, ALL, &[]));
    }

    #[test]
    fn one_thing_is_never_broken_twice_at_a_time() {
        for seed in 0..50 {
            let faults = plan(seed, Duration::from_secs(600), ALL, &[]);
            for (number, fault) in faults.iter().enumerate() {
                let same = |other: &&Fault| {
                    other.target == fault.target && other.kind.part() == fault.kind.part()
                };
                let next = faults[number + 1..].iter().find(same);
                assert!(
                    next.is_none_or(|next| next.at > fault.at + fault.lasts),
                    "{seed}: {fault}"
                );
            }
        }
    }

    #[test]
    fn a_long_run_breaks_everything_in_every_way() {
        let faults = plan(1, Duration::from_secs(7_200), ALL, &[]);
        for (_, target, kind) in choices(ALL) {
            let found = faults
                .iter()
                .any(|fault| fault.target == target && fault.kind == kind);
            assert!(found, "{kind} of {target}");
        }
    }
}
