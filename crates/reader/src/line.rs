//! The calls that wait to be read, the nearest deadline first.

use std::collections::{BTreeSet, HashMap, HashSet};

/// More wait for nothing: they would be read after they are decided.
pub(crate) const LONGEST: usize = 100;

/// At most 100 calls by row number.
#[derive(Debug, Default)]
pub(crate) struct Line {
    by_deadline: BTreeSet<(i64, i64)>,
    deadlines: HashMap<i64, i64>,
}

impl Line {
    /// Puts a call in, or moves it to another deadline. Returns the one that falls out.
    pub(crate) fn put(&mut self, row: i64, deadline: i64) -> Option<i64> {
        self.remove(row);
        self.deadlines.insert(row, deadline);
        self.by_deadline.insert((deadline, row));
        if self.deadlines.len() <= LONGEST {
            return None;
        }
        let (_, out) = self.by_deadline.pop_last()?;
        self.deadlines.remove(&out);
        Some(out)
    }

    /// Takes a call out; false where it was not in.
    pub(crate) fn remove(&mut self, row: i64) -> bool {
        let deadline = self.deadlines.remove(&row);
        deadline.is_some_and(|deadline| self.by_deadline.remove(&(deadline, row)))
    }

    /// Takes the next one that is not in `early`.
    pub(crate) fn pop(&mut self, early: &HashSet<i64>) -> Option<i64> {
        let mut rows = self.by_deadline.iter().map(|(_, row)| *row);
        let row = rows.find(|row| !early.contains(row))?;
        self.remove(row);
        Some(row)
    }

    /// Takes all of them, the nearest deadline first.
    pub(crate) fn take(&mut self) -> Vec<i64> {
        let Self { by_deadline, .. } = std::mem::take(self);
        by_deadline.into_iter().map(|(_, row)| row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_deadline_is_first_and_the_farthest_falls_out() {
        let mut line = Line::default();
        let none = HashSet::new();
        for row in 0..100 {
            assert_eq!(line.put(row, 1_000 - row), None);
        }
        assert_eq!(line.put(200, 950), Some(0));
        assert_eq!(line.put(201, 5_000), Some(201));
        assert_eq!(line.pop(&none), Some(99));
        // Its deadline moved nearer.
        assert_eq!(line.put(1, 1), None);
        assert_eq!(line.pop(&HashSet::from([1])), Some(98));
        assert_eq!(line.put(98, 902), None);
        assert_eq!(line.pop(&none), Some(1));
        assert!(line.remove(98) && !line.remove(98));
        let rest = line.take();
        assert_eq!((rest.len(), rest[0], rest[96]), (97, 97, 2));
        assert_eq!(line.pop(&none), None);
    }
}
