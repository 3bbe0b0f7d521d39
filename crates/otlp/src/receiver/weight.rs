//! How many messages a request holds, counted before it is decoded: two bytes of protobuf can become 300 of memory.
//!
//! It walks from field to field without recursion and reads no values.

use super::status::{Reason, Refused};

/// Messages (spans, attributes, values, …) that one request may hold.
pub(super) const MESSAGES_MAX: usize = 400_000;

/// A message of OTLP that may hold others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Request,
    ResourceSpans,
    /// A resource, an array or a list: field 1 repeats.
    Resource,
    Array,
    ScopeSpans,
    Scope,
    Span,
    Event,
    Link,
    Pair,
    Value,
    /// Holds nothing that repeats.
    Leaf,
}

/// What a length-delimited field of a message is; none for texts and bytes.
fn held(shape: Shape, field: u64) -> Option<Shape> {
    Some(match (shape, field) {
        (Shape::Request, 1) => Shape::ResourceSpans,
        (Shape::ResourceSpans, 1) => Shape::Resource,
        (Shape::ResourceSpans, 2) => Shape::ScopeSpans,
        (Shape::ScopeSpans, 1) => Shape::Scope,
        (Shape::ScopeSpans, 2) => Shape::Span,
        (Shape::Span, 9) | (Shape::Scope | Shape::Event, 3) | (Shape::Link, 4) => Shape::Pair,
        (Shape::Span, 11) => Shape::Event,
        (Shape::Span, 13) => Shape::Link,
        (Shape::Span, 15) | (Shape::Resource, 3) => Shape::Leaf,
        (Shape::Resource, 1) => Shape::Pair,
        (Shape::Array, 1) => Shape::Value,
        (Shape::Pair, 2) => Shape::Value,
        (Shape::Value, 5) => Shape::Array,
        // A list of pairs is shaped as a resource is.
        (Shape::Value, 6) => Shape::Resource,
        _ => return None,
    })
}

/// Refuses a request of too many messages, or one that is not protobuf.
pub(super) fn check_protobuf(bytes: &[u8]) -> Result<(), Refused> {
    let mut open: Vec<(Shape, &[u8])> = vec![(Shape::Request, bytes)];
    let mut messages = 0_usize;
    while let Some((shape, mut rest)) = open.pop() {
        while !rest.is_empty() {
            let Some(field) = field(rest) else {
                return Err(Refused::new(
                    Reason::Invalid,
                    "the body is not an ExportTraceServiceRequest in protobuf",
                ));
            };
            rest = field.rest;
            let content = field.content;
            let inner = content.and_then(|content| Some((held(shape, field.number)?, content)));
            let Some(inner) = inner else { continue };
            messages += 1;
            if messages > MESSAGES_MAX {
                return Err(too_many());
            }
            open.push(inner);
        }
    }
    Ok(())
}

/// The same for JSON, by its objects.
pub(super) fn check_json(bytes: &[u8]) -> Result<(), Refused> {
    let objects = bytes.iter().filter(|byte| **byte == b'{').count();
    // Three objects make an attribute, two of them its value.
    if objects > MESSAGES_MAX {
        return Err(too_many());
    }
    Ok(())
}

fn too_many() -> Refused {
    Refused::new(
        Reason::TooLarge,
        format!(
            "more than {MESSAGES_MAX} spans, attributes and values in one request; send smaller batches"
        ),
    )
}

/// The first field of a message.
struct Field<'a> {
    number: u64,
    /// Where it is length-delimited.
    content: Option<&'a [u8]>,
    /// What follows it.
    rest: &'a [u8],
}

fn field(bytes: &[u8]) -> Option<Field<'_>> {
    let (key, rest) = varint(bytes)?;
    let (content, rest) = match key & 7 {
        0 => (None, varint(rest)?.1),
        1 => (None, rest.get(8..)?),
        5 => (None, rest.get(4..)?),
        2 => {
            let (length, rest) = varint(rest)?;
            let length = usize::try_from(length).ok()?;
            (Some(rest.get(..length)?), rest.get(length..)?)
        }
        _ => return None,
    };
    Some(Field {
        number: key >> 3,
        content,
        rest,
    })
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(u32::try_from(at).ok()? * 7)?;
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}
