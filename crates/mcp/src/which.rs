//! Which calls ask, and how dangerous they are (integrations, section 1).

use countersign_wire::Risk;
use glob::{Pattern, PatternError};

/// Globs of tool names as in Python's `fnmatch`; case matters.
#[derive(Debug, Clone)]
pub struct Which {
    ask: Vec<Pattern>,
    unasked: Vec<Pattern>,
    risks: Vec<(Pattern, Risk)>,
}

impl Which {
    /// A name asks when one of `ask` (none: every name) and none of `unasked` matches. Of `risks` the first match counts.
    ///
    /// Errors: a pattern that is none.
    pub fn new(
        ask: &[String],
        unasked: &[String],
        risks: &[(String, Risk)],
    ) -> Result<Self, PatternError> {
        let patterns = |globs: &[String]| {
            let patterns = globs.iter().map(|glob| Pattern::new(glob));
            patterns.collect::<Result<Vec<_>, _>>()
        };
        let risks = risks
            .iter()
            .map(|(glob, risk)| Ok((Pattern::new(glob)?, *risk)));
        Ok(Self {
            ask: patterns(ask)?,
            unasked: patterns(unasked)?,
            risks: risks.collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn asks(&self, name: &str) -> bool {
        let any = |globs: &[Pattern]| globs.iter().any(|glob| glob.matches(name));
        (self.ask.is_empty() || any(&self.ask)) && !any(&self.unasked)
    }

    pub(crate) fn risk(&self, name: &str) -> Risk {
        let mut risks = self.risks.iter();
        let first = risks.find(|(glob, _)| glob.matches(name));
        first.map_or(Risk::Critical, |(_, risk)| *risk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_ask_by_their_globs() {
        let texts = |globs: &[&str]| {
            globs
                .iter()
                .map(|&glob| glob.to_owned())
                .collect::<Vec<_>>()
        };
        for (ask, unasked, name, asks) in [
            (&[][..], &[][..], "pay", true),
            (&["pay_*"], &[], "pay_all", true),
            (&["pay_*"], &[], "Pay_all", false),
            (&["pay_*"], &[], "repay_all", false),
            (&["*"], &["get_?"], "get_a", false),
            (&["*"], &["get_?"], "get_ab", true),
            (&["[!p]*"], &[], "pay", false),
            (&["a/*"], &[], "a/b/c", true),
            (&["[*]"], &[], "a", false),
        ] {
            let which = Which::new(&texts(ask), &texts(unasked), &[]);
            let which = which.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(which.asks(name), asks, "{ask:?} {unasked:?} {name}");
        }
    }

    #[test]
    fn the_first_match_is_the_risk_and_none_is_critical() {
        let risks = [("get_*", Risk::Low), ("*_all", Risk::High)];
        let risks = risks.map(|(glob, risk)| (glob.to_owned(), risk));
        let which = Which::new(&[], &[], &risks).unwrap_or_else(|error| panic!("{error}"));
        let found = ["get_all", "pay_all", "pay"].map(|name| which.risk(name));
        assert_eq!(found, [Risk::Low, Risk::High, Risk::Critical]);
    }
}
