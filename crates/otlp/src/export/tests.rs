#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use super::*;

fn answered() -> Answered {
    Answered {
        workspace: "acme".into(),
        agent: "billing-bot".into(),
        request_id: "r1".into(),
        tool: Some("delete_invoice".into()),
        risk: "high".into(),
        trace_id: Some("0af7651916cd43dd8448eb211c80319c".into()),
        parent_span_id: Some("b7ad6b7169203331".into()),
        call_id: Some("call_93".into()),
        request_digest: "sha256:aa".into(),
        args_digest: Some("sha256:bb".into()),
        decision_id: Some("d1".into()),
        verdict: "approve".into(),
        origin: Some("operator".into()),
        decider: Some(Decider {
            name: "Ada".into(),
            key: "UABC".into(),
        }),
        rule: None,
        stored_at: 1_800_000_000_000,
        answered_at: 1_800_000_004_250,
    }
}

fn one(answered: &Answered) -> Span {
    let request = approval_spans("console", "1", std::slice::from_ref(answered));
    request.resource_spans[0].scope_spans[0].spans[0].clone()
}

fn value(span: &Span, name: &str) -> Option<String> {
    let pair = span.attributes.iter().find(|pair| pair.key == name)?;
    match pair.value.as_ref()?.value.as_ref()? {
        Any::StringValue(text) => Some(text.clone()),
        Any::IntValue(number) => Some(number.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_answer_is_a_child_of_the_span_that_asked() {
    let span = one(&answered());
    assert_eq!(span.trace_id[..2], [0x0a, 0xf7]);
    assert_eq!(
        span.parent_span_id,
        [0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31]
    );
    assert_eq!(span.name, "approval delete_invoice");
    assert_eq!(
        span.end_time_unix_nano - span.start_time_unix_nano,
        4_250_000_000
    );
    for (name, text) in [
        ("countersign.verdict", "approve"),
        ("countersign.origin", "operator"),
        ("countersign.operator.name", "Ada"),
        ("countersign.operator.key", "UABC"),
        ("countersign.request.risk", "high"),
        ("countersign.request.digest", "sha256:aa"),
        ("countersign.args.digest", "sha256:bb"),
        ("gen_ai.tool.call.id", "call_93"),
        ("countersign.waited_ms", "4250"),
    ] {
        assert_eq!(value(&span, name).as_deref(), Some(text), "{name}");
    }
}

#[test]
fn a_request_without_a_usable_trace_gets_one_of_its_own_that_is_the_same_each_time() {
    for (trace, parent) in [
        (None, None),
        (
            Some("00000000000000000000000000000000"),
            Some("b7ad6b7169203331"),
        ),
        (Some("é"), Some("b7ad6b7169203331")),
        (
            Some("0af7651916cd43dd8448eb211c80319"),
            Some("b7ad6b7169203331"),
        ),
    ] {
        let asked = Answered {
            trace_id: trace.map(str::to_owned),
            parent_span_id: parent.map(str::to_owned),
            ..answered()
        };
        let span = one(&asked);
        assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
        assert_eq!(span.parent_span_id, [0_u8; 0]);
        assert_eq!(span, one(&asked));
        let other = Answered {
            request_id: "r2".into(),
            ..asked
        };
        assert_ne!(one(&other).span_id, span.span_id);
    }
}

#[test]
fn what_nobody_answered_is_an_error_and_a_denial_is_none() {
    for (verdict, code) in [
        ("approve", 0),
        ("deny", 0),
        ("withdrawn", 0),
        ("expired", 2),
        ("rejected", 2),
    ] {
        let span = one(&Answered {
            verdict: verdict.into(),
            ..answered()
        });
        assert_eq!(span.status.unwrap().code, code, "{verdict}");
    }
}

#[test]
fn names_of_any_length_and_clocks_that_run_backwards_are_bounded() {
    let span = one(&Answered {
        tool: Some("x".repeat(1 << 20)),
        call_id: Some("y".repeat(1 << 20)),
        answered_at: 0,
        ..answered()
    });
    assert_eq!(span.end_time_unix_nano, span.start_time_unix_nano);
    assert!(span.encode_to_vec().len() < 4_096);
}

#[tokio::test]
async fn a_header_that_cannot_be_sent_is_refused_without_showing_it() {
    let destination = |name: &str, value: &str| Destination {
        endpoint: "http://127.0.0.1:4317".into(),
        headers: vec![Header {
            name: name.into(),
            value: value.into(),
        }],
    };
    assert!(Collector::new(&destination("X-Api-Key", "secret")).is_ok());
    for (name, value) in [("x api key", "secret"), ("x-api-key", "secret\nx: y")] {
        let refused = Collector::new(&destination(name, value)).unwrap_err();
        assert!(!refused.to_string().contains("secret"));
    }
    let shown = format!("{:?}", destination("x-api-key", "secret"));
    assert!(!shown.contains("secret"), "{shown}");
}
