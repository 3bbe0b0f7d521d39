//! How quickly people decided in a time.
//!
//! Refuses to name a pace where nobody decided.

/// What people decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PeoplesPace {
    /// Decisions.
    pub decided: u64,
    /// Half of them took no longer, ms; none when there is none.
    pub median_ms: Option<i64>,
}

impl PeoplesPace {
    /// Of decisions that took so long, ms.
    #[must_use]
    pub fn of(mut times: Vec<i64>) -> Self {
        times.sort_unstable();
        Self {
            decided: u64::try_from(times.len()).unwrap_or(u64::MAX),
            median_ms: times.get(times.len().saturating_sub(1) / 2).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_decisions_took_no_longer() {
        for (times, median) in [
            (vec![], None),
            (vec![7], Some(7)),
            (vec![30, 10], Some(10)),
            (vec![30, 10, 20], Some(20)),
            (vec![40, 30, 10, 20], Some(20)),
        ] {
            let decided = times.len() as u64;
            let expected = PeoplesPace {
                decided,
                median_ms: median,
            };
            assert_eq!(PeoplesPace::of(times), expected);
        }
    }
}
