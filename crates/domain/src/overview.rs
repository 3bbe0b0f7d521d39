//! Numbers about what was asked and how it was decided.
//!
//! Medians and percentiles are exact: they cover all decisions of people that were counted.

use std::collections::BTreeMap;

use super::fate::Fate;
use super::pace::median;
use super::{State, Timestamp};

/// At most this many pairs of agent and tool are kept apart; later ones are counted together.
const PAIRS: usize = 500;
/// What was in front of a person for less than this was hardly read.
pub const HASTY_MS: i64 = 2_000;

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
    /// How long its card was in front and armed before a person decided in this console's window, ms.
    pub front_ms: Option<i64>,
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
    /// Of these, decided in this console's window less than two seconds after the card was in front and armed.
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
    /// Counts what was stored from `since` on in `pieces` pieces of `step_ms`.
    #[must_use]
    pub fn new(since: Timestamp, step_ms: i64, pieces: usize) -> Self {
        let step_ms = step_ms.max(1);
        Self {
            since,
            overview: Overview {
                step_ms,
                volume: vec![Volume::default(); pieces],
                ..Overview::default()
            },
            verdicts: BTreeMap::new(),
            times: BTreeMap::new(),
            fronts: Vec::new(),
        }
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
                overview.hasty += u64::from(fact.front_ms.is_some_and(|front| front < HASTY_MS));
                self.fronts.extend(fact.front_ms);
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
mod tests {
    use super::*;

    fn fact(stored: i64, state: State, verdict: &str, origin: &str, took: Option<i64>) -> Fact {
        Fact {
            agent: "acme/bot".into(),
            tool: Some("t".into()),
            fate: Fate {
                state,
                verdict: Some(verdict.into()),
                origin: Some(origin.into()),
                stored_at: Timestamp(stored),
                decided_at: took.map(|took| Timestamp(stored + took)),
            },
            front_ms: None,
        }
    }

    #[test]
    fn hasty_is_what_was_in_front_for_a_moment_however_long_it_waited() {
        let mut counting = Counting::new(Timestamp(0), 100, 1);
        for (origin, waited, front) in [
            ("operator", 90_000, Some(1_999)),
            ("operator", 90_000, Some(0)),
            ("operator", 90_000, Some(2_000)),
            ("operator", 90_000, Some(9_000)),
            // By the command line, and at another console.
            ("operator", 1, None),
            ("rule", 0, None),
        ] {
            counting.add(Fact {
                front_ms: front,
                ..fact(1, State::Decided, "approve", origin, Some(waited))
            });
        }
        let seen = counting.finish();
        assert_eq!((seen.human, seen.hasty), (5, 2));
        assert_eq!(seen.front_ms, Some(1_999));
        assert_eq!(seen.pace.map(|pace| pace.median_ms), Some(90_000));
        assert_eq!(Counting::new(Timestamp(0), 1, 1).finish().front_ms, None);
    }

    #[test]
    fn each_request_is_counted_where_it_belongs() {
        let mut counting = Counting::new(Timestamp(1_000), 100, 2);
        for (stored, state, verdict, origin, took) in [
            (999, State::Decided, "approve", "operator", Some(1)),
            (1_000, State::Decided, "approve", "operator", Some(1_999)),
            (1_099, State::Decided, "modify", "operator", Some(2_000)),
            (1_100, State::Decided, "deny", "rule", Some(5)),
            (1_150, State::Expired, "expired", "timeout", None),
            (1_199, State::Withdrawn, "withdrawn", "agent", None),
            (1_200, State::Decided, "approve", "operator", Some(1)),
        ] {
            counting.add(fact(stored, state, verdict, origin, took));
        }
        let seen = counting.finish();
        let volume = |arrived, allowed, denied, expired| Volume {
            arrived,
            allowed,
            denied,
            expired,
        };
        assert_eq!(seen.volume, [volume(2, 2, 0, 0), volume(3, 0, 1, 1)]);
        assert_eq!(
            (
                seen.human,
                seen.automatic,
                seen.hasty,
                seen.caught,
                seen.expired
            ),
            (2, 1, 0, 1, 1)
        );
        assert_eq!(seen.verdicts.iter().map(|(_, count)| count).sum::<u64>(), 5);
        let pace = seen
            .pace
            .map(|pace| (pace.decided, pace.median_ms, pace.p95_ms));
        assert_eq!(pace, Some((2, 1_999, 2_000)));
        assert_eq!(Counting::new(Timestamp(0), 0, 1).finish().pace, None);
    }

    #[test]
    fn half_and_ninety_five_of_a_hundred_took_no_longer() {
        let mut times: Vec<i64> = (1..=100).rev().collect();
        let found = pace(String::new(), None, &mut times).map(|pace| (pace.median_ms, pace.p95_ms));
        assert_eq!(found, Some((50, 95)));
    }

    #[test]
    fn many_pairs_stay_bounded() {
        let mut counting = Counting::new(Timestamp(0), 100, 1);
        for number in 0..2_000 {
            let tool = Some(format!("tool-{number}"));
            counting.add(Fact {
                tool,
                ..fact(1, State::Decided, "deny", "operator", Some(1))
            });
        }
        let seen = counting.finish();
        assert_eq!(seen.paces.len(), PAIRS + 1);
        assert_eq!(
            seen.paces.iter().map(|pace| pace.decided).sum::<u64>(),
            2_000
        );
    }
}
