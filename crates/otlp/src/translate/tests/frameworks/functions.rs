//! Tools that instrumentations write as functions of their own kind.

use super::*;

/// A function span of Logfire's OpenAI Agents instrumentation.
fn logfire(more: &[(&str, &str)]) -> OtlpSpan {
    let mut given = vec![
        ("logfire.msg_template", "Function: {name}"),
        ("logfire.msg", "Function: transfer"),
        ("name", "transfer"),
        ("mcp_data", "null"),
        ("gen_ai.system", "openai"),
    ];
    given.extend(more);
    span(&given)
}

#[test]
fn a_function_that_logfire_saw_is_a_tool_with_its_arguments() {
    let read = one(logfire(&[("input", r#"{"amount":5}"#), ("output", "sent")]));
    assert_eq!(read.kind, SpanKind::Tool);
    assert_eq!(read.name, "Function: transfer");
    assert_eq!(read.tool_name.as_deref(), Some("transfer"));
    assert_eq!(value(read.input.as_ref()), json!({"amount": 5}));
    assert_eq!(texts(&read), ["sent"]);
    let digest = args_digest(&json!({"amount": 5})).unwrap().to_string();
    assert_eq!(read.args_digest, Some(digest));
    let plain = one(logfire(&[
        ("input", "what is due?"),
        ("output", r#"{"due":2}"#),
    ]));
    assert_eq!(value(plain.input.as_ref()), json!("what is due?"));
    assert_eq!(texts(&plain), [r#"{"due":2}"#]);
    assert_eq!(plain.args_digest, None);
    let empty = one(logfire(&[("input", "")]));
    assert_eq!(
        (empty.kind, empty.input.is_none(), empty.output.is_none()),
        (SpanKind::Tool, true, true)
    );
    // Those names say nothing where something else wrote them.
    let other = one(span(&[
        ("name", "transfer"),
        ("input", "{}"),
        ("output", "x"),
    ]));
    assert_eq!(
        (other.kind, other.tool_name, other.input.is_none()),
        (SpanKind::Chain, None, true)
    );
}

#[test]
fn a_wrapped_input_has_the_digest_of_the_arguments_in_it_or_none() {
    let of = |input: &str| {
        let read = one(span(&[
            ("traceloop.span.kind", "tool"),
            ("traceloop.entity.input", input),
        ]));
        assert_eq!(
            value(read.input.as_ref()),
            serde_json::from_str::<Value>(input).unwrap()
        );
        read.args_digest
    };
    let digest = args_digest(&json!({"amount": 5})).unwrap().to_string();
    for input in [
        r#"{"input_str":"{'amount': 5}","tags":[],"metadata":{},"inputs":{"amount":5},"kwargs":{"name":"pay"}}"#,
        r#"{"input_str":"{\"amount\": 5}","tags":[],"metadata":{},"inputs":null,"kwargs":{}}"#,
        r#"{"args":[],"kwargs":{"amount":5}}"#,
        r#"{"tool_name":"pay","arguments":{"amount":5}}"#,
        r#"{"amount":5}"#,
    ] {
        assert_eq!(of(input), Some(digest.clone()), "{input}");
    }
    for input in [
        r#"{"input_str":"{'amount': 5}","tags":[],"metadata":{},"kwargs":{"name":"pay"}}"#,
        r#"{"input_str":"5","tags":[]}"#,
        r#"{"args":[5],"kwargs":{}}"#,
        r#"{"tool_name":"pay"}"#,
    ] {
        assert_eq!(of(input), None, "{input}");
    }
}
