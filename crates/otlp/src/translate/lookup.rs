//! Attributes by name, as instrumentations write them.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;

/// The attributes of one thing; of two with one name the first counts.
#[derive(Clone, Copy)]
pub(super) struct Attributes<'a>(pub(super) &'a [KeyValue]);

impl<'a> Attributes<'a> {
    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        let found = self.0.iter().find(|pair| pair.key == name)?;
        found.value.as_ref()?.value.as_ref()
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
            // Above 2^53 a count of tokens is no count any more; what is lost then is lost.
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
