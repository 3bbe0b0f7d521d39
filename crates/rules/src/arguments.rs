//! What a rule asks of the arguments.
//!
//! Refuses to guess: what is missing or of another type, however deep it is, is an error and not
//! "different".

use std::collections::BTreeMap;

use countersign_wire::pointer;
use serde_json::Value;

use super::glob::Reach;
use super::rule::ArgTest;
use super::unsure::Unsure;

/// Whether an argument is what the rule asks for.
pub fn holds(test: &ArgTest, value: Option<&Value>, reach: Reach) -> Result<bool, Unsure> {
    let value = value.ok_or(Unsure::Missing)?;
    let mut all = true;
    if let Some(wanted) = &test.eq {
        all &= same(wanted, value)?;
    }
    if let Some(list) = &test.one_of {
        all &= is_one_of(list, value)?;
    }
    if let Some(glob) = &test.glob {
        let text = value.as_str().ok_or(Unsure::WrongType)?;
        all &= glob.matches_value(text, reach).ok_or(Unsure::TooLarge)?;
    }
    let number = || value.as_f64().ok_or(Unsure::WrongType);
    if let Some(bound) = test.lt {
        all &= number()? < bound;
    }
    if let Some(bound) = test.gt {
        all &= number()? > bound;
    }
    if test.min_len.is_some() || test.max_len.is_some() {
        let length = match value {
            Value::String(text) => text.chars().count(),
            Value::Array(list) => list.len(),
            _ => return Err(Unsure::WrongType),
        };
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        all &= test.min_len.is_none_or(|least| length >= least);
        all &= test.max_len.is_none_or(|most| length <= most);
    }
    Ok(all)
}

/// Whether two JSON values are the same; numbers by their value. Items of other types are unsure wherever
/// they stand, and so is null but where the rule writes it.
pub fn same(wanted: &Value, value: &Value) -> Result<bool, Unsure> {
    Ok(match (wanted, value) {
        (Value::Null, value) => value.is_null(),
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a == b,
            _ => a.as_f64() == b.as_f64(),
        },
        (Value::Array(wanted), Value::Array(list)) => {
            let mut alike = wanted.len() == list.len();
            for (wanted, value) in wanted.iter().zip(list) {
                alike &= same(wanted, value)?;
            }
            alike
        }
        (Value::Object(wanted), Value::Object(map)) => {
            let mut alike = wanted.len() == map.len();
            for (name, wanted) in wanted {
                alike &= match map.get(name) {
                    Some(value) => same(wanted, value)?,
                    None => false,
                };
            }
            alike
        }
        (wanted, value) if is_of_kind(wanted, value) => wanted == value,
        _ => return Err(Unsure::WrongType),
    })
}

fn is_of_kind(wanted: &Value, value: &Value) -> bool {
    std::mem::discriminant(wanted) == std::mem::discriminant(value)
}

/// Whether a value is one of these. Those of other types than its own say nothing of it, unless all do.
fn is_one_of(list: &[Value], value: &Value) -> Result<bool, Unsure> {
    // Null beside others says nothing of what has no type like them.
    let mut comparable = list.iter().all(Value::is_null);
    let mut unsure = false;
    for wanted in list {
        match same(wanted, value) {
            Ok(true) => return Ok(true),
            Ok(false) => comparable |= is_of_kind(wanted, value),
            Err(_) => unsure |= is_of_kind(wanted, value),
        }
    }
    match comparable && !unsure {
        true => Ok(false),
        false => Err(Unsure::WrongType),
    }
}

/// Whether every argument is one that the tests name: itself, or something around it.
#[must_use]
pub fn all_named<T>(args: &Value, tests: &BTreeMap<String, T>) -> bool {
    named(args, &mut String::new(), tests)
}

fn named<T>(value: &Value, at: &mut String, tests: &BTreeMap<String, T>) -> bool {
    if tests.contains_key(at.as_str()) {
        return true;
    }
    // Nothing below is named: no need to walk it.
    let below = format!("{at}/");
    if !tests
        .range(below.clone()..)
        .next()
        .is_some_and(|(name, _)| name.starts_with(&below))
    {
        return false;
    }
    let mut each = |name: &str, value: &Value| {
        let length = at.len();
        at.push('/');
        at.push_str(&pointer::step(name));
        let fits = named(value, at, tests);
        at.truncate(length);
        fits
    };
    match value {
        Value::Object(map) => map.iter().all(|(name, value)| each(name, value)),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .all(|(place, value)| each(&place.to_string(), value)),
        _ => false,
    }
}

/// Whether a text anywhere in it, names too, hides, reorders or forges what a person reads. Line feeds
/// and tabs are shown as what they are.
#[must_use]
pub fn has_hidden(value: &Value) -> bool {
    match value {
        Value::String(text) => is_hidden(text),
        Value::Array(list) => list.iter().any(has_hidden),
        Value::Object(map) => map
            .iter()
            .any(|(name, value)| is_hidden(name) || has_hidden(value)),
        _ => false,
    }
}

/// The same of one text.
#[must_use]
pub fn is_hidden(text: &str) -> bool {
    let shown = |c: char| matches!(c, '\n' | '\t' | '\r');
    text.chars()
        .any(|c| !shown(c) && countersign_wire::is_hostile(c))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::super::glob::Glob;
    use super::*;

    #[test]
    fn a_test_holds_fails_or_does_not_know() {
        let eq = |value: Value| ArgTest {
            eq: Some(value),
            ..ArgTest::default()
        };
        let one_of = |list: Vec<Value>| ArgTest {
            one_of: Some(list),
            ..ArgTest::default()
        };
        let glob = |text| ArgTest {
            glob: Glob::new(text).ok(),
            ..ArgTest::default()
        };
        let lt = |bound| ArgTest {
            lt: Some(bound),
            ..ArgTest::default()
        };
        let gt = |bound| ArgTest {
            gt: Some(bound),
            ..ArgTest::default()
        };
        let length = |least, most| ArgTest {
            min_len: least,
            max_len: most,
            ..ArgTest::default()
        };
        let wrong = Err(Unsure::WrongType);
        for (test, value, answer) in [
            (eq(json!(1)), json!(1.0), Ok(true)),
            (eq(json!("a")), json!("b"), Ok(false)),
            (eq(json!("1")), json!(1), wrong),
            (eq(json!(true)), json!(1), wrong),
            (eq(json!("a")), json!(null), wrong),
            (eq(json!(null)), json!(null), Ok(true)),
            (eq(json!(null)), json!("a"), Ok(false)),
            (eq(json!(["1"])), json!([1]), wrong),
            (eq(json!(["1"])), json!(["2"]), Ok(false)),
            (eq(json!(["a", "b"])), json!(["c", 1]), wrong),
            (eq(json!(["a"])), json!([null]), wrong),
            (eq(json!([null])), json!(["a"]), Ok(false)),
            (eq(json!(["a"])), json!(["b", 1]), Ok(false)),
            (eq(json!({"a": "1"})), json!({"a": 1}), wrong),
            (eq(json!({"a": "1"})), json!({"a": 1, "b": 2}), wrong),
            (eq(json!({"a": "1"})), json!({"b": 1}), Ok(false)),
            (eq(json!([[{"a": "1"}]])), json!([[{"a": [1]}]]), wrong),
            (eq(json!([1, {"a": 2}])), json!([1.0, {"a": 2}]), Ok(true)),
            (eq(json!({"a": 1})), json!({"a": 1, "b": 2}), Ok(false)),
            (
                eq(json!(9_007_199_254_740_993_u64)),
                json!(9_007_199_254_740_992_u64),
                Ok(false),
            ),
            (one_of(vec![json!("a"), json!("b")]), json!("b"), Ok(true)),
            (one_of(vec![json!("a"), json!(1)]), json!("c"), Ok(false)),
            (one_of(vec![json!("a")]), json!(1), wrong),
            (one_of(vec![json!("a")]), json!(null), wrong),
            (one_of(vec![json!("a"), json!(null)]), json!(null), Ok(true)),
            (one_of(vec![json!("a"), json!(null)]), json!(1), wrong),
            (one_of(vec![json!(null)]), json!(1), Ok(false)),
            (one_of(vec![json!(["1"])]), json!([1]), wrong),
            (one_of(vec![json!(["1"]), json!([2])]), json!([1]), wrong),
            (one_of(vec![json!(["1"]), json!([1])]), json!([1]), Ok(true)),
            (one_of(vec![json!("1"), json!([2])]), json!([1]), Ok(false)),
            (glob("INV-*"), json!("INV-1"), Ok(true)),
            (glob("INV-*"), json!(["INV-1"]), wrong),
            (
                glob("a*"),
                json!("a".repeat(100_000)),
                Err(Unsure::TooLarge),
            ),
            (lt(100.0), json!(99), Ok(true)),
            (lt(100.0), json!(100), Ok(false)),
            (lt(100.0), json!("99"), wrong),
            (lt(100.0), json!(null), wrong),
            (gt(0.0), json!(-1), Ok(false)),
            (gt(0.0), json!(true), wrong),
            (length(Some(1), None), json!(""), Ok(false)),
            (length(None, Some(2)), json!("éé"), Ok(true)),
            (length(None, Some(2)), json!([1, 2, 3]), Ok(false)),
            (length(None, Some(2)), json!({}), wrong),
            (length(None, Some(2)), json!(1), wrong),
        ] {
            assert_eq!(
                holds(&test, Some(&value), Reach::WithinName),
                answer,
                "{test:?} {value}"
            );
        }
        assert_eq!(
            holds(&lt(1.0), None, Reach::WithinName),
            Err(Unsure::Missing)
        );
    }

    #[test]
    fn an_argument_that_is_not_named_is_found_wherever_it_stands() {
        let tests = |pointers: &[&str]| {
            pointers
                .iter()
                .map(|at| ((*at).to_owned(), ArgTest::default()))
                .collect()
        };
        for (pointers, args, all) in [
            (vec!["/a"], json!({"a": 1}), true),
            (vec!["/a"], json!({"a": 1, "b": 2}), false),
            (vec!["/a"], json!({}), true),
            (vec!["/a"], json!({"a": {"b": 1}}), true),
            (vec!["/a/b"], json!({"a": {"b": 1}}), true),
            (vec!["/a/b"], json!({"a": {"b": 1, "c": 2}}), false),
            (vec!["/a/b"], json!({"a": 1}), false),
            (vec!["/a/0", "/a/1"], json!({"a": [1, 2]}), true),
            (vec!["/a/0"], json!({"a": [1, 2]}), false),
            (vec!["/a~1b"], json!({"a/b": 1}), true),
            (vec!["/a"], json!("text"), false),
            (vec!["/a"], json!(["x"]), false),
            (vec![""], json!({"anything": [1]}), true),
            (vec!["/a-b", "/a/c"], json!({"a": {"c": 1}, "a-b": 1}), true),
        ] {
            assert_eq!(
                all_named(&args, &tests(&pointers)),
                all,
                "{pointers:?} {args}"
            );
        }
    }

    #[test]
    fn hidden_characters_are_found_in_names_and_values() {
        for (value, hidden) in [
            (json!({"path": "a\nb\tc"}), false),
            (json!({"path": "caf\u{e9}"}), false),
            (json!({"path": "a\u{202e}b"}), true),
            (json!({"pa\u{200b}th": "a"}), true),
            (json!({"list": [{"x": "\u{feff}"}]}), true),
        ] {
            assert_eq!(has_hidden(&value), hidden, "{value}");
        }
    }
}
