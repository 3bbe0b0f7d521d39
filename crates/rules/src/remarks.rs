//! What is no mistake in a rule, and makes it do less or more than it seems to.
//!
//! Refuses nothing.

use super::rule::{Effect, Rule};
use crate::domain::Timestamp;

/// One sentence for each.
#[must_use]
pub fn remarks(rule: &Rule, now: Timestamp) -> Vec<String> {
    let id = &rule.id;
    let mut reported = Vec::new();
    if rule.is_late(now) {
        let at = rule.expires_at.map(Timestamp::rfc3339).unwrap_or_default();
        reported.push(format!(
            "the rule {id} approves nothing: it expired at {at}; `rules apply` accepts it only if it is already in force"
        ));
    }
    if let Some(sum) = &rule.sum
        && rule.matchers.only_args
        && !rule
            .matchers
            .args
            .keys()
            .any(|named| holds(named, &sum.pointer))
    {
        reported.push(format!(
            "the rule {id} approves nothing: only_args leaves {} out, and sum needs it; name it under args",
            sum.pointer
        ));
    }
    let reads_args = !rule.matchers.args.is_empty()
        || rule.when.as_ref().is_some_and(|when| when.contains("args"));
    if rule.effect != Effect::Approve && rule.matchers.tool.is_empty() && reads_args {
        reported.push(format!(
            "the rule {id} names no tool, so every call without its arguments asks, even if another rule approves it"
        ));
    }
    reported
}

/// Whether the value at one JSON pointer is that at another one, or holds it.
fn holds(outer: &str, inner: &str) -> bool {
    let rest = inner.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::body::read_rule;

    #[test]
    fn a_rule_that_cannot_do_what_it_seems_to_is_remarked_and_no_other() {
        let approve = "effect = \"approve\"\nexpires_at = \"2999-01-01T00:00:00Z\"\ntool = \"pay\"\n\
            sum = { pointer = \"/order/amount\", max = 5, per = \"1h\" }\n";
        for (body, says) in [
            (
                format!(
                    "{approve}only_args = true\nargs.\"/id\" = {}\n",
                    "{ eq = 1 }"
                ),
                Some("sum needs it"),
            ),
            (
                format!(
                    "{approve}only_args = true\nargs.\"/orde\" = {}\n",
                    "{ eq = 1 }"
                ),
                Some("sum needs it"),
            ),
            (
                format!(
                    "{approve}only_args = true\nargs.\"/order\" = {}\n",
                    "{ min_len = 1 }"
                ),
                None,
            ),
            (
                format!(
                    "{approve}only_args = true\nargs.\"/order/amount\" = {}\n",
                    "{ lt = 5 }"
                ),
                None,
            ),
            (format!("{approve}args.\"/id\" = {}\n", "{ eq = 1 }"), None),
            (approve.replace("2999", "1999"), Some("it expired at")),
            (
                "effect = \"deny\"\nargs.\"/env\" = { eq = \"prod\" }\n".to_owned(),
                Some("names no tool"),
            ),
            (
                "effect = \"ask\"\nwhen = \"args.amount > 5\"\n".to_owned(),
                Some("names no tool"),
            ),
            (
                "effect = \"ask\"\nwhen = \"risk == \\\"low\\\"\"\n".to_owned(),
                None,
            ),
            (
                "effect = \"deny\"\ntool = \"deploy\"\nargs.\"/env\" = { eq = \"prod\" }\n"
                    .to_owned(),
                None,
            ),
        ] {
            let rule = read_rule(&format!("id = \"a\"\n{body}")).unwrap();
            let reported = remarks(&rule, Timestamp::parse("2026-01-01T00:00:00Z").unwrap());
            assert_eq!(
                reported.len(),
                usize::from(says.is_some()),
                "{body}: {reported:?}"
            );
            assert!(
                reported
                    .iter()
                    .zip(says)
                    .all(|(reported, says)| reported.contains(says)),
                "{body}: {reported:?}"
            );
        }
    }
}
