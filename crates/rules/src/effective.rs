//! The arguments that run, where a request says that its framework changes them after the gate.
//!
//! Refuses to guess: what is added without its value, or told in a shape that nobody knows, is not there.

use countersign_wire::Effective;
use serde_json::{Map, Value};

/// The arguments that run; none where they are those at the gate, null where it is unknown.
#[must_use]
pub fn args_that_run(args: Option<&Value>, effective: Option<&Effective>) -> Option<Value> {
    let run = laid(args, effective?).unwrap_or(Value::Null);
    let none = Value::Object(Map::new());
    (args.unwrap_or(&none) != &run).then_some(run)
}

/// Defaults beneath the arguments that are not dropped, these beneath what they are turned into, and that beneath
/// fixed values.
fn laid(args: Option<&Value>, effective: &Effective) -> Option<Value> {
    let mut run = match args {
        None => Map::new(),
        Some(Value::Object(args)) => args.clone(),
        // Names mean nothing in a list or a text.
        Some(other) => return says_nothing(effective).then(|| other.clone()),
    };
    for name in effective.dropped_names.iter().flatten() {
        run.remove(name);
    }
    for (name, value) in values(effective.defaults.as_ref())? {
        run.entry(name).or_insert(value);
    }
    match &effective.coerced {
        // Names alone: into what they are turned is not informed.
        Some(Value::Array(names)) => names.iter().for_each(|name| {
            run.remove(name.as_str().unwrap_or_default());
        }),
        coerced => run.extend(values(coerced.as_ref())?),
    }
    run.extend(values(effective.fixed.as_ref())?);
    for name in effective.injected_names.iter().flatten() {
        run.remove(name);
    }
    Some(Value::Object(run))
}

fn values(reported: Option<&Value>) -> Option<Map<String, Value>> {
    match reported {
        None | Some(Value::Null) => Some(Map::new()),
        Some(Value::Object(values)) => Some(values.clone()),
        Some(_) => None,
    }
}

fn says_nothing(effective: &Effective) -> bool {
    let names = [&effective.injected_names, &effective.dropped_names];
    let reported = [&effective.fixed, &effective.defaults, &effective.coerced];
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Object(values) => values.is_empty(),
        Value::Array(names) => names.is_empty(),
        _ => false,
    };
    names.into_iter().flatten().all(Vec::is_empty) && reported.into_iter().flatten().all(is_empty)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_framework_changes_is_laid_over_the_arguments() {
        for (args, effective, run) in [
            (json!({"a": 1}), json!({}), None),
            (
                json!({"a": 1}),
                json!({"fixed": null, "defaults": {}}),
                None,
            ),
            (
                json!({"a": 1}),
                json!({"fixed": {"a": 1}, "defaults": {"a": 2}}),
                None,
            ),
            (json!({"a": 1}), json!({"injected_names": ["db"]}), None),
            (
                json!({"a": 1}),
                json!({"fixed": {"a": 2}}),
                Some(json!({"a": 2})),
            ),
            (
                json!({"a": 1}),
                json!({"defaults": {"b": 2}}),
                Some(json!({"a": 1, "b": 2})),
            ),
            (
                json!({"a": 1}),
                json!({"dropped_names": ["a"]}),
                Some(json!({})),
            ),
            (
                json!({"a": 1}),
                json!({"dropped_names": ["a"], "defaults": {"a": 3}}),
                Some(json!({"a": 3})),
            ),
            (
                json!({"a": "1"}),
                json!({"coerced": {"a": 1}}),
                Some(json!({"a": 1})),
            ),
            (
                json!({"a": "1"}),
                json!({"coerced": ["a"]}),
                Some(json!({})),
            ),
            (
                json!({"a": 1}),
                json!({"injected_names": ["a"]}),
                Some(json!({})),
            ),
            (
                json!({"a": 1}),
                json!({"coerced": {"a": 2}, "fixed": {"a": 3}}),
                Some(json!({"a": 3})),
            ),
            (json!({"a": 1}), json!({"fixed": ["a"]}), Some(Value::Null)),
            (json!(["a"]), json!({"fixed": {"a": 1}}), Some(Value::Null)),
            (json!(["a"]), json!({"fixed": {}}), None),
        ] {
            let reported: Effective = serde_json::from_value(effective.clone()).unwrap();
            assert_eq!(
                args_that_run(Some(&args), Some(&reported)),
                run,
                "{args} {effective}"
            );
        }
        let reported: Effective = serde_json::from_value(json!({"defaults": {"a": 1}})).unwrap();
        assert_eq!(args_that_run(None, Some(&reported)), Some(json!({"a": 1})));
        assert_eq!(args_that_run(Some(&json!({"a": 1})), None), None);
    }
}
