//! What is counted before anything is decoded.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use prost::Message as _;

use super::super::status::Reason;
use super::super::weight::{MESSAGES_MAX, check_protobuf};
use super::*;

#[test]
fn two_bytes_that_become_much_memory_are_counted_wherever_they_stand() {
    let many = MESSAGES_MAX + 1;
    let mut spans = request(0);
    spans.resource_spans[0].scope_spans[0].spans = vec![Span::default(); many];
    let mut attributes = request(1);
    attributes.resource_spans[0].scope_spans[0].spans[0].attributes =
        vec![KeyValue::default(); many];
    let mut values = request(1);
    let array = Value::ArrayValue(ArrayValue {
        values: vec![AnyValue::default(); many],
    });
    values.resource_spans[0].scope_spans[0].spans[0].attributes = vec![KeyValue {
        value: Some(AnyValue { value: Some(array) }),
        ..KeyValue::default()
    }];
    for request in [spans, attributes, values] {
        let bytes = request.encode_to_vec();
        assert!(bytes.len() < BODY_MAX);
        assert_eq!(check_protobuf(&bytes).unwrap_err().reason, Reason::TooLarge);
    }
    assert_eq!(check_protobuf(&request(10_000).encode_to_vec()), Ok(()));
}

#[test]
fn bytes_that_are_no_protobuf_are_refused() {
    for bytes in [&[0x0a][..], &[0x0a, 5, 1], &[0xff; 12], &[0x0f], &[0x09, 1]] {
        assert_eq!(
            check_protobuf(bytes).unwrap_err().reason,
            Reason::Invalid,
            "{bytes:?}"
        );
    }
}
