//! How often a reader is asked: so many calls in an hour, and none for a while after failures in a row.

use std::collections::VecDeque;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const IN_A_ROW: u32 = 5;
const LONGEST_MINUTES: i64 = 15;

/// The times of the last hour, ms.
#[derive(Debug)]
pub(crate) struct Allowance {
    per_hour: usize,
    asked: VecDeque<i64>,
}

impl Allowance {
    pub(crate) fn new(per_hour: usize, asked: Vec<i64>) -> Self {
        Self {
            per_hour,
            asked: asked.into(),
        }
    }

    pub(crate) fn is_spent(&mut self, now: i64) -> bool {
        while self.asked.front().is_some_and(|at| now - at >= HOUR_MS) {
            self.asked.pop_front();
        }
        self.asked.len() >= self.per_hour
    }

    pub(crate) fn take(&mut self, now: i64) {
        self.asked.push_back(now);
    }
}

/// Rests after failures.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    failures: u32,
    until: Option<i64>,
}

impl Rest {
    /// Until when it rests, ms.
    pub(crate) fn until(&self, now: i64) -> Option<i64> {
        self.until.filter(|until| now < *until)
    }

    /// How many may be read at a time: none while it rests, one after a rest.
    pub(crate) fn at_once(&self, now: i64, usual: usize) -> usize {
        match (self.until(now), self.failures) {
            (Some(_), _) => 0,
            (None, IN_A_ROW..) => 1,
            (None, _) => usual,
        }
    }

    pub(crate) fn answered(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn failed(&mut self, now: i64) {
        // One that was under way when the rest began says nothing new.
        if self.until(now).is_some() {
            return;
        }
        self.failures += 1;
        if let Some(more) = self.failures.checked_sub(IN_A_ROW) {
            let minutes = (1_i64 << more.min(4)).min(LONGEST_MINUTES);
            self.until = Some(now + minutes * MINUTE_MS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_has_so_many_calls() {
        let mut hour = Allowance::new(2, vec![0]);
        assert!(!hour.is_spent(1_000));
        hour.take(1_000);
        assert!(hour.is_spent(1_000) && hour.is_spent(HOUR_MS - 1));
        assert!(!hour.is_spent(HOUR_MS));
        assert!(Allowance::new(0, Vec::new()).is_spent(0));
    }

    #[test]
    fn five_failures_in_a_row_rest_for_a_minute_then_twice_as_long_up_to_fifteen() {
        let (mut rest, mut now) = (Rest::default(), 0);
        for _ in 0..4 {
            rest.failed(now);
            assert_eq!(rest.at_once(now, 2), 2);
        }
        for minutes in [1, 2, 4, 8, 15, 15, 15] {
            rest.failed(now);
            let until = now + minutes * MINUTE_MS;
            assert_eq!((rest.until(now), rest.at_once(now, 2)), (Some(until), 0));
            rest.failed(until - 1);
            assert_eq!((rest.until(until), rest.at_once(until, 2)), (None, 1));
            now = until;
        }
        rest.answered();
        assert_eq!(rest.at_once(now, 2), 2);
        rest.failed(now);
        assert_eq!(rest.until(now), None);
    }
}
