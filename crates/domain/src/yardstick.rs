//! Which earlier call a person compares a new one with.
//!
//! Pure; that only approved calls come here is up to the caller.

use serde_json::Value;

/// Of calls with their arguments, the newest first, the one that shares most with `now`.
#[must_use]
pub fn nearest<T>(
    now: &Value,
    approved: impl IntoIterator<Item = (T, Value)>,
) -> Option<(T, Value)> {
    let mut best: Option<(usize, T, Value)> = None;
    for (call, args) in approved {
        let shared = shared(now, &args);
        if best.as_ref().is_none_or(|(most, ..)| shared > *most) {
            best = Some((shared, call, args));
        }
    }
    best.map(|(_, call, args)| (call, args))
}

/// How many top-level arguments are equal.
fn shared(one: &Value, other: &Value) -> usize {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let equal = |(name, value): &(&String, &Value)| other.get(*name) == Some(*value);
            one.iter().filter(equal).count()
        }
        _ => usize::from(one == other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_call_with_the_most_equal_arguments_is_the_yardstick_and_of_those_the_newest() {
        let now = json!({"payee": "Hallberg", "iban": "DE1", "amount": 90});
        let other = json!({"payee": "Nordwind", "iban": "DE2", "amount": 20});
        let near = json!({"payee": "Hallberg", "iban": "DE3", "amount": 10});
        let as_near = json!({"payee": "Hallberg", "iban": "DE1", "note": "x"});
        for (approved, expected) in [
            (vec![], None),
            (vec![&other], Some(&other)),
            (vec![&other, &near], Some(&near)),
            (vec![&near, &other, &near], Some(&near)),
            (vec![&other, &near, &as_near], Some(&as_near)),
        ] {
            let numbered = approved.iter().map(|args| (*args).clone()).enumerate();
            let found = nearest(&now, numbered);
            let first =
                expected.and_then(|wanted| approved.iter().position(|args| *args == wanted));
            assert_eq!(found.map(|(place, _)| place), first, "{approved:?}");
        }
        let whole = [(1, json!([2])), (2, json!([1])), (3, json!([1]))];
        assert_eq!(nearest(&json!([1]), whole).map(|(call, _)| call), Some(2));
    }
}
