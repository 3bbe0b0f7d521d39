//! The calls that wait to be read, the nearest deadline first.

use std::collections::BTreeSet;

/// More wait for nothing: they would be read after they are decided.
const LONGEST: usize = 100;

/// At most 100 calls: deadline and row number.
#[derive(Debug, Default)]
pub(crate) struct Line(BTreeSet<(i64, i64)>);

impl Line {
    /// Puts a call in. Returns the one that falls out.
    pub(crate) fn put(&mut self, row: i64, deadline: i64) -> Option<i64> {
        self.0.insert((deadline, row));
        let out = self.0.last().filter(|_| self.0.len() > LONGEST).copied()?;
        self.0.remove(&out).then_some(out.1)
    }

    /// Takes the next one.
    pub(crate) fn pop(&mut self) -> Option<i64> {
        self.0.pop_first().map(|(_, row)| row)
    }

    /// Takes all of them.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = i64> + use<> {
        let all = std::mem::take(&mut self.0);
        all.into_iter().map(|(_, row)| row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_deadline_is_first_and_the_farthest_falls_out() {
        let mut line = Line::default();
        for row in 0..100 {
            assert_eq!(line.put(row, 1_000 - row), None);
        }
        assert_eq!(line.put(200, 950), Some(0));
        assert_eq!(line.put(201, 5_000), Some(201));
        assert_eq!(line.pop(), Some(99));
        assert_eq!(line.put(202, 1), None);
        assert_eq!(line.pop(), Some(202));
        let rest: Vec<i64> = line.take().collect();
        assert_eq!((rest.len(), rest[0], rest[98]), (99, 98, 1));
        assert_eq!(line.pop(), None);
    }
}
