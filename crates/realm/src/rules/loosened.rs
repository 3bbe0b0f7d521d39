//! Rules that hold calls back and that a change loosens. Pure.

use crate::domain::Timestamp;
use countersign_rules::{Effect, Enabled, Rule};

/// Ids of the rules that deny or ask and would hold back less: gone, off, about something else, weaker or for a
/// shorter time.
pub fn loosened(before: &[Rule], after: &[Rule], now: Timestamp) -> Vec<String> {
    let holds = |rule: &&Rule| {
        rule.effect != Effect::Approve && rule.enabled == Enabled::On && !rule.is_over(now)
    };
    let weaker = before.iter().filter(holds).filter(|rule| {
        let next = after.iter().find(|next| next.id == rule.id);
        !next.is_some_and(|next| holds_as_much(rule, next))
    });
    weaker.map(|rule| rule.id.clone()).collect()
}

fn holds_as_much(before: &Rule, after: &Rule) -> bool {
    let lasts = match (before.expires_at, after.expires_at) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(before), Some(after)) => before <= after,
    };
    let as_many = before.approvals.unwrap_or(1) <= after.approvals.unwrap_or(1);
    after.enabled == Enabled::On
        && before.effect <= after.effect
        && before.matchers == after.matchers
        && before.when == after.when
        && lasts
        && (as_many || after.effect == Effect::Deny)
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_rules::body::read_rule;

    #[test]
    fn a_rule_that_denies_or_asks_and_then_holds_back_less_is_told() {
        let deny = "effect = \"deny\"\ntool = \"t\"\n";
        let ask = "effect = \"ask\"\ntool = \"t\"\napprovals = 2\n";
        let approve = "effect = \"approve\"\ntool = \"t\"\nexpires_at = \"2999-01-01T00:00:00Z\"\n";
        let year = |year: u32| format!("{deny}expires_at = \"{year}-01-01T00:00:00Z\"\n");
        for (before, after, less) in [
            (deny, "", true),
            (deny, deny, false),
            (
                deny,
                "effect = \"deny\"\ntool = \"t\"\nname = \"x\"\nmessage = \"no\"\n",
                false,
            ),
            (
                deny,
                "effect = \"deny\"\ntool = \"t\"\nenabled = false\n",
                true,
            ),
            (
                deny,
                "effect = \"deny\"\ntool = \"t\"\nenabled = \"shadow\"\n",
                true,
            ),
            (
                deny,
                "effect = \"deny\"\ntool = \"t\"\nrisk = \"high\"\n",
                true,
            ),
            (
                deny,
                "effect = \"deny\"\ntool = \"t\"\nwhen = \"args.a > 1\"\n",
                true,
            ),
            (deny, ask, true),
            (deny, &year(2998), true),
            (&year(2998), &year(2999), false),
            (&year(2998), deny, false),
            (&year(1999), "", false),
            (ask, deny, false),
            (ask, "effect = \"ask\"\ntool = \"t\"\n", true),
            (
                ask,
                "effect = \"ask\"\ntool = \"t\"\napprovals = 3\n",
                false,
            ),
            (ask, approve, true),
            (approve, "", false),
            (
                "effect = \"deny\"\ntool = \"t\"\nenabled = false\n",
                "",
                false,
            ),
        ] {
            let rules = |text: &str| -> Vec<Rule> {
                let text = (!text.is_empty()).then(|| format!("id = \"a\"\n{text}"));
                text.iter().map(|text| read_rule(text).unwrap()).collect()
            };
            let reported = loosened(&rules(before), &rules(after), Timestamp(1_700_000_000_000));
            assert_eq!(!reported.is_empty(), less, "{before} => {after}");
        }
    }
}
