#![allow(clippy::unwrap_used)]
use super::*;

fn read(schema: &Value) -> (Value, Value, Vec<String>) {
    let fields = form_view(schema).fields.unwrap();
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let texts = fields.texts.iter().map(Shown::plain).collect();
    (json(&fields.structure), json(&fields.initial), texts)
}

/// The field of a form's only property, its texts in place of their numbers.
fn field(schema: &Value) -> Value {
    fn put(value: &mut Value, texts: &[String]) {
        let Some(map) = value.as_object_mut() else {
            return;
        };
        for word in [
            "title",
            "name",
            "description",
            "hint",
            "label",
            "sends",
            "text",
        ] {
            if let Some(Value::String(at)) = map.get_mut(word) {
                at.clone_from(&texts[at.parse::<usize>().unwrap()]);
            }
        }
        for inner in ["suggested", "items"] {
            map.get_mut(inner).into_iter().for_each(|of| put(of, texts));
        }
        let choices = map.get_mut("choices").and_then(Value::as_array_mut);
        choices.into_iter().flatten().for_each(|of| put(of, texts));
    }
    let form = json!({"type": "object", "properties": {"x": schema}});
    let (mut structure, _, texts) = read(&form);
    let mut field = structure["properties"]["x"].take();
    put(&mut field, &texts);
    field
}

fn json_only(schema: &Value) -> Option<String> {
    form_view(schema).json_only.map(|why| why.plain())
}

#[test]
fn each_kind_of_field_is_drawn_with_its_texts() {
    for (schema, expected) in [
        (
            json!({"type": "string", "description": "why"}),
            json!({"title": "x", "description": "why", "kind": "string", "type": "string"}),
        ),
        (
            json!({"type": "string", "title": "Reason", "maxLength": 500}),
            json!({"title": "Reason", "name": "x", "hint": "at most 500 characters", "kind": "string", "long": true, "type": "string"}),
        ),
        (
            json!({"type": ["integer", "null"], "minimum": 1, "maximum": 5}),
            json!({"title": "x", "hint": "a whole number, 1 to 5", "kind": "integer", "type": "string"}),
        ),
        (
            json!({"type": "string", "format": "email"}),
            json!({"title": "x", "hint": "an email address", "kind": "string", "type": "string"}),
        ),
        (
            json!({"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": null}),
            json!({"title": "x", "kind": "boolean", "type": "string"}),
        ),
        (
            json!({"enum": ["a", 2]}),
            json!({"title": "x", "kind": "choice", "type": "string",
                "choices": [{"label": "a", "value": "a"}, {"label": "2", "value": 2}]}),
        ),
        (
            // A title that says something else than what is sent does not hide it.
            json!({"oneOf": [{"const": "yes", "title": "No"}, {"const": "b", "title": "b"}]}),
            json!({"title": "x", "kind": "choice", "type": "string",
                "choices": [{"label": "No", "value": "yes", "sends": "yes"}, {"label": "b", "value": "b"}]}),
        ),
        (
            json!({"type": "array", "uniqueItems": true, "items": {"enum": ["a"]}}),
            json!({"title": "x", "kind": "choices", "type": "string", "choices": [{"label": "a", "value": "a"}]}),
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "maxItems": 3}),
            json!({"title": "x", "hint": "at most 3 entries", "items": {"kind": "string", "type": "string"}, "type": "array", "maxItems": 3}),
        ),
    ] {
        assert_eq!(field(&schema), expected, "{schema}");
    }
}

#[test]
fn references_inside_of_the_schema_are_followed() {
    let schema = json!({
        "$defs": {"Way": {"title": "Way", "enum": ["card", "bank"], "type": "string"}},
        "type": "object",
        "properties": {"way": {"allOf": [{"$ref": "#/$defs/Way"}], "default": "bank", "description": "how"}},
    });
    let (structure, initial, texts) = read(&schema);
    let way = &structure["properties"]["way"];
    assert_eq!(way["choices"][1]["value"], "bank");
    assert_eq!(initial, json!({"way": "bank"}));
    assert!(texts.contains(&"how".to_owned()), "{texts:?}");
}

#[test]
fn nothing_is_filled_in_but_defaults_of_what_may_stay_empty() {
    let form = json!({
        "type": "object", "required": ["needed", "pick"],
        "properties": {
            "needed": {"type": "string", "default": "from the agent"},
            "pick": {"enum": ["first", "second"]},
            "n": {"type": "integer"}, "yes": {"type": "boolean"}, "word": {"type": "string"},
            "may": {"type": "string", "default": "ok"},
            "tags": {"type": "array", "items": {"type": "string"}, "default": ["a"]},
            "part": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}},
            "other": {"type": "object", "required": ["b"], "properties": {"a": {"type": "string", "default": "x"}, "b": {"type": "string"}}},
        },
    });
    let (structure, initial, _) = read(&form);
    let expected = json!({"may": "ok", "tags": ["a"], "part": {"a": "x"}});
    assert_eq!(initial, expected);
    let needed = &structure["properties"]["needed"]["suggested"];
    assert_eq!(needed["value"], "from the agent");
}

#[test]
fn a_default_that_a_field_would_not_show_as_it_is_never_gets_into_one() {
    for default in [
        json!("ok\u{202e}live"),
        json!("sk-abcdefghijklmnopqrstuvwx"),
        json!(9_007_199_254_740_993_i64),
        json!({"a": 1}),
    ] {
        let of = field(&json!({"type": "string", "default": default}));
        assert!(of["suggested"].get("value").is_none(), "{of}");
        let form =
            json!({"type": "object", "properties": {"x": {"default": default, "type": "string"}}});
        assert_eq!(read(&form).1, json!({}), "{default}");
    }
    let hidden = field(&json!({"type": "string", "default": "ok\u{202e}live"}));
    assert_eq!(hidden["suggested"]["text"], "ok⟨U+202E⟩live");
}

#[test]
fn every_text_of_the_agent_is_escaped() {
    let evil = "<b>\u{202e}evil";
    let form = json!({
        "type": "object", "title": evil, "description": evil,
        "properties": {evil: {"title": evil, "description": evil, "pattern": evil, "type": "string", "default": evil},
            "pick": {"oneOf": [{"const": evil, "title": "fine"}, {"const": 1, "title": evil}]}},
    });
    let (structure, _, texts) = read(&form);
    let evils = texts.iter().filter(|text| text.contains("evil"));
    assert_eq!(evils.count(), 8, "{texts:?}");
    assert!(texts.iter().all(|text| !text.contains('\u{202e}')));
    // Only names and values, which are sent and not shown, are what they are.
    let fields = form_view(&form).fields.unwrap();
    assert!(!fields.structure.contains('\u{202e}'));
    assert_eq!(structure["properties"]["pick"]["choices"][0]["value"], evil);
}

#[test]
fn what_fields_cannot_show_is_answered_as_json_and_it_is_said_why() {
    let many: Map<String, Value> = (0..501)
        .map(|at| (format!("f{at}"), json!({"type": "string"})))
        .collect();
    let with = |field: Value| json!({"type": "object", "properties": {"x": field}});
    for (schema, why) in [
        (json!(true), "takes anything"),
        (json!({"type": "object"}), "does not say which fields"),
        (
            json!({"type": "object", "properties": many}),
            "more than 500",
        ),
        (with(json!({"$ref": "#"})), "nest too deep"),
        (
            with(json!({"$ref": "https://example.com/schema.json"})),
            "outside of it",
        ),
        (with(json!({"$ref": "#/$defs/none"})), "outside of it"),
        (with(json!({"type": "string", "if": {}})), "`if`"),
        (with(json!({"not": {"type": "string"}})), "`not`"),
        (
            with(json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})),
            "choice between",
        ),
        (
            with(json!({"type": ["string", "integer"]})),
            "several types",
        ),
        (with(json!({})), "no type"),
        (
            with(json!({"enum": [9_007_199_254_740_993_i64]})),
            "loses digits",
        ),
        (
            with(json!({"type": "object", "additionalProperties": {"type": "string"}})),
            "which fields",
        ),
        (with(json!({"type": "array"})), "what is in it"),
        (
            with(json!({"allOf": [{"type": "string"}, {"minLength": 1}]})),
            "choice between",
        ),
        (
            json!({"type": "object", "required": ["y"], "properties": {"x": {"type": "string"}}}),
            "requires `y`",
        ),
        (
            json!({"type": "object", "required": ["x"], "properties": {"x": {"type": ["string", "null"]}}}),
            "also be null",
        ),
        (
            json!({"type": "object", "properties": {"__proto__": {"type": "string"}}}),
            "`__proto__`",
        ),
    ] {
        let reported = json_only(&schema).unwrap_or_default();
        assert!(reported.contains(why), "{schema}: {reported}");
        assert!(form_view(&schema).fields.is_none(), "{schema}");
    }
}

#[test]
fn a_small_schema_that_grows_without_end_is_left_at_once() {
    let doubled = |at: usize| {
        let next = json!({ "$ref": format!("#/$defs/d{}", at + 1) });
        (
            format!("d{at}"),
            json!({"type": "object", "properties": {"a": next, "b": next}}),
        )
    };
    let mut defs: Map<String, Value> = (0..40).map(doubled).collect();
    defs.insert("d40".to_owned(), json!({"type": "string"}));
    let round = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
    for schema in [json!({"$defs": defs, "$ref": "#/$defs/d0"}), round] {
        assert!(json_only(&schema).is_some());
    }
}
