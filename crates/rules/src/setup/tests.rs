//! Declarations and values of setup keys, as tables.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn field(kind: &str, default: Value) -> Value {
    json!({"bs_name": "key", "bs_type": kind, "bs_default": default, "bs_group": "Main"})
}

#[test]
fn all_seven_types_are_taken_as_a_list_and_as_a_map() {
    for (kind, default) in [
        ("string_short", json!("a")),
        ("string_long", json!("")),
        ("string_multiline", json!("a\nb")),
        ("bool", json!(false)),
        ("int", json!(3)),
        ("float", json!(0.5)),
        ("float", json!(1)),
        ("list_dict", json!([{"a": 1}])),
    ] {
        let list = read_schema(&json!([field(kind, default.clone())])).unwrap();
        let map = read_schema(&json!({"key": field(kind, default.clone())})).unwrap();
        assert_eq!(list, map, "{kind}");
        assert_eq!(list.merge(&Map::new()).0["key"], default);
    }
}

#[test]
fn a_field_of_a_map_that_names_no_group_is_in_the_general_one() {
    let bare = json!({"bs_type": "bool", "bs_default": true});
    let mut named = bare.clone();
    named["bs_group"] = json!("Own");
    let rows = json!({"bs_type": "list_dict", "bs_default": [], "bs_elements": {"x1": {"bs_type": "int"}}});
    let map = json!({"one": bare.clone(), "two": named, "rows": rows});
    let SetupSchema(fields) = read_schema(&map).unwrap();
    let groups: Vec<_> = fields.iter().map(|field| field.group.as_deref()).collect();
    assert_eq!(groups, [Some("General"), Some("Own"), Some("General")]);
    assert_eq!(fields[2].elements[0].group, None);
    // A list has to say it.
    let mut listed = bare;
    listed["bs_name"] = json!("one");
    assert_eq!(
        read_schema(&json!([listed])).unwrap_err()[0].place(),
        "0.bs_group"
    );
}

#[test]
fn what_is_wrong_with_a_declaration_is_told_with_its_path() {
    let with = |key: &str, value: Value| {
        let mut field = field("bool", json!(true));
        field[key] = value;
        json!([field])
    };
    let without = |key: &str| {
        let mut field = field("bool", json!(true));
        field.as_object_mut().unwrap().remove(key);
        json!([field])
    };
    let nested = json!([{
        "bs_name": "rows", "bs_type": "list_dict", "bs_default": [], "bs_group": "g",
        "bs_elements": [{"bs_name": "x1", "bs_type": "color"}],
    }]);
    for (schema, place) in [
        (with("bs_extra", json!(1)), "0.bs_extra"),
        (with("bs_name", json!("1x")), "0.bs_name"),
        (with("bs_name", json!("x")), "0.bs_name"),
        (with("bs_name", json!("a".repeat(41))), "0.bs_name"),
        (with("bs_type", json!("number")), "0.bs_type"),
        (with("bs_default", json!(1)), "0.bs_default"),
        (with("bs_default", json!(null)), "0.bs_default"),
        (with("bs_default", json!("true")), "0.bs_default"),
        (with("bs_elements", json!([])), "0.bs_elements"),
        (with("bs_description", json!(1)), "0.bs_description"),
        (with("bs_order", json!("first")), "0.bs_order"),
        (without("bs_default"), "0.bs_default"),
        (without("bs_group"), "0.bs_group"),
        (without("bs_type"), "0.bs_type"),
        (json!([field("int", json!(1.5))]), "0.bs_default"),
        (json!([field("int", json!(true))]), "0.bs_default"),
        (json!([field("list_dict", json!({}))]), "0.bs_default"),
        (
            json!([field("bool", json!(true)), field("int", json!(1))]),
            "1.bs_name",
        ),
        (
            json!({"other": field("bool", json!(true))}),
            "other.bs_name",
        ),
        (nested, "0.bs_elements[0].bs_type"),
        (json!([1]), "0"),
        (json!("x"), ""),
    ] {
        let problems = read_schema(&schema).unwrap_err();
        assert_eq!(problems[0].place(), place, "{schema}");
    }
}

#[test]
fn a_value_of_another_type_is_told_in_words_that_are_not_the_types_name() {
    for (kind, default, words) in [
        ("bool", json!(true), "must be true or false"),
        ("int", json!(1), "must be a whole number"),
        ("float", json!(1.5), "must be a number"),
        ("string_long", json!("x"), "must be a text"),
        ("list_dict", json!([]), "must be a list of entries"),
    ] {
        let schema = read_schema(&json!([field(kind, default)])).unwrap();
        let of = schema.field("key").unwrap();
        assert_eq!(cast(of, &json!({})), Err(words.to_owned()));
    }
}

#[test]
fn values_are_cast_null_is_the_default_and_unknown_keys_are_dropped() {
    let schema = read_schema(&json!([
        {"bs_name": "allow", "bs_type": "bool", "bs_default": false, "bs_group": "g"},
        {"bs_name": "count", "bs_type": "int", "bs_default": 3, "bs_group": "g"},
        {"bs_name": "share", "bs_type": "float", "bs_default": 0.5, "bs_group": "g"},
        {"bs_name": "name", "bs_type": "string_short", "bs_default": "x", "bs_group": "g"},
    ]))
    .unwrap();
    for (chosen, key, value) in [
        (json!({"allow": true}), "allow", json!(true)),
        (json!({"allow": 1}), "allow", json!(false)),
        (json!({"allow": "true"}), "allow", json!(false)),
        (json!({"allow": null}), "allow", json!(false)),
        (json!({"count": 5.0}), "count", json!(5)),
        (json!({"count": 5.5}), "count", json!(3)),
        (json!({"count": true}), "count", json!(3)),
        (json!({"share": 1}), "share", json!(1)),
        (json!({"name": 5}), "name", json!("x")),
    ] {
        let (values, dropped) = schema.merge(chosen.as_object().unwrap());
        assert_eq!(values[key], value, "{chosen}");
        assert!(dropped.is_empty());
    }
    let chosen = json!({"gone": 1});
    let (values, dropped) = schema.merge(chosen.as_object().unwrap());
    assert_eq!((values.len(), dropped), (4, vec!["gone".to_owned()]));
}

#[test]
fn a_whole_number_that_json_does_not_keep_is_no_value_and_no_default() {
    let most = 9_007_199_254_740_991_i64;
    for kind in ["int", "float"] {
        let schema = read_schema(&json!([field(kind, json!(1))])).unwrap();
        let of = schema.field("key").unwrap();
        for kept in [json!(most), json!(-most), json!(3.0)] {
            assert!(cast(of, &kept).is_ok(), "{kind} {kept}");
        }
        for lost in [
            json!(most + 1),
            json!(-most - 2),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(9_007_199_254_740_992.0),
            json!(1e17),
        ] {
            assert!(
                cast(of, &lost).unwrap_err().contains("too large"),
                "{kind} {lost}"
            );
            assert!(read_schema(&json!([field(kind, lost)])).is_err(), "{kind}");
        }
    }
    let rows = read_schema(&json!([field("list_dict", json!([]))])).unwrap();
    let deep = json!([{"a": {"b": [most + 1]}}]);
    assert!(cast(rows.field("key").unwrap(), &deep).is_err());
}

#[test]
fn what_a_list_does_not_declare_is_named() {
    let mut rows = field("list_dict", json!([]));
    rows["bs_elements"] = json!([{"bs_name": "ab", "bs_type": "int"}]);
    let schema = read_schema(&json!([rows])).unwrap();
    let of = schema.field("key").unwrap();
    let value = json!([{"zz": 3}, {"ab": 1, "yy": null, "zz": 4}]);
    let names: Vec<_> = left_out(of, &value).into_iter().collect();
    assert_eq!(names, ["yy", "zz"]);
    assert!(left_out(of, &json!([{"ab": 1}])).is_empty());
    let open = read_schema(&json!([field("list_dict", json!([]))])).unwrap();
    assert!(left_out(open.field("key").unwrap(), &value).is_empty());
}
