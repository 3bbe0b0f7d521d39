//! Globs over names and values: `*` any run of characters within one name, `?` one character.
//!
//! Refuses to let a wildcard of an approve step over what divides names, so that it never covers more than its
//! author saw, and to let a value slip past a deny or an ask by what divides names.

use std::fmt;

use super::effect::Effect;

/// The longest pattern, bytes.
pub const PATTERN_MAX: usize = 256;
/// A longer value is not looked at: see [`Glob::matches_value`].
pub const VALUE_MAX: usize = 64 * 1024;

/// How far a wildcard reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Not over what divides names: an approve.
    WithinName,
    /// Over everything in a value, and a bare `*` over every name: a deny or an ask, whose values an agent writes.
    Everything,
}

impl From<Effect> for Reach {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Approve => Self::WithinName,
            Effect::Deny | Effect::Ask => Self::Everything,
        }
    }
}

/// A pattern that was checked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glob(String);

impl Glob {
    /// Takes a pattern.
    pub fn new(pattern: &str) -> Result<Self, String> {
        if pattern.is_empty() {
            return Err("an empty pattern matches nothing".to_owned());
        }
        if pattern.len() > PATTERN_MAX {
            return Err(format!("a pattern has at most {PATTERN_MAX} bytes"));
        }
        if pattern.contains("**") {
            return Err(
                "`**` is not supported: `*` matches any run of characters within one name"
                    .to_owned(),
            );
        }
        Ok(Self(pattern.to_owned()))
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it names exactly one thing.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        !self.0.contains(['*', '?'])
    }

    /// Whether it says nothing but "anything": only wildcards and what divides names.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        !self
            .0
            .contains(|c| !matches!(c, '*' | '?') && !divides_names(c))
    }

    /// Whether a name (of an agent, a tool, a framework, a skill) matches; `.`, `/` and `:` divide names.
    #[must_use]
    pub fn matches_name(&self, name: &str, reach: Reach) -> bool {
        (reach == Reach::Everything && self.0 == "*") || run(&self.0, name, divides_names)
    }

    /// Whether a text in the arguments matches. Within a name `/`, `\` and control characters divide, and a
    /// wildcard never reaches into a parent folder (`..`). None for a text that is too long to be looked at.
    #[must_use]
    pub fn matches_value(&self, value: &str, reach: Reach) -> Option<bool> {
        if value.len() > VALUE_MAX {
            return None;
        }
        let climbs = || value.split(['/', '\\']).any(|part| part == "..");
        Some(match reach {
            Reach::Everything => run(&self.0, value, |_| false),
            Reach::WithinName => {
                (self.is_literal() || !climbs()) && run(&self.0, value, divides_values)
            }
        })
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn divides_names(c: char) -> bool {
    matches!(c, '.' | '/' | ':')
}

fn divides_values(c: char) -> bool {
    matches!(c, '/' | '\\') || c.is_control()
}

/// The last `*` alone is ever widened: what an earlier one could swallow beyond its shortest match, the
/// last one can too, as none steps over a divider.
fn run(pattern: &str, text: &str, divides: fn(char) -> bool) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    let mut widen: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let (mut after, mut rest) = (pattern.clone(), text.clone());
        let matched = match (after.next(), rest.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                widen = Some((after.clone(), text.clone()));
                pattern = after;
                continue;
            }
            (Some('?'), Some(c)) => !divides(c),
            (Some(wanted), Some(c)) => wanted == c,
            _ => false,
        };
        if matched {
            (pattern, text) = (after, rest);
            continue;
        }
        let Some((from, swallowed)) = &mut widen else {
            return false;
        };
        if swallowed.next().is_none_or(divides) {
            return false;
        }
        (pattern, text) = (from.clone(), swallowed.clone());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_wildcard_stays_within_a_name() {
        for (pattern, name, matches) in [
            ("delete_invoice", "delete_invoice", true),
            ("delete_invoice", "delete_invoices", false),
            ("billing-*", "billing-bot", true),
            ("billing-*", "billing-", true),
            ("*-bot", "billing-bot", true),
            ("a*b*c", "aXbYbc", true),
            ("a*b*c", "aXbYb", false),
            ("db.*", "db.read", true),
            ("db.*", "db.admin.drop", false),
            ("*", "db.read", false),
            ("fs/*", "fs/read/all", false),
            ("d?te", "date", true),
            ("d?te", "d.te", false),
            ("*a*b", "a.ab", false),
            ("Delete*", "delete_invoice", false),
        ] {
            let glob = Glob::new(pattern).unwrap();
            assert_eq!(
                glob.matches_name(name, Reach::WithinName),
                matches,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn a_pattern_over_values_neither_climbs_nor_crosses_a_folder() {
        for (pattern, value, matches) in [
            ("INV-TEST-*", "INV-TEST-42", true),
            ("INV-TEST-*", "INV-42", false),
            ("*@example.com", "a.b@example.com", true),
            ("reports/*", "reports/a.txt", true),
            ("reports/*", "reports/a/b.txt", false),
            ("reports/*", "reports/..", false),
            ("*/../*", "a/../b", false),
            ("..", "..", true),
            ("rm *", "rm a\nrm b", false),
        ] {
            let glob = Glob::new(pattern).unwrap();
            assert_eq!(
                glob.matches_value(value, Reach::WithinName),
                Some(matches),
                "{pattern} {value}"
            );
        }
        let long = "a".repeat(VALUE_MAX + 1);
        assert_eq!(
            Glob::new("a*")
                .unwrap()
                .matches_value(&long, Reach::WithinName),
            None
        );
    }

    #[test]
    fn no_value_slips_past_a_deny_by_what_divides_names() {
        for (pattern, value, matches) in [
            ("rm *", "rm -rf /", true),
            ("rm *", "rm a\nb", true),
            ("*evil*", "a/b/evil\\c", true),
            ("/etc/*", "/etc/a/../passwd", true),
            ("/etc/?", "/etc//", true),
            ("*", "", true),
            ("rm *", "srm x", false),
        ] {
            let glob = Glob::new(pattern).unwrap();
            let found = glob.matches_value(value, Reach::Everything);
            assert_eq!(found, Some(matches), "{pattern} {value}");
        }
        let long = "a".repeat(VALUE_MAX + 1);
        let any = Glob::new("*").unwrap();
        assert_eq!(any.matches_value(&long, Reach::Everything), None);
        for (pattern, matches) in [("*", true), ("mail.*", true), ("mail*", false)] {
            let glob = Glob::new(pattern).unwrap();
            let found = glob.matches_name("mail.send", Reach::Everything);
            assert_eq!(found, matches, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_names_nothing_is_bare() {
        for (pattern, bare) in [("*", true), ("?*", true), ("*.*", true), ("a*", false)] {
            assert_eq!(Glob::new(pattern).unwrap().is_bare(), bare, "{pattern}");
        }
        for bad in ["", "a**", &"a".repeat(PATTERN_MAX + 1)] {
            assert!(Glob::new(bad).is_err(), "{bad}");
        }
    }

    /// Every way to read the pattern, one after the other.
    fn by_trying(pattern: &[char], text: &[char]) -> bool {
        match (pattern.first(), text.first()) {
            (None, None) => true,
            (Some('*'), _) => {
                by_trying(&pattern[1..], text)
                    || text.first().is_some_and(|c| !divides_names(*c))
                        && by_trying(pattern, &text[1..])
            }
            (Some('?'), Some(c)) => !divides_names(*c) && by_trying(&pattern[1..], &text[1..]),
            (Some(wanted), Some(c)) => wanted == c && by_trying(&pattern[1..], &text[1..]),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn matching_is_the_same_as_trying_every_way(
            pattern in "([ab.]|\\*[ab.]|\\?){1,6}", text in "[ab.]{0,8}",
        ) {
            let (p, t): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
            let glob = Glob::new(&pattern).unwrap();
            prop_assert_eq!(glob.matches_name(&text, Reach::WithinName), by_trying(&p, &t));
        }
    }
}
