//! A request as any reader of JSON can hold it.
//!
//! A request stays readable although `metadata` or `native`, which nobody interprets, hold what no value can: half of a
//! surrogate pair, or `1e999` (protocol, section 2).

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value;

use super::{KeptJson, json_value};
use crate::request::FREE_FIELDS;

/// A request's payload with a `metadata` or `native` that no value can hold as text; every other field is as
/// received. `None` where another field cannot be held either.
pub fn readable_request(payload: &[u8]) -> Option<KeptJson> {
    let Root(mut fields) = serde_json::from_slice(payload).ok()?;
    for (name, kept) in &mut fields {
        if FREE_FIELDS.contains(&name.as_str()) && kept.value().is_none() {
            *kept = KeptJson::of(&kept.text()).ok()?;
        }
    }
    let text = serde_json::to_string(&Root(fields)).ok()?;
    let kept = KeptJson::from_text(text).ok()?;
    kept.value().is_some().then_some(kept)
}

/// The fields of a request's payload, for what looks at a few of them.
pub fn request_fields(payload: &[u8]) -> Option<Value> {
    json_value(payload).or_else(|| readable_request(payload)?.value())
}

/// The fields of an object, in their order.
struct Root(Vec<(String, KeptJson)>);

impl Serialize for Root {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, kept)| (name, kept)))
    }
}

impl<'de> Deserialize<'de> for Root {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Root;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Root, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = from.next_entry()? {
                    fields.push(field);
                }
                Ok(Root(fields))
            }
        }

        from.deserialize_map(Fields)
    }
}
