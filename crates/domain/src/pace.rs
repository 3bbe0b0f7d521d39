//! How quickly people decided in a time.
//!
//! Where nobody decided, the pace is none.

/// What people decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PeoplesPace {
    /// Decisions.
    pub decided: u64,
    /// Half of the requests waited no longer, ms; none when there is none.
    pub waiting_ms: Option<i64>,
    /// Half of the cards that were decided in this console's window were no longer in front and armed, ms; none
    /// when there is none.
    pub front_ms: Option<i64>,
}

impl PeoplesPace {
    /// Of decisions, each with how long its request waited and, where that is known, its card was in front, ms.
    #[must_use]
    pub fn of(times: &[(i64, Option<i64>)]) -> Self {
        let mut waited: Vec<i64> = times.iter().map(|(waited, _)| *waited).collect();
        let mut fronts: Vec<i64> = times.iter().filter_map(|(_, front)| *front).collect();
        Self {
            decided: u64::try_from(times.len()).unwrap_or(u64::MAX),
            waiting_ms: median(&mut waited),
            front_ms: median(&mut fronts),
        }
    }
}

/// The smallest that half of them do not exceed; none of nothing.
pub(super) fn median(times: &mut [i64]) -> Option<i64> {
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_decisions_took_no_longer() {
        for (mut times, expected) in [
            (vec![], None),
            (vec![7], Some(7)),
            (vec![30, 10], Some(10)),
            (vec![30, 10, 20], Some(20)),
            (vec![40, 30, 10, 20], Some(20)),
        ] {
            assert_eq!(median(&mut times), expected);
        }
    }

    #[test]
    fn waiting_is_of_all_decisions_and_in_front_of_those_that_the_window_measured() {
        let pace = PeoplesPace::of(&[(90_000, Some(500)), (80_000, Some(700)), (10, None)]);
        let expected = PeoplesPace {
            decided: 3,
            waiting_ms: Some(80_000),
            front_ms: Some(500),
        };
        assert_eq!(pace, expected);
        assert_eq!(PeoplesPace::of(&[]), PeoplesPace::default());
    }
}
