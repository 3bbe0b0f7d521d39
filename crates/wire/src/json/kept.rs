//! JSON that is kept without being interpreted.
//!
//! It takes everything that JSON can write: lone surrogates, duplicate keys and huge numbers stay as they came, as
//! text.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::json_value;

/// The text of a JSON value, as received.
#[derive(Clone)]
pub struct KeptJson(Box<RawValue>);

impl KeptJson {
    /// Keeps a value of our own.
    pub fn of<T: Serialize>(value: &T) -> serde_json::Result<Self> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// Keeps a text, which must be JSON.
    pub fn from_text(text: impl Into<String>) -> serde_json::Result<Self> {
        RawValue::from_string(text.into()).map(Self)
    }

    /// The JSON text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// The value, for display; `None` when no value can hold it (a lone surrogate, `1e400`) or [`json_value`] refuses it.
    pub fn value(&self) -> Option<serde_json::Value> {
        json_value(self.0.get().as_bytes())
    }

    pub(crate) fn is_object(&self) -> bool {
        self.0.get().starts_with('{')
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0.get() == "null"
    }
}

impl PartialEq for KeptJson {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl fmt::Debug for KeptJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeptJson({} bytes)", self.text().len())
    }
}

impl Serialize for KeptJson {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for KeptJson {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(from).map(Self)
    }
}

impl schemars::JsonSchema for KeptJson {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "KeptJson".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "description": "Any JSON, kept as text and never interpreted" })
    }
}
