//! What OpenTelemetry's Python SDK and pydantic-ai have really sent, whole, cut short and damaged.

use countersign_wire::SpanKind;
use prost::Message as _;

use super::*;

/// As the SDK's own encoder wrote them.
const CORPUS: [(&str, &[u8]); 3] = [
    (
        "pydantic-ai 2.68, format 2",
        include_bytes!("../../../corpus/pydantic-ai-2.68-format-2.pb"),
    ),
    (
        "pydantic-ai 2.68, format 5",
        include_bytes!("../../../corpus/pydantic-ai-2.68-format-5.pb"),
    ),
    ("SDK 1.45", include_bytes!("../../../corpus/sdk-1.45.pb")),
];

fn translated(bytes: &[u8]) -> Option<Vec<Span>> {
    let request = ExportTraceServiceRequest::decode(bytes).ok()?;
    Some(read(&translate(&request, &anybody())))
}

#[test]
fn every_span_of_the_corpus_is_taken_and_its_tools_are_known() {
    for (name, bytes) in CORPUS {
        let spans = translated(bytes).unwrap();
        let tools: Vec<_> = spans
            .iter()
            .filter(|span| span.kind == SpanKind::Tool)
            .map(|span| span.tool_name.as_deref().unwrap())
            .collect();
        assert_eq!(tools.len(), 1, "{name}");
        assert!(
            spans.iter().any(|span| span.kind == SpanKind::Llm),
            "{name}"
        );
        let ended = spans.iter().all(|span| span.ended_at.is_some());
        assert!(ended, "{name}");
    }
}

#[test]
fn a_damaged_request_is_read_or_refused_and_what_is_read_is_sound() {
    for (_, bytes) in CORPUS {
        let mut damaged = bytes.to_vec();
        for at in (0..bytes.len()).step_by(31) {
            translated(&bytes[..at]);
            for byte in [0x00, 0x7f, 0xff, bytes[at] ^ 1] {
                damaged[at] = byte;
                translated(&damaged);
            }
            damaged[at] = bytes[at];
        }
    }
}
