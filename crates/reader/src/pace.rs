//! A reader that fails is not asked for a while.

const MINUTE_MS: i64 = 60_000;
const IN_A_ROW: u32 = 5;
const LONGEST_MINUTES: i64 = 15;

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
