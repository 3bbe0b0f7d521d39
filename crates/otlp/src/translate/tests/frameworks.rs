//! What single frameworks write in words of their own.

mod functions;
mod indexed;

use countersign_wire::{SpanKind, SpanStatus, args_digest};
use opentelemetry_proto::tonic::common::v1::{ArrayValue, KeyValueList};
use opentelemetry_proto::tonic::trace::v1::Span as OtlpSpan;
use opentelemetry_proto::tonic::trace::v1::span::Event as OtlpEvent;
use serde_json::json;

use super::*;

fn whole(number: i64) -> AnyValue {
    AnyValue {
        value: Some(Any::IntValue(number)),
    }
}

fn value(kept: Option<&countersign_wire::KeptJson>) -> Value {
    kept.map_or(Value::Null, |kept| kept.value().unwrap())
}

fn texts(read: &Span) -> Vec<String> {
    let parts = value(read.output.as_ref());
    let parts = parts.as_array().cloned().unwrap_or_default();
    parts
        .iter()
        .map(|part| part["m_content"].as_str().unwrap().to_owned())
        .collect()
}

fn tokens(read: &Span) -> Option<(Option<f64>, Option<f64>)> {
    let usage = read.usage.as_ref()?;
    Some((usage.input_tokens, usage.output_tokens))
}

fn with_tokens(mut span: OtlpSpan, names: [&str; 2]) -> OtlpSpan {
    for (name, count) in names.into_iter().zip([12, 3]) {
        span.attributes.push(pair(name, whole(count)));
    }
    span
}

#[test]
fn each_operation_of_vercels_ai_sdk_has_its_kind() {
    for (operation, kind) in [
        ("ai.toolCall", SpanKind::Tool),
        ("ai.generateText", SpanKind::Chain),
        ("ai.generateText.doGenerate", SpanKind::Llm),
        ("ai.streamText", SpanKind::Chain),
        ("ai.streamText.doStream", SpanKind::Llm),
        ("ai.generateObject.doGenerate", SpanKind::Llm),
        ("ai.streamObject.doStream", SpanKind::Llm),
        ("ai.embed", SpanKind::Embedding),
        ("ai.embed.doEmbed", SpanKind::Embedding),
        ("ai.embedMany", SpanKind::Embedding),
        ("ai.embedMany.doEmbed", SpanKind::Embedding),
        ("ai.rerank", SpanKind::Retriever),
        ("ai.somethingNew", SpanKind::Chain),
    ] {
        let read = one(span(&[("ai.operationId", operation)]));
        assert_eq!(read.kind, kind, "{operation}");
        // With a name that the caller gave.
        let called = format!("{operation} my-function");
        let read = one(span(&[("operation.name", &called)]));
        assert_eq!(read.kind, kind, "{called}");
    }
    assert_eq!(
        one(span(&[("operation.name", "checkout")])).kind,
        SpanKind::Chain
    );
}

#[test]
fn a_tool_call_of_vercels_ai_sdk_is_one_with_all_it_says() {
    let arguments = r#"{"to":"DE02","amount":5}"#;
    let given = [
        ("ai.operationId", "ai.toolCall"),
        ("ai.toolCall.name", "transfer"),
        ("ai.toolCall.id", "call_9"),
        ("ai.toolCall.args", arguments),
        ("ai.toolCall.result", r#"{"sent":true}"#),
    ];
    let read = one(span(&given));
    assert_eq!(read.tool_name.as_deref(), Some("transfer"));
    assert_eq!(read.call_id.as_deref(), Some("call_9"));
    let called_with = json!({"to": "DE02", "amount": 5});
    assert_eq!(value(read.input.as_ref()), called_with);
    let digest = args_digest(&called_with).unwrap().to_string();
    assert_eq!(read.args_digest, Some(digest));
    assert_eq!(texts(&read), [r#"{"sent":true}"#]);
    assert_eq!(attributes(&read).get("ai.toolCall.args"), None);
    let mut failed = span(&given[..4]);
    failed.status = Some(opentelemetry_proto::tonic::trace::v1::Status {
        code: 2,
        message: "no such account".into(),
    });
    failed.events = vec![OtlpEvent {
        name: "exception".into(),
        attributes: vec![pair("exception.type", text("AI_ToolExecutionError"))],
        ..OtlpEvent::default()
    }];
    let read = one(failed);
    let error = read.error.unwrap();
    assert_eq!(read.status, Some(SpanStatus::Error));
    assert_eq!(error.error_type.as_deref(), Some("AI_ToolExecutionError"));
    assert_eq!(error.message.as_deref(), Some("no such account"));
}

#[test]
fn texts_and_tokens_of_vercels_ai_sdk() {
    let asked = json!([{"role": "user", "content": [{"type": "text", "text": "Pay"}]}]);
    let stream = |answer: &[(&'static str, &'static str)]| {
        let asked = asked.to_string();
        let mut all = vec![
            ("ai.operationId", "ai.streamText.doStream"),
            ("ai.prompt.messages", asked.as_str()),
        ];
        all.extend(answer);
        one(with_tokens(
            span(&all),
            ["ai.usage.inputTokens", "ai.usage.outputTokens"],
        ))
    };
    let read = stream(&[("ai.response.text", "Paid")]);
    assert_eq!(value(read.input.as_ref()), asked);
    assert_eq!(texts(&read), ["Paid"]);
    assert_eq!(tokens(&read), Some((Some(12.0), Some(3.0))));
    let calls = r#"[{"toolCallId":"c1","toolName":"pay"}]"#;
    let read = stream(&[("ai.response.text", ""), ("ai.response.toolCalls", calls)]);
    assert_eq!(texts(&read), [calls]);
    assert_eq!(texts(&stream(&[("ai.response.object", "{}")])), ["{}"]);
    let older = span(&[("ai.operationId", "ai.generateText.doGenerate")]);
    let older = one(with_tokens(
        older,
        ["ai.usage.promptTokens", "ai.usage.completionTokens"],
    ));
    assert_eq!(tokens(&older), Some((Some(12.0), Some(3.0))));
    // It repeats the sums of its steps.
    let outer = span(&[
        ("ai.operationId", "ai.streamText"),
        ("ai.prompt", r#"{"prompt":"Pay"}"#),
    ]);
    let outer = one(with_tokens(
        outer,
        ["ai.usage.inputTokens", "ai.usage.outputTokens"],
    ));
    assert_eq!(tokens(&outer), None);
    assert_eq!(value(outer.input.as_ref()), json!({"prompt": "Pay"}));
    // Of an embedding both say the same.
    for (operation, counted) in [
        ("ai.embed", Some((Some(7.0), None))),
        ("ai.embed.doEmbed", None),
        ("ai.embedMany", Some((Some(7.0), None))),
        ("ai.embedMany.doEmbed", None),
    ] {
        let mut given = span(&[
            ("ai.operationId", operation),
            ("ai.value", "\"a sunny day\""),
        ]);
        given.attributes.push(pair("ai.usage.tokens", whole(7)));
        let read = one(given);
        assert_eq!(tokens(&read), counted, "{operation}");
        assert_eq!(value(read.input.as_ref()), "\"a sunny day\"", "{operation}");
    }
}

#[test]
fn each_observation_of_langfuse_has_its_kind() {
    for (word, kind) in [
        ("generation", SpanKind::Llm),
        ("tool", SpanKind::Tool),
        ("agent", SpanKind::Agent),
        ("retriever", SpanKind::Retriever),
        ("embedding", SpanKind::Embedding),
        ("chain", SpanKind::Chain),
        ("guardrail", SpanKind::Chain),
        ("evaluator", SpanKind::Chain),
        ("event", SpanKind::Chain),
        ("span", SpanKind::Chain),
        ("approval", SpanKind::Chain),
    ] {
        let read = one(span(&[("langfuse.observation.type", word)]));
        assert_eq!(read.kind, kind, "{word}");
        let named = (kind == SpanKind::Tool).then_some("a span");
        assert_eq!(read.tool_name.as_deref(), named, "{word}");
    }
    // The word for everything says less than the rest of the span.
    let plain = [
        ("langfuse.observation.type", "span"),
        ("gen_ai.request.model", "m"),
    ];
    assert_eq!(one(span(&plain)).kind, SpanKind::Llm);
}

#[test]
fn an_observation_of_langfuse_says_texts_tokens_cost_and_error() {
    let read = one(span(&[
        ("langfuse.observation.type", "tool"),
        ("langfuse.observation.input", r#"{"amount":5}"#),
        ("langfuse.observation.output", "sent"),
    ]));
    assert_eq!(value(read.input.as_ref()), json!({"amount": 5}));
    assert_eq!(texts(&read), ["sent"]);
    let digest = args_digest(&json!({"amount": 5})).unwrap().to_string();
    assert_eq!(read.args_digest, Some(digest));
    for (usage, counted) in [
        (
            r#"{"input":12,"output":3,"total":15}"#,
            Some((Some(12.0), Some(3.0))),
        ),
        (
            r#"{"input_tokens":12,"output_tokens":3}"#,
            Some((Some(12.0), Some(3.0))),
        ),
        (
            r#"{"prompt_tokens":12,"completion_tokens":3}"#,
            Some((Some(12.0), Some(3.0))),
        ),
        (r#"{"promptTokens":12}"#, Some((Some(12.0), None))),
        (r#"{"input":-1,"output":"3"}"#, None),
        ("no json", None),
        ("[]", None),
    ] {
        let read = one(span(&[
            ("langfuse.observation.type", "generation"),
            ("langfuse.observation.usage_details", usage),
        ]));
        assert_eq!(tokens(&read), counted, "{usage}");
    }
    let priced = one(span(&[
        ("langfuse.observation.type", "generation"),
        (
            "langfuse.observation.cost_details",
            r#"{"input":0.01,"total":0.25}"#,
        ),
    ]));
    assert_eq!(priced.usage.unwrap().cost_usd, Some(0.25));
    for (level, status) in [
        ("ERROR", SpanStatus::Error),
        ("WARNING", SpanStatus::Ok),
        ("DEFAULT", SpanStatus::Ok),
    ] {
        let read = one(span(&[
            ("langfuse.observation.level", level),
            ("langfuse.observation.status_message", "card declined"),
        ]));
        assert_eq!(read.status, Some(status), "{level}");
        let message = read.error.and_then(|error| error.message);
        assert_eq!(message.is_some(), status == SpanStatus::Error, "{level}");
        assert!(message.is_none_or(|words| words == "card declined"));
    }
}

#[test]
fn logfires_message_is_the_name_and_its_level_tells_an_error() {
    let named = |attributes: &[(&str, &str)]| {
        let mut given = span(attributes);
        given.name = "running tool: {tool}".into();
        given
    };
    let reported = [("logfire.msg", "running tool: pay")];
    assert_eq!(one(named(&reported)).name, "running tool: pay");
    assert_eq!(
        one(named(&[("logfire.msg", "")])).name,
        "running tool: {tool}"
    );
    assert_eq!(one(named(&[])).name, "running tool: {tool}");
    let long = "x".repeat(5_000);
    assert!(one(named(&[("logfire.msg", &long)])).name.len() <= 1_024);
    for (level, status) in [
        (9, SpanStatus::Ok),
        (13, SpanStatus::Ok),
        (17, SpanStatus::Error),
        (21, SpanStatus::Error),
    ] {
        let mut given = named(&reported);
        given
            .attributes
            .push(pair("logfire.level_num", whole(level)));
        let read = one(given);
        assert_eq!(read.status, Some(status), "{level}");
        let message = read.error.and_then(|error| error.message);
        let expected = (status == SpanStatus::Error).then_some("running tool: pay");
        assert_eq!(message.as_deref(), expected, "{level}");
    }
    // The conventions beside it say what a tool does.
    let tool = [
        ("logfire.msg", "running tool: pay"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "pay"),
    ];
    let read = one(named(&tool));
    assert_eq!(
        (read.kind, read.tool_name.as_deref()),
        (SpanKind::Tool, Some("pay"))
    );
}

#[test]
fn the_event_of_an_operation_says_what_its_span_does_not() {
    let event = |attributes| OtlpEvent {
        name: "gen_ai.client.inference.operation.details".into(),
        attributes,
        ..OtlpEvent::default()
    };
    let asked = json!([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]);
    let answered = json!([{"role": "assistant", "parts": [{"type": "text", "content": "Hello"}]}]);
    let mut given = span(&[]);
    given.events = vec![event(vec![
        pair("gen_ai.operation.name", text("chat")),
        pair("gen_ai.conversation.id", text("t9")),
        pair("gen_ai.input.messages", text(&asked.to_string())),
        pair("gen_ai.output.messages", text(&answered.to_string())),
        pair("gen_ai.system_instructions", text("Be brief")),
        pair("gen_ai.usage.input_tokens", whole(12)),
        pair("gen_ai.usage.output_tokens", whole(3)),
        pair("error.type", text("timeout")),
    ])];
    let read = one(given.clone());
    assert_eq!(read.kind, SpanKind::Llm);
    assert_eq!(read.thread_id.as_deref(), Some("t9"));
    assert_eq!(value(read.input.as_ref()), asked);
    assert_eq!(texts(&read), ["Hello"]);
    assert_eq!(tokens(&read), Some((Some(12.0), Some(3.0))));
    assert_eq!(read.status, Some(SpanStatus::Timeout));
    let kept = &attributes(&read)["otel.events"][0]["attributes"];
    assert_eq!(kept["gen_ai.system_instructions"], "Be brief");
    // What the span says itself goes first, and an event of another name says nothing of the span.
    let mut own = given.clone();
    own.attributes
        .push(pair("gen_ai.operation.name", text("execute_tool")));
    own.attributes
        .push(pair("gen_ai.usage.input_tokens", whole(1)));
    let read = one(own);
    assert_eq!(
        (read.kind, tokens(&read)),
        (SpanKind::Tool, Some((Some(1.0), Some(3.0))))
    );
    given.events[0].name = "gen_ai.client.inference.operation.detail".into();
    let read = one(given);
    assert_eq!((read.kind, read.usage.is_none()), (SpanKind::Chain, true));
    // Structured, as the conventions want it in events.
    let part = KeyValueList {
        values: vec![pair("type", text("text")), pair("content", text("Hi"))],
    };
    let list = |value: Any| AnyValue {
        value: Some(Any::ArrayValue(ArrayValue {
            values: vec![AnyValue { value: Some(value) }],
        })),
    };
    let message = KeyValueList {
        values: vec![
            pair("role", text("user")),
            pair("parts", list(Any::KvlistValue(part))),
        ],
    };
    let mut structured = span(&[]);
    structured.events = vec![event(vec![pair(
        "gen_ai.input.messages",
        list(Any::KvlistValue(message)),
    )])];
    assert_eq!(value(one(structured).input.as_ref()), asked);
}

#[test]
fn only_arguments_with_a_canonical_form_have_a_digest_and_others_stay_as_they_came() {
    let tool = |arguments: AnyValue| {
        let mut given = span(&[("gen_ai.operation.name", "execute_tool")]);
        given
            .attributes
            .push(pair("gen_ai.tool.call.arguments", arguments));
        one(given)
    };
    for arguments in [
        r#"{"path":"/tmp/a","path":"/etc/passwd"}"#,
        r#"{"a":{"b":1,"\u0062":2}}"#,
        r#"[{"n":9007199254740993}]"#,
        r#"{"n":123456789012345678901234567890}"#,
        r#"{"n":1e400}"#,
        r#"{"half":"\ud800"}"#,
        r#"{"a":1"#,
        r#"{"$serde_json::private::Number":"1"}"#,
        "rm -rf /",
    ] {
        let read = tool(text(arguments));
        assert_eq!(read.args_digest, None, "{arguments}");
        assert_eq!(value(read.input.as_ref()), json!(arguments));
    }
    for arguments in [
        r#"{"b":1,"a":[{"b":2}]}"#,
        r#"{"n":9007199254740991,"e":1e3}"#,
        "[]",
    ] {
        let read = tool(text(arguments));
        let given: Value = serde_json::from_str(arguments).unwrap();
        let digest = args_digest(&given).unwrap().to_string();
        assert_eq!(read.args_digest, Some(digest), "{arguments}");
    }
    let object = |values| AnyValue {
        value: Some(Any::KvlistValue(KeyValueList { values })),
    };
    let any = |value| AnyValue { value: Some(value) };
    for (arguments, certain) in [
        (object(vec![pair("a", whole(1))]), true),
        (
            object(vec![pair("a", whole(1)), pair("a", whole(2))]),
            false,
        ),
        (object(vec![pair("a", whole(i64::MAX))]), false),
        (
            object(vec![pair("a", any(Any::DoubleValue(f64::NAN)))]),
            false,
        ),
        (
            object(vec![pair("a", any(Any::BytesValue(vec![1])))]),
            false,
        ),
        (object(vec![pair("a", text(&"x".repeat(20_000)))]), false),
    ] {
        let read = tool(arguments.clone());
        assert_eq!(read.args_digest.is_some(), certain, "{arguments:?}");
    }
}
