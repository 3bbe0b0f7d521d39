//! How people decided, week by week: how often, how hastily, and whether they see what is changed on practice cards.

use std::collections::BTreeMap;

use crate::Timestamp;
use crate::haste::InFront;
use crate::pace::median;

/// A decision of a person, at any console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonDecided {
    /// Public key that signed it.
    pub key: String,
    /// When.
    pub at: Timestamp,
    /// Its verdict.
    pub verdict: String,
    /// Given on this console's command line.
    pub by_cli: bool,
    /// Given in this console's window with its card in front for so long.
    pub front: Option<InFront>,
}

/// What one person did in one week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonWeek {
    /// The person's public key.
    pub key: String,
    /// When the week begins.
    pub since: Timestamp,
    /// Decisions.
    pub decided: u64,
    /// Of these, denied or terminated.
    pub denied: u64,
    /// Of these, on this console's command line.
    pub by_cli: u64,
    /// Of these, in this console's window, where it is known how long the card was in front.
    pub in_window: u64,
    /// Of those in the window, the hasty ones.
    pub hasty: u64,
    /// Half of those in the window were no longer in front and armed, ms; none where there is none.
    pub front_ms: Option<i64>,
    /// Practice cards with a change that were answered.
    pub changed: u64,
    /// Of these, the change was caught.
    pub caught: u64,
}

impl PersonWeek {
    fn new(key: String, since: Timestamp) -> Self {
        Self {
            key,
            since,
            decided: 0,
            denied: 0,
            by_cli: 0,
            in_window: 0,
            hasty: 0,
            front_ms: None,
            changed: 0,
            caught: 0,
        }
    }
}

/// Counts decisions and answered practice cards one by one.
#[derive(Debug)]
pub struct People {
    weeks: Vec<Timestamp>,
    until: Timestamp,
    counted: BTreeMap<(usize, String), (PersonWeek, Vec<i64>)>,
}

impl People {
    /// Of weeks that begin at these times, in any order; the last one ends at `until`.
    #[must_use]
    pub fn new(mut weeks: Vec<Timestamp>, until: Timestamp) -> Self {
        weeks.sort_unstable();
        Self {
            weeks,
            until,
            counted: BTreeMap::new(),
        }
    }

    /// The whole time; none without a week.
    #[must_use]
    pub fn time(&self) -> Option<(Timestamp, Timestamp)> {
        Some((*self.weeks.first()?, self.until))
    }

    fn of(&mut self, key: String, at: Timestamp) -> Option<&mut (PersonWeek, Vec<i64>)> {
        let place = self
            .weeks
            .partition_point(|week| *week <= at)
            .checked_sub(1)?;
        let since = *self.weeks.get(place)?;
        if at >= self.until {
            return None;
        }
        let counted = self.counted.entry((place, key.clone()));
        Some(counted.or_insert_with(|| (PersonWeek::new(key, since), Vec::new())))
    }

    /// Counts one decision; what is outside of the weeks is left out.
    pub fn decided(&mut self, decision: PersonDecided) {
        let Some((week, fronts)) = self.of(decision.key, decision.at) else {
            return;
        };
        week.decided += 1;
        week.denied += u64::from(matches!(decision.verdict.as_str(), "deny" | "terminate"));
        week.by_cli += u64::from(decision.by_cli);
        if let Some(front) = decision.front {
            week.in_window += 1;
            week.hasty += u64::from(front.is_hasty());
            fronts.push(front.front_ms);
        }
    }

    /// Counts one answered practice card that had a change.
    pub fn practised(&mut self, key: String, at: Timestamp, caught: bool) {
        if let Some((week, _)) = self.of(key, at) {
            week.changed += 1;
            week.caught += u64::from(caught);
        }
    }

    /// One for each person and week in which there was something, the oldest week first.
    #[must_use]
    pub fn finish(self) -> Vec<PersonWeek> {
        let counted = self.counted.into_values();
        let week = |(week, mut fronts): (PersonWeek, Vec<i64>)| PersonWeek {
            front_ms: median(&mut fronts),
            ..week
        };
        counted.map(week).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(key: &str, at: i64, verdict: &str, front: Option<(i64, i64)>) -> PersonDecided {
        PersonDecided {
            key: key.into(),
            at: Timestamp(at),
            verdict: verdict.into(),
            by_cli: false,
            front: front.map(|(front_ms, read_ms)| InFront { front_ms, read_ms }),
        }
    }

    #[test]
    fn a_person_has_one_line_a_week_with_what_was_decided_and_caught_in_it() {
        let mut people = People::new(vec![Timestamp(200), Timestamp(100)], Timestamp(300));
        assert_eq!(people.time(), Some((Timestamp(100), Timestamp(300))));
        for (key, at, verdict, front) in [
            ("A", 99, "deny", Some((1, 1_000))),
            ("A", 100, "approve", Some((999, 1_000))),
            ("A", 150, "deny", Some((1_000, 1_000))),
            ("A", 199, "terminate", Some((4_000, 5_000))),
            ("A", 199, "skip", None),
            ("B", 200, "modify", Some((9_000, 1_000))),
            ("A", 300, "deny", Some((1, 1_000))),
        ] {
            people.decided(decided(key, at, verdict, front));
        }
        people.decided(PersonDecided {
            by_cli: true,
            ..decided("A", 101, "approve", None)
        });
        people.practised("A".into(), Timestamp(100), true);
        people.practised("A".into(), Timestamp(120), false);
        people.practised("A".into(), Timestamp(300), false);
        let (first, second) = (
            PersonWeek {
                decided: 5,
                denied: 2,
                by_cli: 1,
                in_window: 3,
                hasty: 2,
                front_ms: Some(1_000),
                changed: 2,
                caught: 1,
                ..PersonWeek::new("A".into(), Timestamp(100))
            },
            PersonWeek {
                decided: 1,
                in_window: 1,
                front_ms: Some(9_000),
                ..PersonWeek::new("B".into(), Timestamp(200))
            },
        );
        assert_eq!(people.finish(), [first, second]);
        let none = People::new(Vec::new(), Timestamp(1));
        assert_eq!((none.time(), none.finish()), (None, Vec::new()));
    }
}
