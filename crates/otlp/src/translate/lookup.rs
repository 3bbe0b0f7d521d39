//! Attributes by name, as instrumentations write them.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;

/// The event in which the conventions let a span say what it could say in its own attributes.
pub(super) const DETAILS: &str = "gen_ai.client.inference.operation.details";

/// The attributes of one thing; of two with one name the first counts.
#[derive(Clone, Copy)]
pub(super) struct Attributes<'a> {
    own: &'a [KeyValue],
    details: &'a [KeyValue],
}

impl<'a> Attributes<'a> {
    pub(super) fn of(own: &'a [KeyValue]) -> Self {
        Self { own, details: &[] }
    }

    /// Those of a span and, after them, of its event [`DETAILS`].
    pub(super) fn of_span(span: &'a Span) -> Self {
        let details = span.events.iter().find(|event| event.name == DETAILS);
        Self {
            own: &span.attributes,
            details: details.map_or(&[], |event| &event.attributes),
        }
    }

    /// Every name with its value.
    pub(super) fn all(self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let pairs = self.own.iter().chain(self.details);
        pairs.filter_map(|pair| Some((&*pair.key, said(pair)?)))
    }

    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        let mut pairs = self.own.iter().chain(self.details);
        let found = pairs.find(|pair| pair.key == name)?;
        said(found)
    }

    /// What the AI SDK of Vercel does; before its version 4 a name of the caller's followed it.
    pub(super) fn vercel_operation(self) -> Option<&'a str> {
        let word = self.first_text(&["ai.operationId", "operation.name"])?;
        let word = word.split(' ').next()?;
        word.starts_with("ai.").then_some(word)
    }

    /// Whether this is a function that Logfire saw the OpenAI Agents SDK call: name, input and output have plain names.
    pub(super) fn is_logfire_function(self) -> bool {
        self.text("logfire.msg_template") == Some("Function: {name}")
    }

    pub(super) fn has(self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        match self.get(name)? {
            Value::StringValue(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The first of these names that holds a text.
    pub(super) fn first_text(self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| self.text(name))
    }

    pub(super) fn whole(self, name: &str) -> Option<i64> {
        match self.get(name)? {
            Value::IntValue(number) => Some(*number),
            _ => None,
        }
    }

    /// A quantity: finite and not below zero.
    pub(super) fn quantity(self, name: &str) -> Option<f64> {
        let number = match self.get(name)? {
            // Above 2^53 a count of tokens is meaningless; the loss does not matter.
            #[allow(clippy::cast_precision_loss)]
            Value::IntValue(number) => *number as f64,
            Value::DoubleValue(number) => *number,
            _ => return None,
        };
        (number.is_finite() && number >= 0.0).then_some(number)
    }

    /// The first of these names that holds a quantity.
    pub(super) fn first_quantity(self, names: &[&str]) -> Option<f64> {
        names.iter().find_map(|name| self.quantity(name))
    }
}

/// The value of a pair. An index into a table of strings, which only profiles have, says nothing: JSON has no word for it.
fn said(pair: &KeyValue) -> Option<&Value> {
    let value = pair.value.as_ref()?.value.as_ref()?;
    (!matches!(value, Value::StringValueStrindex(_))).then_some(value)
}
