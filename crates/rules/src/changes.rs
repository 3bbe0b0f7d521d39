//! What became of one rule between two versions of its set.
//!
//! Refuses to read more than the rule's own words: a set that no longer can be evaluated still says who
//! changed it.

use serde_json::{Map, Value};

use super::rule::Enabled;

/// Fields that the console counts itself.
const COUNTED: [&str; 2] = ["version", "since"];

/// What somebody did to a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It was nowhere before.
    Made,
    /// It is the oldest version that is known here, and not its first.
    Known,
    /// It says something else.
    Changed,
    /// It is gone.
    Removed,
}

/// One change of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What somebody did.
    pub kind: Kind,
    /// The version that came of it; of a rule that is gone its last one.
    pub version: u64,
    /// Whether it acts from then on; none where that did not change.
    pub state: Option<Enabled>,
    /// Other fields that changed, by name.
    pub fields: Vec<String>,
    /// A decision of it was called wrong, which turned it off.
    pub regret: bool,
}

/// A set as it was: the canonical JSON of `{rules, regrets, …}`.
#[derive(Debug, Clone, Copy)]
pub struct RuleSetValue<'a>(pub &'a Value);

impl<'a> RuleSetValue<'a> {
    fn rule(self, id: &str) -> Option<&'a Map<String, Value>> {
        let rules = self.0["rules"].as_array()?;
        rules.iter().find(|rule| rule["id"] == id)?.as_object()
    }

    fn regrets(self, id: &str) -> u64 {
        self.0["regrets"][id]["count"].as_u64().unwrap_or(0)
    }
}

/// What happened to a rule between two sets; none where nothing did. Without a set before, the rule was made
/// if this is its first version.
#[must_use]
pub fn between(
    before: Option<RuleSetValue<'_>>,
    after: RuleSetValue<'_>,
    id: &str,
) -> Option<Change> {
    let was = before.and_then(|set| set.rule(id));
    let regret = after.regrets(id) > before.map_or(0, |set| set.regrets(id));
    let change = |kind, of: &Map<String, Value>| Change {
        kind,
        version: of.get("version").and_then(Value::as_u64).unwrap_or(0),
        state: None,
        fields: Vec::new(),
        regret: false,
    };
    let Some(is) = after.rule(id) else {
        return Some(change(Kind::Removed, was?));
    };
    let Some(was) = was else {
        let mut made = change(Kind::Made, is);
        if before.is_none() && made.version != 1 {
            made.kind = Kind::Known;
        }
        made.state = Some(state(is));
        return Some(made);
    };
    let mut changed = change(Kind::Changed, is);
    changed.regret = regret;
    changed.state = (state(was) != state(is)).then(|| state(is));
    let mut names: Vec<&String> = was.keys().chain(is.keys()).collect();
    names.sort_unstable();
    names.dedup();
    changed.fields = names
        .into_iter()
        .filter(|name| *name != "enabled" && !COUNTED.contains(&name.as_str()))
        .filter(|name| was.get(*name) != is.get(*name))
        .cloned()
        .collect();
    let nothing = changed.state.is_none() && changed.fields.is_empty() && !regret;
    (!nothing).then_some(changed)
}

fn state(rule: &Map<String, Value>) -> Enabled {
    match rule.get("enabled") {
        Some(Value::Bool(false)) => Enabled::Off,
        Some(Value::String(_)) => Enabled::Shadow,
        _ => Enabled::On,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn set(rules: &[Value]) -> Value {
        json!({ "rules": rules, "regrets": {} })
    }

    fn rule(version: u64, enabled: Value, name: &str) -> Value {
        json!({ "id": "r", "version": version, "since": format!("s{version}"), "enabled": enabled, "name": name })
    }

    fn reported(
        before: Option<&Value>,
        after: &Value,
    ) -> Option<(Kind, u64, Option<Enabled>, Vec<String>)> {
        let change = between(before.map(RuleSetValue), RuleSetValue(after), "r")?;
        Some((change.kind, change.version, change.state, change.fields))
    }

    #[test]
    fn each_change_of_a_rule_is_told_once_and_what_happens_to_others_never() {
        let nothing = set(&[json!({ "id": "other", "version": 1 })]);
        let first = set(&[rule(1, json!("shadow"), "a")]);
        let on = set(&[rule(2, json!(true), "a")]);
        let renamed = set(&[
            rule(3, json!(false), "b"),
            json!({ "id": "other", "version": 9 }),
        ]);
        let later = set(&[
            rule(3, json!(false), "b"),
            json!({ "id": "other", "version": 10 }),
        ]);
        let none = Vec::<String>::new;
        let table = [
            (None, &nothing, None),
            (
                None,
                &first,
                Some((Kind::Made, 1, Some(Enabled::Shadow), none())),
            ),
            (None, &on, Some((Kind::Known, 2, Some(Enabled::On), none()))),
            (
                Some(&nothing),
                &first,
                Some((Kind::Made, 1, Some(Enabled::Shadow), none())),
            ),
            (
                Some(&nothing),
                &on,
                Some((Kind::Made, 2, Some(Enabled::On), none())),
            ),
            (
                Some(&first),
                &on,
                Some((Kind::Changed, 2, Some(Enabled::On), none())),
            ),
            (
                Some(&on),
                &renamed,
                Some((
                    Kind::Changed,
                    3,
                    Some(Enabled::Off),
                    vec!["name".to_owned()],
                )),
            ),
            (Some(&renamed), &later, None),
            (
                Some(&later),
                &nothing,
                Some((Kind::Removed, 3, None, none())),
            ),
            (Some(&nothing), &nothing, None),
        ];
        for (place, (before, after, wanted)) in table.into_iter().enumerate() {
            assert_eq!(reported(before, after), wanted, "line {place}");
        }
    }

    #[test]
    fn a_regret_is_told_as_one() {
        let before = set(&[rule(1, json!(true), "a")]);
        let mut after = set(&[rule(2, json!(false), "a")]);
        after["regrets"] = json!({ "r": { "count": 1, "last": [] } });
        let change = between(Some(RuleSetValue(&before)), RuleSetValue(&after), "r").unwrap();
        assert!(change.regret);
        assert_eq!(change.state, Some(Enabled::Off));
        assert!(
            !between(Some(RuleSetValue(&after)), RuleSetValue(&after), "r")
                .is_some_and(|of| of.regret)
        );
    }
}
