//! What instrumentations write, and what becomes of it.

use countersign_wire::{SpanKind, SpanStatus, args_digest};
use opentelemetry_proto::tonic::trace::v1::span::{Event as OtlpEvent, Link};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span as OtlpSpan, Status};
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

#[test]
fn each_convention_has_its_words_for_the_kinds() {
    for (attribute, word, kind) in [
        ("gen_ai.operation.name", "chat", SpanKind::Llm),
        ("gen_ai.operation.name", "text_completion", SpanKind::Llm),
        ("gen_ai.operation.name", "generate_content", SpanKind::Llm),
        ("gen_ai.operation.name", "execute_tool", SpanKind::Tool),
        ("gen_ai.operation.name", "invoke_agent", SpanKind::Agent),
        ("gen_ai.operation.name", "create_agent", SpanKind::Agent),
        ("gen_ai.operation.name", "invoke_workflow", SpanKind::Chain),
        ("gen_ai.operation.name", "embeddings", SpanKind::Embedding),
        ("gen_ai.operation.name", "retrieval", SpanKind::Retriever),
        ("gen_ai.operation.name", "approval", SpanKind::Chain),
        ("openinference.span.kind", "TOOL", SpanKind::Tool),
        ("openinference.span.kind", "RERANKER", SpanKind::Retriever),
        ("traceloop.span.kind", "agent", SpanKind::Agent),
        ("llm.request.type", "chat", SpanKind::Llm),
        ("gen_ai.tool.name", "pay", SpanKind::Tool),
        ("gen_ai.request.model", "m", SpanKind::Llm),
        ("gen_ai.agent.name", "a", SpanKind::Agent),
        ("mcp.method.name", "tools/call", SpanKind::Tool),
        ("http.request.method", "GET", SpanKind::Chain),
    ] {
        assert_eq!(
            one(span(&[(attribute, word)])).kind,
            kind,
            "{attribute}={word}"
        );
    }
    assert_eq!(one(span(&[])).kind, SpanKind::Chain);
}

#[test]
fn a_tool_call_has_its_name_its_id_its_arguments_and_their_digest() {
    for (arguments, result) in [
        ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result"),
        ("tool_arguments", "tool_response"),
    ] {
        let read = one(span(&[
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "pay"),
            ("gen_ai.tool.call.id", "call_7"),
            ("gen_ai.conversation.id", "t1"),
            (arguments, r#"{"b":2,"a":1}"#),
            (result, "paid"),
        ]));
        assert_eq!(read.tool_name.as_deref(), Some("pay"));
        assert_eq!(read.call_id.as_deref(), Some("call_7"));
        assert_eq!(read.thread_id.as_deref(), Some("t1"));
        let arguments_given = json!({"a": 1, "b": 2});
        assert_eq!(value(read.input.as_ref()), arguments_given);
        let digest = args_digest(&arguments_given).ok();
        assert_eq!(read.args_digest, digest.map(|digest| digest.to_string()));
        assert_eq!(
            value(read.output.as_ref()),
            json!([{"m_type": "text", "m_content": "paid"}])
        );
        // Once is enough.
        assert_eq!(attributes(&read).get(arguments), None);
        assert_eq!(attributes(&read)["gen_ai.tool.name"], "pay");
    }
}

#[test]
fn messages_become_the_parts_that_the_protocol_shows() {
    let output = json!([
        {"role": "assistant", "finish_reason": "stop", "parts": [
            {"type": "text", "content": "Here it is"},
            {"type": "blob", "mime_type": "image/png", "modality": "image", "content": "aGk="},
            {"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"a": 1}},
        ]},
    ]);
    let input = json!([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]);
    let read = one(span(&[
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.input.messages", &input.to_string()),
        ("gen_ai.output.messages", &output.to_string()),
    ]));
    assert_eq!(value(read.input.as_ref()), input);
    let parts = value(read.output.as_ref());
    assert_eq!(
        parts[0],
        json!({"m_type": "text", "m_content": "Here it is"})
    );
    assert_eq!(
        parts[1],
        json!({"m_type": "image/png", "m_content": "aGk="})
    );
    assert_eq!(parts[2]["m_type"], "tool_call");
    let call: Value = serde_json::from_str(parts[2]["m_content"].as_str().unwrap()).unwrap();
    assert_eq!(call["name"], "pay");
}

#[test]
fn messages_that_came_as_events_are_read_too() {
    let event = |name: &str, attributes: &[(&str, &str)]| OtlpEvent {
        name: name.into(),
        attributes: attributes
            .iter()
            .map(|(key, value)| pair(key, text(value)))
            .collect(),
        ..OtlpEvent::default()
    };
    let mut given = span(&[("gen_ai.operation.name", "chat")]);
    given.events = vec![
        event("gen_ai.system.message", &[("content", "Be brief")]),
        event("gen_ai.user.message", &[("content", "Hi")]),
        event("gen_ai.choice", &[("message", "Hello")]),
        event("cache hit", &[("key", "k")]),
    ];
    let read = one(given);
    assert_eq!(
        value(read.input.as_ref()),
        json!([{"content": "Be brief", "role": "system"}, {"content": "Hi", "role": "user"}])
    );
    assert!(
        read.output
            .as_ref()
            .is_some_and(|output| output.text().contains("Hello"))
    );
    let events = attributes(&read)["otel.events"].clone();
    assert_eq!(events.as_array().unwrap().len(), 1);
    assert_eq!(events[0]["name"], "cache hit");
}

#[test]
fn tokens_count_once_in_a_tree() {
    for (operation, counted) in [("chat", true), ("invoke_agent", false)] {
        for (input, output) in [
            ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
            (
                "gen_ai.usage.prompt_tokens",
                "gen_ai.usage.completion_tokens",
            ),
        ] {
            let mut given = span(&[("gen_ai.operation.name", operation)]);
            given.attributes.push(pair(input, whole(12)));
            given.attributes.push(pair(output, whole(3)));
            let read = one(given);
            let usage = read.usage.as_ref();
            assert_eq!(usage.is_some(), counted, "{operation}");
            if let Some(usage) = usage {
                assert_eq!(
                    (usage.input_tokens, usage.output_tokens),
                    (Some(12.0), Some(3.0))
                );
            }
            assert_eq!(attributes(&read)[input], 12);
        }
    }
}

#[test]
fn how_a_span_ended() {
    let ended = |code: StatusCode, error: Option<&str>| {
        let mut given = span(&[]);
        given.status = Some(Status {
            code: code as i32,
            message: "it broke".into(),
        });
        given
            .attributes
            .extend(error.map(|word| pair("error.type", text(word))));
        one(given)
    };
    assert_eq!(ended(StatusCode::Unset, None).status, Some(SpanStatus::Ok));
    assert_eq!(ended(StatusCode::Ok, None).error, None);
    for (error_type, status) in [
        (None, SpanStatus::Error),
        (Some("ValueError"), SpanStatus::Error),
        (Some("timeout"), SpanStatus::Timeout),
        (Some("asyncio.exceptions.TimeoutError"), SpanStatus::Timeout),
        (
            Some("asyncio.exceptions.CancelledError"),
            SpanStatus::Cancelled,
        ),
        (Some("denied"), SpanStatus::Error),
    ] {
        let read = ended(StatusCode::Error, error_type);
        assert_eq!(read.status, Some(status), "{error_type:?}");
        let error = read.error.unwrap();
        assert_eq!(error.message.as_deref(), Some("it broke"));
        assert_eq!(error.error_type.as_deref(), error_type);
    }
    let running = OtlpSpan {
        end_time_unix_nano: 0,
        ..span(&[])
    };
    let running = one(running);
    assert_eq!(
        (running.status, running.ended_at),
        (Some(SpanStatus::Running), None)
    );
}

#[test]
fn an_exception_tells_the_error_and_a_status_code_its_number() {
    let mut given = span(&[]);
    given
        .attributes
        .push(pair("http.response.status_code", whole(428)));
    given.status = Some(Status {
        code: StatusCode::Error as i32,
        ..Status::default()
    });
    given.events = vec![OtlpEvent {
        name: "exception".into(),
        attributes: vec![
            pair("exception.type", text("CredentialsMissing")),
            pair("exception.message", text("GITHUB_TOKEN")),
        ],
        ..OtlpEvent::default()
    }];
    let error = one(given).error.unwrap();
    assert_eq!(error.error_type.as_deref(), Some("CredentialsMissing"));
    assert_eq!(error.message.as_deref(), Some("GITHUB_TOKEN"));
    assert_eq!(error.code, Some(json!(428)));
}

#[test]
fn what_has_no_field_stays_among_the_attributes_with_marks_of_where_it_came_from() {
    let mut given = span(&[("my.own", "kept"), ("gen_ai.request.model", "m-1")]);
    given.kind = 3;
    given.links = vec![Link {
        trace_id: vec![1; 16],
        span_id: vec![2; 8],
        ..Link::default()
    }];
    given.dropped_events_count = 4;
    let kept = attributes(&one(given));
    assert_eq!(kept["my.own"], "kept");
    assert_eq!(kept["gen_ai.request.model"], "m-1");
    assert_eq!(kept["service.name"], "bot");
    assert_eq!(kept["otel.span.kind"], "client");
    assert_eq!(kept["otel.links"][0]["span_id"], "0202020202020202");
    assert_eq!(kept["otel.dropped_events_count"], 4);
    assert_eq!(kept["countersign.received_over"], "otlp");
    assert_eq!(kept["countersign.sender"], "unauthenticated");
}

#[test]
fn a_token_names_the_agent_whatever_the_service_calls_itself() {
    let agent: countersign_wire::AgentKey = "acme/billing-bot".parse().unwrap();
    let done = translate(
        &request("somebody else", vec![span(&[])]),
        &Sender::Agent(agent.clone()),
    );
    assert_eq!(done.events[0].agent, agent);
    assert_eq!(attributes(&read(&done)[0])["countersign.sender"], "token");
    let done = translate(&request("billing-bot", vec![span(&[])]), &anybody());
    let name = done.events[0].agent.to_string();
    assert!(name.starts_with("default/billing-bot-"), "{name}");
}

#[test]
fn times_are_cut_to_milliseconds_and_ids_are_hexadecimal() {
    let read = one(OtlpSpan {
        parent_span_id: vec![0, 0, 0, 0, 0, 0, 0, 1],
        start_time_unix_nano: START + 1_999_999,
        ..span(&[])
    });
    assert_eq!(
        read.started_at.unix_millis(),
        i64::try_from(START / 1_000_000).unwrap() + 1
    );
    assert_eq!(read.trace_id, "ab".repeat(16));
    assert_eq!(read.parent_span_id.as_deref(), Some("0000000000000001"));
}
