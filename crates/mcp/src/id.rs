//! Ids of JSON-RPC requests.

use std::fmt;

use serde_json::Value;

/// A text or a whole number: `1` and `"1"` are two ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Id {
    Number(i64),
    Text(String),
}

impl Id {
    /// None for everything that MCP allows for no id.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => number.as_i64().map(Self::Number),
            Value::String(text) => Some(Self::Text(text.clone())),
            _ => None,
        }
    }

    /// The same id as the other JSON type.
    pub(crate) fn other(&self) -> Option<Self> {
        match self {
            Self::Number(number) => Some(Self::Text(number.to_string())),
            Self::Text(text) => text.parse().ok().map(Self::Number),
        }
    }

    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Number(number) => Value::from(*number),
            Self::Text(text) => Value::from(text.as_str()),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}
