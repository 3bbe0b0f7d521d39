//! JSON values from bytes that nobody has looked at.
//!
//! The keys by which serde_json marks values for itself are rejected. It reads an object with the key
//! `$serde_json::private::RawValue` as the JSON inside that key's text: another value than every other reader sees, and
//! nested without an end, which is the end of the stack and of the process.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::scan;

/// How the keys begin that are serde_json's own.
pub(super) const PRIVATE: &str = "$serde_json::private::";

/// A value in which every key is what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedValue(pub Value);

/// The value of a JSON text from elsewhere; `None` where it is none, or has a key that is serde_json's own.
pub fn json_value(text: &[u8]) -> Option<Value> {
    serde_json::from_slice(text)
        .ok()
        .map(|CheckedValue(value)| value)
}

/// The same where every reader takes the text for the same value: without equal keys, numbers that a double does not
/// hold, and halves of surrogate pairs. Only such a text has a canonical form.
pub fn certain_value(text: &[u8]) -> Option<Value> {
    scan(text, usize::MAX, &[]).ok()?;
    json_value(text)
}

/// The fields of an object as certain as that, but for the values of its `exempt` keys, which are JSON only. The error
/// says what is wrong, and where.
pub fn certain_fields(text: &[u8], exempt: &[&str]) -> Result<Map<String, Value>, String> {
    scan(text, usize::MAX, exempt).map_err(|fault| fault.detail)?;
    let fields: Fields = serde_json::from_slice(text).map_err(|_| "no JSON object".to_owned())?;
    let read = |(name, raw): (String, Box<RawValue>)| match json_value(raw.get().as_bytes()) {
        Some(value) => Ok((name, value)),
        // Cut within a letter, or larger than any number: nobody reads it.
        None if exempt.contains(&name.as_str()) => Ok((name, Value::Object(Map::new()))),
        None => Err("no JSON object".to_owned()),
    };
    fields.0.into_iter().map(read).collect()
}

/// The members of an object in their order.
struct Fields(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(Members)
    }
}

/// Whether the text is JSON with a key that is serde_json's own.
pub(crate) fn has_private_key(text: &[u8]) -> bool {
    json_value(text).is_none() && serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

impl<'de> Deserialize<'de> for CheckedValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any).map(Self)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(CheckedValue(item)) = from.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = from.next_key::<String>()? {
            if name.starts_with(PRIVATE) {
                return Err(A::Error::custom("a key that is serde_json's own"));
            }
            let CheckedValue(value) = from.next_value()?;
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
}
