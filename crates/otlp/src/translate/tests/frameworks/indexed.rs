//! Messages that came as one attribute a field.

use super::*;

#[test]
fn messages_that_came_as_one_attribute_a_field_are_put_together() {
    for (asked, answered) in [
        (("gen_ai.prompt", ""), ("gen_ai.completion", "")),
        (
            ("llm.input_messages", ".message"),
            ("llm.output_messages", ".message"),
        ),
    ] {
        let name = |(prefix, around): (&str, &str), number: usize, field: &str| {
            format!("{prefix}.{number}{around}.{field}")
        };
        let given = [
            (name(asked, 10, "role"), "user"),
            (name(asked, 10, "content"), "pay it"),
            (name(asked, 2, "content"), "Be brief"),
            (name(asked, 2, "role"), "system"),
            (name(answered, 0, "role"), "assistant"),
            (name(answered, 0, "content"), "done"),
            (name(answered, 0, "finish_reason"), "stop"),
        ];
        let given: Vec<_> = given
            .iter()
            .map(|(name, text)| (name.as_str(), *text))
            .collect();
        let read = one(span(&given));
        assert_eq!(read.kind, SpanKind::Llm);
        assert_eq!(
            value(read.input.as_ref()),
            json!([{"content": "Be brief", "role": "system"}, {"role": "user", "content": "pay it"}])
        );
        assert_eq!(texts(&read), ["done"]);
        let kept = attributes(&read);
        assert_eq!(kept.get(given[0].0), None, "once is enough");
        assert_eq!(kept[given[6].0], "stop");
    }
}

#[test]
fn calls_and_parts_of_indexed_messages_keep_their_place() {
    let read = one(span(&[
        ("gen_ai.completion.0.role", "assistant"),
        ("gen_ai.completion.0.tool_calls.1.name", "second"),
        ("gen_ai.completion.0.tool_calls.0.name", "first"),
        ("gen_ai.completion.0.tool_calls.0.arguments", r#"{"a":1}"#),
        (
            "gen_ai.prompt.0.content",
            r#"[{"type":"text","text":"hi"}]"#,
        ),
    ]));
    let calls = json!([{"name": "first", "arguments": r#"{"a":1}"#}, {"name": "second"}]);
    let reported: Value = serde_json::from_str(&texts(&read)[0]).unwrap();
    let reported = reported.get(0).unwrap_or(&reported);
    assert_eq!(reported["tool_calls"], calls);
    assert_eq!(
        value(read.input.as_ref()),
        json!([{"content": r#"[{"type":"text","text":"hi"}]"#}])
    );
    let open = one(span(&[
        ("openinference.span.kind", "LLM"),
        ("llm.input_messages.0.message.role", "user"),
        (
            "llm.input_messages.0.message.contents.0.message_content.type",
            "text",
        ),
        (
            "llm.input_messages.0.message.contents.0.message_content.text",
            "hi",
        ),
        ("llm.output_messages.0.message.role", "assistant"),
        ("llm.output_messages.0.message.content", "I pay"),
        (
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name",
            "pay",
        ),
    ]));
    assert_eq!(
        value(open.input.as_ref()),
        json!([{"role": "user", "contents": [{"type": "text", "text": "hi"}]}])
    );
    assert_eq!(
        texts(&open),
        ["I pay", r#"{"tool_calls":[{"function":{"name":"pay"}}]}"#]
    );
    // What is there already is not put under a text, nor the other way round.
    let clash = one(span(&[
        ("gen_ai.prompt.0.content", "text"),
        ("gen_ai.prompt.0.content.type", "odd"),
        ("gen_ai.prompt.4294967295.content", "last"),
        ("gen_ai.prompt.template", "none of them"),
        ("gen_ai.prompt.x.content", "none of them"),
    ]));
    assert_eq!(
        value(clash.input.as_ref()),
        json!([{"content": "text"}, {"content": "last"}])
    );
    let kept = attributes(&clash);
    for name in [
        "gen_ai.prompt.0.content.type",
        "gen_ai.prompt.template",
        "gen_ai.prompt.x.content",
    ] {
        assert!(kept[name].is_string(), "{name}");
    }
    let long = "é".repeat(20_000);
    let read = one(span(&[("gen_ai.prompt.0.content", &long)]));
    assert_eq!(value(read.input.as_ref())[0]["content"], long);
}
