#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::json;

use super::*;
use crate::setup::apply;

fn bot() -> AgentKey {
    "acme/bot".parse().unwrap()
}

fn field(name: &str, more: Value) -> Value {
    let mut field = json!({"bs_name": name, "bs_type": "int", "bs_default": 1, "bs_group": "g"});
    field
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    field
}

fn names(fields: &Value) -> Vec<String> {
    let read = read_schema(fields).unwrap();
    ordered(read.0)
        .into_iter()
        .map(|field| field.name)
        .collect()
}

#[test]
fn keys_stand_by_group_then_place_then_importance_then_as_declared() {
    let fields = json!([
        field("late", json!({"bs_group": "b", "bs_order": 9})),
        field("plain", json!({"bs_group": "c"})),
        field("b2", json!({"bs_group": "a", "bs_order": 2})),
        field("b1", json!({"bs_group": "a", "bs_order": 1})),
        field("other", json!({"bs_group": "c"})),
        field("first", json!({"bs_group": "c", "bs_importance": 2})),
    ]);
    assert_eq!(
        names(&fields),
        ["b1", "b2", "late", "first", "plain", "other"]
    );
}

#[test]
fn everything_that_is_wrong_is_told_with_its_path_and_what_is_right_is_not() {
    let schema = read_schema(&json!([
        field("count", json!({})),
        field(
            "rows",
            json!({"bs_type": "list_dict", "bs_default": [], "bs_elements": [
                {"bs_name": "name", "bs_type": "string_short", "bs_default": ""},
                {"bs_name": "size", "bs_type": "int", "bs_default": 1},
            ]})
        ),
        field("free", json!({"bs_type": "list_dict", "bs_default": []})),
    ]))
    .unwrap();
    let set = |key: &str, value: Value| SetupChange::Set(key.into(), value);
    for (change, places) in [
        (set("count", json!(2)), vec![]),
        (set("count", Value::Null), vec![]),
        (set("count", json!(true)), vec!["count"]),
        (
            SetupChange::Bind("count".into(), json!("1"), false),
            vec!["count"],
        ),
        (set("gone", json!(1)), vec!["gone"]),
        (set("gone", Value::Null), vec![]),
        (SetupChange::Unbind("gone".into()), vec![]),
        (set("rows", json!({})), vec!["rows"]),
        (set("rows", json!([{"name": "a", "size": null}])), vec![]),
        (
            set(
                "rows",
                json!([{"name": 1}, 2, {"name": "a", "size": "x", "sise": 1}]),
            ),
            vec!["rows[0].name", "rows[1]", "rows[2].sise", "rows[2].size"],
        ),
        (set("free", json!([{"any": {"thing": 1}}])), vec![]),
        (set("free", json!([1])), vec!["free[0]"]),
    ] {
        let mut found: Vec<_> = problems(&schema, std::slice::from_ref(&change))
            .iter()
            .map(Problem::place)
            .collect();
        found.sort();
        assert_eq!(found, places, "{change:?}");
    }
}

fn value(payload: Value) -> SetupValue {
    SetupValue::read(payload.to_string().as_bytes()).unwrap()
}

#[test]
fn a_form_tells_what_spares_a_question_and_what_was_set_for_keys_that_are_gone() {
    let declared = read_schema(&json!([
        field("count", json!({})),
        field("other", json!({}))
    ]));
    let at = "2026-11-22T09:00:00Z";
    let count = declared.as_ref().unwrap().field("count").unwrap();
    let digest = count.digest().to_string();
    let bound = |skips_when: i64| json!({"skips_when": skips_when, "by": "ann", "at": at, "declared": digest});
    let set = value(json!({
        "v": 1, "by": "ann", "at": at,
        "values": {"count": {"value": 5, "by": "ann", "at": at}, "gone": {"value": 1, "by": "ann", "at": at}},
        "bindings": {"count": bound(5), "other": bound(2), "away": bound(1)},
    }));
    let form = form(&bot(), Some(declared), (set, true), 7);
    let Declared::Keys(keys) = &form.declared else {
        panic!("{form:?}");
    };
    let reported: Vec<_> = keys
        .iter()
        .map(|key| (key.value.clone(), key.spares()))
        .collect();
    assert_eq!(reported, [(json!(5), true), (json!(1), false)]);
    let gone: Vec<_> = form
        .leftovers
        .iter()
        .map(|left| left.key.as_str())
        .collect();
    assert_eq!(gone, ["away", "gone"]);
    assert!(form.readable && form.changed == Some(("ann".into(), at.into())));
}

/// Whether `key` spares its question and, for a console that judges, whether its binding counts.
fn spares(setup: &SetupValue, declared: &Value) -> bool {
    let schema = read_schema(&json!([declared])).unwrap();
    let in_force = setup.in_force(&schema, 1);
    let counts = in_force
        .bindings
        .get("key")
        .is_some_and(|bound| !bound.redeclared && bound.skips_when == in_force.values["key"]);
    let form = form(&bot(), Some(Ok(schema)), (setup.clone(), true), 1);
    let Declared::Keys(keys) = &form.declared else {
        panic!("{form:?}");
    };
    assert_eq!(
        keys[0].spares(),
        counts,
        "what is shown is what is judged by"
    );
    assert_eq!(
        keys[0].is_redeclared() || keys[0].bound.is_none(),
        in_force.bindings["key"].redeclared
    );
    counts
}

#[test]
fn an_agent_flips_no_bound_key_by_declaring_it_otherwise() {
    let flag = |more: Value| {
        let kind = json!({"bs_type": "bool", "bs_default": false});
        let mut field = field("key", kind);
        field
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        field
    };
    let asks_first = flag(json!({"bs_default": true}));
    let change = |setup: &mut SetupValue, declared: &Value, change: SetupChange| {
        let schema = read_schema(&json!([declared])).unwrap();
        apply(
            setup,
            &change,
            schema.field("key"),
            ("ann".into(), "2026-11-22T09:00:00Z".into()),
        )
        .unwrap();
    };
    let bind = || SetupChange::Bind("key".into(), json!(false), false);
    let set = |value: Value| SetupChange::Set("key".into(), value);
    let mut setup = value(json!({"v": 1, "by": "ann", "at": "2026-11-22T09:00:00Z"}));
    change(&mut setup, &asks_first, bind());
    assert!(!spares(&setup, &asks_first));
    assert!(!spares(&setup, &flag(json!({}))), "the agent flipped it");
    let words = flag(json!({"bs_description": "another", "bs_order": 3}));
    change(&mut setup, &flag(json!({})), bind());
    assert!(spares(&setup, &words), "bound again; words are not a value");
    assert!(!spares(&setup, &asks_first));
    change(&mut setup, &asks_first, set(json!(false)));
    assert!(spares(&setup, &asks_first), "an operator chose the value");
    assert!(
        !spares(&setup, &flag(json!({"bs_type": "int", "bs_default": 0}))),
        "what was chosen does not fit any more"
    );
    change(&mut setup, &asks_first, set(Value::Null));
    assert!(!spares(&setup, &asks_first));
}

#[test]
fn a_default_spares_nothing_in_the_place_of_a_chosen_value_that_does_not_fit() {
    let at = "2026-11-22T09:00:00Z";
    let declared = field("key", json!({}));
    let schema = read_schema(&json!([declared])).unwrap();
    let digest = schema.field("key").unwrap().digest();
    let setup = |chosen: Value| {
        value(json!({
            "v": 1, "by": "ann", "at": at,
            "values": {"key": {"value": chosen, "by": "ann", "at": at}},
            "bindings": {"key": {"skips_when": 1, "by": "ann", "at": at, "declared": digest.to_string()}},
        }))
    };
    for (chosen, passes) in [
        (json!(1), true),
        (json!(null), true),
        (json!(2), false),
        (json!(i64::MAX), false),
        (json!(9_007_199_254_740_992_i64), false),
        (json!("1"), false),
    ] {
        assert_eq!(
            spares(&setup(chosen.clone()), &declared),
            passes,
            "{chosen}"
        );
    }
    let form = form(&bot(), Some(Ok(schema)), (setup(json!(i64::MAX)), true), 1);
    let Declared::Keys(keys) = &form.declared else {
        panic!("{form:?}");
    };
    assert_eq!(keys[0].value, json!(1));
    assert_eq!(keys[0].unfit().unwrap().value, json!(i64::MAX));
}

#[test]
fn a_binding_that_does_not_say_what_was_declared_spares_nothing_and_unknown_fields_are_kept() {
    let at = "2026-11-22T09:00:00Z";
    let declared = field("key", json!({"bs_type": "bool", "bs_default": false}));
    let bound = json!({"skips_when": false, "critical": false, "by": "ann", "at": at, "later": 1});
    let stored = json!({
        "v": 1, "by": "ann", "at": at, "newer": [2], "bindings": {"key": bound},
        "values": {"key": {"value": false, "by": "ann", "at": at}},
    });
    assert!(!spares(&value(stored.clone()), &declared));
    assert_eq!(json!(value(stored.clone())), stored);
}

#[test]
fn an_agent_without_keys_one_with_wrong_ones_and_an_unreadable_setup_are_told_apart() {
    let wrong = read_schema(&json!([{"bs_name": "1"}]));
    let none = form(&bot(), None, (SetupValue::default(), true), 0);
    assert_eq!((&none.declared, none.readable), (&Declared::Nothing, true));
    let empty = form(
        &bot(),
        Some(Ok(SetupSchema::default())),
        (SetupValue::default(), true),
        0,
    );
    assert_eq!(empty.declared, Declared::Nothing);
    let bad = form(&bot(), Some(wrong), (SetupValue::default(), false), 3);
    assert!(matches!(bad.declared, Declared::Wrong(problems) if !problems.is_empty()));
    assert!(!bad.readable);
}
