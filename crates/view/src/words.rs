//! Words that several screens share.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use countersign_wire::Risk;

/// Which way an approval takes (operator's desk, "Deciding").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum DecidePath {
    /// One key, held and undoable: safe, low and medium.
    Low,
    /// Arguments read to their end, then a chord: high.
    High,
    /// Evidence open, hidden values revealed, target typed, then a chord: critical, and every tool
    /// that says `irreversible`.
    Critical,
}

impl DecidePath {
    /// The way for a risk and a tool's effects.
    #[must_use]
    pub fn of(risk: Risk, irreversible: bool) -> Self {
        match risk {
            Risk::Critical => Self::Critical,
            _ if irreversible => Self::Critical,
            Risk::High => Self::High,
            Risk::Safe | Risk::Low | Risk::Medium => Self::Low,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_irreversible_tool_takes_the_critical_way_at_every_risk() {
        use Risk::{Critical, High, Low, Medium, Safe};
        for risk in [Safe, Low, Medium, High, Critical] {
            assert_eq!(DecidePath::of(risk, true), DecidePath::Critical);
        }
        assert_eq!(DecidePath::of(High, false), DecidePath::High);
        assert_eq!(DecidePath::of(Critical, false), DecidePath::Critical);
        for risk in [Safe, Low, Medium] {
            assert_eq!(DecidePath::of(risk, false), DecidePath::Low);
        }
    }
}
