//! OTLP's JSON: the JSON mapping of proto3, but for ids, which are hexadecimal.
//!
//! Each span is read alone, so that one that cannot be read does not cost the others.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use countersign_wire::{json_value, read_json};
use data_encoding::HEXLOWER_PERMISSIVE;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::decode::Body;
use crate::translate::Refusal;

/// Some writers put it in front; RFC 8259 lets readers pass over it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow, default, rename = "resourceSpans", alias = "resource_spans")]
    groups: Option<Vec<Group<'a>>>,
}

#[derive(Deserialize)]
struct Group<'a> {
    #[serde(borrow, default)]
    resource: Option<&'a RawValue>,
    // The last two are the names before OTLP 0.15: without them such a batch would be lost without a word.
    #[serde(
        borrow,
        default,
        rename = "scopeSpans",
        alias = "scope_spans",
        alias = "instrumentationLibrarySpans",
        alias = "instrumentation_library_spans"
    )]
    scopes: Option<Vec<Scope<'a>>>,
}

#[derive(Deserialize)]
struct Scope<'a> {
    #[serde(
        borrow,
        default,
        alias = "instrumentationLibrary",
        alias = "instrumentation_library"
    )]
    scope: Option<&'a RawValue>,
    #[serde(borrow, default)]
    spans: Option<Vec<&'a RawValue>>,
}

/// The field that is not as it should be.
#[derive(Clone, Copy)]
struct Bad(&'static str);

/// Reads an export request; spans that cannot be read are counted.
pub(super) fn read(body: &[u8]) -> serde_json::Result<Body> {
    let text = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    let request: Request<'_> = read_json(text)?;
    let mut done = Body::default();
    for group in request.groups.into_iter().flatten() {
        let resource = message("resource", group.resource, resource);
        let mut scope_spans = Vec::new();
        for scope in group.scopes.into_iter().flatten() {
            let library = message("scope", scope.scope, library);
            let above = resource.as_ref().err().or(library.as_ref().err()).copied();
            let mut spans = Vec::new();
            for text in scope.spans.into_iter().flatten() {
                // Whose a span is must be known.
                match above.map_or_else(|| message("span", Some(text), span), Err) {
                    Ok(read) => spans.push(read.unwrap_or_default()),
                    Err(Bad(field)) => done.refuse(Refusal::Unreadable(field)),
                }
            }
            scope_spans.push(ScopeSpans {
                scope: library.ok().flatten(),
                spans,
                ..ScopeSpans::default()
            });
        }
        done.request.resource_spans.push(ResourceSpans {
            resource: resource.ok().flatten(),
            scope_spans,
            ..ResourceSpans::default()
        });
    }
    Ok(done)
}

/// A message from its text; none where it is absent or null.
fn message<T>(
    name: &'static str,
    text: Option<&RawValue>,
    read: fn(Fields<'_>) -> Result<T, Bad>,
) -> Result<Option<T>, Bad> {
    let Some(text) = text else { return Ok(None) };
    let value = json_value(text.get().as_bytes()).ok_or(Bad(name))?;
    Fields::of(&value, name).and_then(read).map(Some)
}

fn resource(from: Fields<'_>) -> Result<Resource, Bad> {
    Ok(Resource {
        attributes: from.list("attributes", pair)?,
        ..Resource::default()
    })
}

fn library(from: Fields<'_>) -> Result<InstrumentationScope, Bad> {
    Ok(InstrumentationScope {
        name: from.text("name")?,
        version: from.text("version")?,
        ..InstrumentationScope::default()
    })
}

fn span(from: Fields<'_>) -> Result<Span, Bad> {
    Ok(Span {
        trace_id: from.id("traceId"),
        span_id: from.id("spanId"),
        parent_span_id: from.id("parentSpanId"),
        name: from.text("name")?,
        kind: from.word("kind", |name| SpanKind::from_str_name(name).map(i32::from))?,
        start_time_unix_nano: from.whole("startTimeUnixNano")?,
        end_time_unix_nano: from.whole("endTimeUnixNano")?,
        attributes: from.list("attributes", pair)?,
        dropped_attributes_count: from.whole("droppedAttributesCount")?,
        events: from.list("events", event)?,
        dropped_events_count: from.whole("droppedEventsCount")?,
        links: from.list("links", link)?,
        dropped_links_count: from.whole("droppedLinksCount")?,
        status: match from.get("status") {
            Some(value) => Some(status(Fields::of(value, "status")?)?),
            None => None,
        },
        ..Span::default()
    })
}

fn status(from: Fields<'_>) -> Result<Status, Bad> {
    Ok(Status {
        message: from.text("message")?,
        code: from.word("code", |name| {
            StatusCode::from_str_name(name).map(i32::from)
        })?,
    })
}

fn event(value: &Value) -> Result<Event, Bad> {
    let from = Fields::of(value, "events")?;
    Ok(Event {
        time_unix_nano: from.whole("timeUnixNano")?,
        name: from.text("name")?,
        attributes: from.list("attributes", pair)?,
        ..Event::default()
    })
}

fn link(value: &Value) -> Result<Link, Bad> {
    let from = Fields::of(value, "links")?;
    Ok(Link {
        trace_id: from.id("traceId"),
        span_id: from.id("spanId"),
        attributes: from.list("attributes", pair)?,
        ..Link::default()
    })
}

fn pair(value: &Value) -> Result<KeyValue, Bad> {
    let from = Fields::of(value, "attributes")?;
    Ok(KeyValue {
        key: from.text("key")?,
        value: from.get("value").map(any).transpose()?,
        ..KeyValue::default()
    })
}

/// The recursion ends where that of the JSON reader ended.
fn any(value: &Value) -> Result<AnyValue, Bad> {
    let Some(fields) = Fields::of(value, "value")?.0 else {
        return Ok(AnyValue::default());
    };
    let mut found = None;
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let values = || Fields::of(value, "values");
        found = Some(match name.as_str() {
            "stringValue" | "string_value" => {
                Any::StringValue(value.as_str().ok_or(Bad("stringValue"))?.to_owned())
            }
            "boolValue" | "bool_value" => Any::BoolValue(value.as_bool().ok_or(Bad("boolValue"))?),
            "intValue" | "int_value" => {
                let number = integer(value).and_then(|number| i64::try_from(number).ok());
                Any::IntValue(number.ok_or(Bad("intValue"))?)
            }
            "doubleValue" | "double_value" => {
                Any::DoubleValue(double(value).ok_or(Bad("doubleValue"))?)
            }
            "bytesValue" | "bytes_value" => {
                Any::BytesValue(value.as_str().and_then(bytes).ok_or(Bad("bytesValue"))?)
            }
            "arrayValue" | "array_value" => Any::ArrayValue(ArrayValue {
                values: values()?.list("values", any)?,
            }),
            "kvlistValue" | "kvlist_value" => Any::KvlistValue(KeyValueList {
                values: values()?.list("values", pair)?,
            }),
            _ => continue,
        });
    }
    Ok(AnyValue { value: found })
}

/// A whole number, as number or text, with an exponent or without.
fn integer(value: &Value) -> Option<i128> {
    let exact = match value {
        Value::Number(number) => {
            (number.as_i64().map(i128::from)).or_else(|| number.as_u64().map(i128::from))
        }
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    exact.or_else(|| {
        let number = double(value).filter(|number| number.fract() == 0.0)?;
        // Saturates far outside of every field's range.
        #[allow(clippy::cast_possible_truncation)]
        Some(number as i128)
    })
}

/// A number, or a text of one: also `NaN`, `Infinity` and `-Infinity`.
fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Base64 of either alphabet, padded or not.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let plain = text.trim_end_matches('=').replace('-', "+");
    STANDARD_NO_PAD.decode(plain.replace('_', "/")).ok()
}

/// The fields of a message; null has none.
#[derive(Clone, Copy)]
struct Fields<'a>(Option<&'a Map<String, Value>>);

impl<'a> Fields<'a> {
    fn of(value: &'a Value, name: &'static str) -> Result<Self, Bad> {
        match value {
            Value::Null => Ok(Self(None)),
            Value::Object(fields) => Ok(Self(Some(fields))),
            _ => Err(Bad(name)),
        }
    }

    /// A field by its JSON name or the name in the schema, `traceId` or `trace_id`; null is absent.
    fn get(self, name: &'static str) -> Option<&'a Value> {
        let fields = self.0?;
        let found = fields.get(name).or_else(|| fields.get(&in_schema(name)));
        found.filter(|value| !value.is_null())
    }

    fn text(self, name: &'static str) -> Result<String, Bad> {
        match self.get(name) {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(Bad(name)),
        }
    }

    fn whole<T: Default + TryFrom<i128>>(self, name: &'static str) -> Result<T, Bad> {
        let Some(value) = self.get(name) else {
            return Ok(T::default());
        };
        let number = integer(value).and_then(|number| T::try_from(number).ok());
        number.ok_or(Bad(name))
    }

    /// A word of an enumeration, or its number.
    fn word(self, name: &'static str, number: fn(&str) -> Option<i32>) -> Result<i32, Bad> {
        match self.get(name) {
            Some(Value::String(word)) => number(word).ok_or(Bad(name)),
            _ => self.whole(name),
        }
    }

    /// An id in hexadecimal. What is none becomes one of no usable length, which translation refuses, or leaves out of
    /// the links.
    fn id(self, name: &'static str) -> Vec<u8> {
        let Some(value) = self.get(name) else {
            return Vec::new();
        };
        let hex = value.as_str().map(str::as_bytes);
        hex.and_then(|hex| HEXLOWER_PERMISSIVE.decode(hex).ok())
            .unwrap_or_else(|| vec![0])
    }

    fn list<T>(
        self,
        name: &'static str,
        read: fn(&Value) -> Result<T, Bad>,
    ) -> Result<Vec<T>, Bad> {
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => items.iter().map(read).collect(),
            Some(_) => Err(Bad(name)),
        }
    }
}

/// `trace_id` for `traceId`.
fn in_schema(name: &str) -> String {
    let mut plain = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            plain.push('_');
        }
        plain.push(letter.to_ascii_lowercase());
    }
    plain
}
