//! How the calls of one tool ended lately: what an operator knows of a tool before deciding on its next call.
//!
//! Decisions of people and of rules are apart: only people's decisions have a pace.

use super::State;
use super::fate::Fate;

/// The calls of one tool, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolRecord {
    /// Approved, as they were or edited, by people or by rules.
    pub approved: u64,
    /// Denied, skipped or terminated.
    pub denied: u64,
    /// Ended without an answer.
    pub expired: u64,
    /// Withdrawn, answered in words, handed on or void.
    pub other: u64,
    /// Of all these, decided by rules, setup keys and bypasses.
    pub automatic: u64,
    /// Half of the people's decisions took no longer, ms; none when no person decided.
    pub median_ms: Option<i64>,
}

impl ToolRecord {
    /// Counts calls; those that still wait and those that never were valid do not count.
    #[must_use]
    pub fn of(calls: impl IntoIterator<Item = Fate>) -> Self {
        let mut record = Self::default();
        let mut times = Vec::new();
        for call in calls {
            match (call.state, call.verdict.as_deref()) {
                (State::Pending | State::Holding | State::Queued | State::Rejected, _) => continue,
                (State::Expired, _) => record.expired += 1,
                (State::Decided, Some("approve" | "modify")) => record.approved += 1,
                (State::Decided, Some("deny" | "skip" | "terminate")) => record.denied += 1,
                (State::Decided | State::Withdrawn | State::Void, _) => record.other += 1,
            }
            if call.state != State::Decided {
                continue;
            }
            match call.origin.as_deref() {
                Some("operator") => times.extend(call.took_ms()),
                Some("rule" | "setup_key") => record.automatic += 1,
                _ => {}
            }
        }
        times.sort_unstable();
        record.median_ms = times.get(times.len().saturating_sub(1) / 2).copied();
        record
    }

    /// All that were counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.approved + self.denied + self.expired + self.other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn ended(state: State, verdict: &str, origin: &str, took: i64) -> Fate {
        Fate {
            state,
            verdict: Some(verdict.to_owned()),
            origin: Some(origin.to_owned()),
            stored_at: Timestamp(1_000),
            decided_at: Some(Timestamp(1_000 + took)),
        }
    }

    #[test]
    fn each_call_counts_once_and_only_people_have_a_pace() {
        let record = ToolRecord::of([
            ended(State::Decided, "approve", "operator", 10),
            ended(State::Decided, "modify", "operator", 30),
            ended(State::Decided, "approve", "rule", 1),
            ended(State::Decided, "approve", "setup_key", 1),
            ended(State::Decided, "deny", "operator", 20),
            ended(State::Decided, "skip", "operator", 40),
            ended(State::Decided, "terminate", "rule", 1),
            ended(State::Expired, "expired", "timeout", 99),
            ended(State::Withdrawn, "withdrawn", "agent", 99),
            ended(State::Decided, "respond", "operator", 50),
            ended(State::Void, "approve", "operator", 99),
            ended(State::Pending, "", "", 99),
            ended(State::Rejected, "", "", 99),
        ]);
        let expected = ToolRecord {
            approved: 4,
            denied: 3,
            expired: 1,
            other: 3,
            automatic: 3,
            median_ms: Some(30),
        };
        assert_eq!(record, expected);
        assert_eq!(record.total(), 11);
    }

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(ToolRecord::of([]), ToolRecord::default());
    }
}
