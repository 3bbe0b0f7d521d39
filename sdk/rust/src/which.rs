//! Which calls ask, and how dangerous they are (integrations, section 1).

use countersign_wire::Risk;
use glob::{Pattern, PatternError};

/// The tool that `doctor --gate` calls: every console denies it at once, so it always asks.
pub const PROBE: &str = "countersign_probe";

/// Globs of tool names as in Python's `fnmatch`; case matters.
#[derive(Debug, Clone)]
pub struct Which {
    ask: Vec<Pattern>,
    unasked: Vec<Pattern>,
    risks: Vec<(Pattern, Risk)>,
    otherwise: Risk,
}

impl Which {
    /// A name asks when one of `ask` (none: every name) and none of `unasked` matches. Of `risks` the first match
    /// counts; without one the risk is `otherwise`.
    ///
    /// Errors: a pattern that is none.
    pub fn new(
        ask: &[String],
        unasked: &[String],
        risks: &[(String, Risk)],
        otherwise: Risk,
    ) -> Result<Self, PatternError> {
        let patterns = |globs: &[String]| -> Result<Vec<_>, _> {
            globs.iter().map(|glob| Pattern::new(glob)).collect()
        };
        let risks = risks
            .iter()
            .map(|(glob, risk)| Ok((Pattern::new(glob)?, *risk)));
        Ok(Self {
            ask: patterns(ask)?,
            unasked: patterns(unasked)?,
            risks: risks.collect::<Result<_, _>>()?,
            otherwise,
        })
    }

    /// Whether a call of this tool asks.
    #[must_use]
    pub fn asks(&self, name: &str) -> bool {
        let any = |globs: &[Pattern]| globs.iter().any(|glob| glob.matches(name));
        name == PROBE || (self.ask.is_empty() || any(&self.ask)) && !any(&self.unasked)
    }

    /// The risk of a call of this tool.
    #[must_use]
    pub fn risk(&self, name: &str) -> Risk {
        let mut risks = self.risks.iter();
        let first = risks.find(|(glob, _)| glob.matches(name));
        first.map_or(self.otherwise, |(_, risk)| *risk)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_ask_by_their_globs() {
        let texts = |globs: &[&str]| globs.iter().map(|&glob| glob.into()).collect::<Vec<_>>();
        for (ask, unasked, name, asks) in [
            (&[][..], &[][..], "Bash", true),
            (&["Bash", "mcp__*"], &[], "mcp__a__b", true),
            (&["Bash"], &[], "bash", false),
            (&["*"], &["Read"], "Read", false),
            (&["Bash"], &["*"], "countersign_probe", true),
            (&["[!B]*"], &[], "Bash", false),
            (&["pay_*"], &[], "repay_all", false),
            (&["*"], &["get_?"], "get_a", false),
            (&["*"], &["get_?"], "get_ab", true),
            (&["a/*"], &[], "a/b/c", true),
            (&["[*]"], &[], "a", false),
        ] {
            let which = Which::new(&texts(ask), &texts(unasked), &[], Risk::High).unwrap();
            assert_eq!(which.asks(name), asks, "{ask:?} {unasked:?} {name}");
        }
        let risks = [
            ("B*".to_owned(), Risk::Low),
            ("Ba*".to_owned(), Risk::Critical),
        ];
        let which = Which::new(&[], &[], &risks, Risk::High).unwrap();
        assert_eq!(
            (which.risk("Bash"), which.risk("Edit")),
            (Risk::Low, Risk::High)
        );
        assert!(Which::new(&texts(&["[a"]), &[], &[], Risk::High).is_err());
    }
}
