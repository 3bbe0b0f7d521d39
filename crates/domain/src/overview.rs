//! Numbers about what was asked and how it was decided.
//!
//! Medians and percentiles are exact: they cover all decisions of people that were counted.

use std::collections::BTreeMap;

use super::fate::Fate;
use super::haste::InFront;
use super::pace::median;
use super::{State, Timestamp};

pub mod people;

/// At most this many pairs of agent and tool are kept apart; later ones are counted together.
const PAIRS: usize = 500;
/// Pieces of a time at most.
pub const PIECES: usize = 400;

/// Verdicts with which a person does not let a call run as it was asked.
pub const CAUGHT: [&str; 3] = ["modify", "deny", "terminate"];

/// What is counted of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// `WS/AGENT`.
    pub agent: String,
    /// Tool; none for questions, forms and what was rejected.
    pub tool: Option<String>,
    /// What became of it.
    pub fate: Fate,
    /// How long its card was in front before a person decided in this console's window.
    pub front: Option<InFront>,
}

/// How many requests came in a piece of time, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Volume {
    /// All of them.
    pub arrived: u64,
    /// Approved, as they were or edited.
    pub allowed: u64,
    /// Denied or terminated.
    pub denied: u64,
    /// Ended without an answer.
    pub expired: u64,
}

/// How long calls of a tool of an agent waited until people decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// `WS/AGENT`; empty where pairs are counted together.
    pub agent: String,
    /// Tool.
    pub tool: Option<String>,
    /// Decisions of people.
    pub decided: u64,
    /// Half of them waited no longer, ms.
    pub median_ms: i64,
    /// 95 of 100 waited no longer, ms.
    pub p95_ms: i64,
}

/// The numbers of a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overview {
    /// How long a piece of time is, ms.
    pub step_ms: i64,
    /// Volume of each piece of time, oldest first, without gaps.
    pub volume: Vec<Volume>,
    /// Verdicts and how often each was given, most frequent first.
    pub verdicts: Vec<(String, u64)>,
    /// How long calls waited until people decided, most decisions first.
    pub paces: Vec<Pace>,
    /// Of all their decisions together; none when there is none.
    pub pace: Option<Pace>,
    /// Half of the cards that were decided in this console's window were no longer in front and armed, ms; none
    /// when there is none.
    pub front_ms: Option<i64>,
    /// Requests that still wait.
    pub open: u64,
    /// Ended without an answer.
    pub expired: u64,
    /// Decided by rules and setup keys.
    pub automatic: u64,
    /// Decided by people.
    pub human: u64,
    /// Of these, decided in this console's window.
    pub in_window: u64,
    /// Of those in the window, decided in less time than it takes to read.
    pub hasty: u64,
    /// Of what people decided, what they did not approve as asked: edited, denied or terminated.
    pub caught: u64,
}

/// Counts facts one by one.
#[derive(Debug)]
pub struct Counting {
    since: Timestamp,
    overview: Overview,
    verdicts: BTreeMap<String, u64>,
    times: BTreeMap<(String, Option<String>), Vec<i64>>,
    fronts: Vec<i64>,
}

impl Counting {
    /// Counts what was stored from one time to another in so many pieces, the last of which may end later; none for a
    /// time that does not end after it begins, and for another number of pieces than 1 to [`PIECES`].
    #[must_use]
    pub fn over((since, until): (Timestamp, Timestamp), pieces: usize) -> Option<Self> {
        let whole = until.0.checked_sub(since.0).filter(|whole| *whole > 0)?;
        let each = i64::try_from(pieces).ok()?;
        (1..=PIECES).contains(&pieces).then(|| Self {
            since,
            overview: Overview {
                step_ms: whole / each + i64::from(whole % each > 0),
                volume: vec![Volume::default(); pieces],
                ..Overview::default()
            },
            verdicts: BTreeMap::new(),
            times: BTreeMap::new(),
            fronts: Vec::new(),
        })
    }

    /// Counts one request; what is outside the time is left out.
    pub fn add(&mut self, fact: Fact) {
        let fate = fact.fate;
        let overview = &mut self.overview;
        let after = fate.stored_at.since_ms(self.since);
        let place = after.div_euclid(overview.step_ms);
        let Some(volume) = usize::try_from(place)
            .ok()
            .and_then(|at| overview.volume.get_mut(at))
        else {
            return;
        };
        volume.arrived += 1;
        match fate.state {
            State::Pending | State::Holding | State::Queued => overview.open += 1,
            State::Expired => {
                overview.expired += 1;
                volume.expired += 1;
            }
            State::Decided | State::Withdrawn | State::Rejected | State::Void => {}
        }
        if let Some(verdict) = &fate.verdict {
            *self.verdicts.entry(verdict.clone()).or_default() += 1;
        }
        if fate.state != State::Decided {
            return;
        }
        match fate.verdict.as_deref() {
            Some("approve" | "modify") => volume.allowed += 1,
            Some("deny" | "terminate") => volume.denied += 1,
            _ => {}
        }
        match fate.origin.as_deref() {
            Some("operator") => {
                overview.human += 1;
                overview.in_window += u64::from(fact.front.is_some());
                overview.hasty += u64::from(fact.front.is_some_and(InFront::is_hasty));
                self.fronts.extend(fact.front.map(|front| front.front_ms));
                let verdict = fate.verdict.as_deref();
                overview.caught += u64::from(verdict.is_some_and(|word| CAUGHT.contains(&word)));
            }
            Some("rule" | "setup_key") => overview.automatic += 1,
            _ => {}
        }
        // What rules decide takes no time, and says nothing about people.
        let took = fate
            .took_ms()
            .filter(|_| fate.origin.as_deref() == Some("operator"));
        if let Some(took) = took {
            let mut pair = (fact.agent, fact.tool);
            if !self.times.contains_key(&pair) && self.times.len() >= PAIRS {
                pair = (String::new(), None);
            }
            self.times.entry(pair).or_default().push(took);
        }
    }

    /// The numbers.
    #[must_use]
    pub fn finish(mut self) -> Overview {
        let mut all: Vec<i64> = self.times.values().flatten().copied().collect();
        self.overview.pace = pace(String::new(), None, &mut all);
        self.overview.front_ms = median(&mut self.fronts);
        self.overview.paces = self
            .times
            .into_iter()
            .filter_map(|((agent, tool), mut times)| pace(agent, tool, &mut times))
            .collect();
        self.overview
            .paces
            .sort_by_key(|pace| std::cmp::Reverse(pace.decided));
        self.overview.verdicts = self.verdicts.into_iter().collect();
        self.overview
            .verdicts
            .sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        self.overview
    }
}

fn pace(agent: String, tool: Option<String>, times: &mut [i64]) -> Option<Pace> {
    times.sort_unstable();
    // The smallest value that so many of a hundred do not exceed.
    let of_hundred = |share: usize| {
        times
            .get((times.len() * share).div_ceil(100).saturating_sub(1))
            .copied()
    };
    Some(Pace {
        agent,
        tool,
        decided: u64::try_from(times.len()).unwrap_or(u64::MAX),
        median_ms: of_hundred(50)?,
        p95_ms: of_hundred(95)?,
    })
}

#[cfg(test)]
mod tests;
