//! Fields of an object, taken out one at a time.
//!
//! A field of the wrong type is rejected with its name; what is never taken stays, so that unknown fields are kept.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, MapAccess, Visitor},
};
use serde_json::{Map, Value};

use super::{CheckedValue, KeptJson, read_json, scan};
use crate::{
    rejection::{RejectionCode, WireError},
    request::FREE_FIELDS,
};

/// Fields that a request has, about.
const USUAL: usize = 24;

/// An object that is being read. `path` names it in errors, `""` for the root.
pub(crate) struct Fields {
    /// In their order, none where the value was taken. Messages have few: a look at each is quicker than a hash.
    fields: Vec<(String, Option<Value>)>,
    kept: Vec<(String, KeptJson)>,
    path: &'static str,
}

impl Fields {
    pub(crate) fn new(map: Map<String, Value>, path: &'static str) -> Self {
        Self {
            fields: map
                .into_iter()
                .map(|(name, value)| (name, Some(value)))
                .collect(),
            kept: Vec::new(),
            path,
        }
    }

    /// Reads the root of a scanned message. The values of `metadata` and
    /// `native` are not interpreted.
    pub(crate) fn of_request(payload: &[u8]) -> Result<Self, WireError> {
        if payload.trim_ascii_start().first() != Some(&b'{') {
            return Err(WireError::new(
                RejectionCode::WrongType,
                "the message is not an object",
            ));
        }
        serde_json::from_slice(payload)
            .map_err(|_| WireError::new(RejectionCode::NotJson, "not readable JSON"))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.peek(name).is_some() || self.kept.iter().any(|(key, _)| key == name)
    }

    /// The first of these names which is absent is a fault.
    pub(crate) fn require(&self, names: &[&str]) -> Result<(), WireError> {
        names
            .iter()
            .find(|name| !self.has(name))
            .map_or(Ok(()), |name| {
                Err(WireError::new(RejectionCode::MissingField, self.name(name)))
            })
    }

    /// Looks at a value without taking it.
    pub(crate) fn peek(&self, name: &str) -> Option<&Value> {
        let found = self.fields.iter().find(|(known, _)| known == name);
        found.and_then(|(_, value)| value.as_ref())
    }

    /// Takes a value, null included.
    pub(crate) fn any(&mut self, name: &str) -> Option<Value> {
        let found = self.fields.iter_mut().find(|(known, _)| known == name);
        found.and_then(|(_, value)| value.take())
    }

    /// Takes an optional field, null being absent.
    pub(crate) fn optional(&mut self, name: &str) -> Option<Value> {
        self.any(name).filter(|value| !value.is_null())
    }

    pub(crate) fn kept(&mut self, name: &str) -> Result<Option<KeptJson>, WireError> {
        let Some(index) = self.kept.iter().position(|(key, _)| key == name) else {
            return Ok(None);
        };
        let (_, kept) = self.kept.swap_remove(index);
        match kept {
            kept if kept.is_null() => Ok(None),
            kept if kept.is_object() => Ok(Some(kept)),
            _ => Err(self.wrong(name, "an object")),
        }
    }

    pub(crate) fn opt_string(&mut self, name: &str) -> Result<Option<String>, WireError> {
        match self.optional(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(name, "a string")),
        }
    }

    pub(crate) fn string(&mut self, name: &str) -> Result<String, WireError> {
        self.require(&[name])?;
        self.opt_string(name)?
            .ok_or_else(|| self.wrong(name, "a string"))
    }

    pub(crate) fn opt_bool(&mut self, name: &str) -> Result<Option<bool>, WireError> {
        match self.optional(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(_) => Err(self.wrong(name, "true or false")),
        }
    }

    pub(crate) fn opt_count(&mut self, name: &str) -> Result<Option<u64>, WireError> {
        match self.optional(name) {
            None => Ok(None),
            Some(value) => value
                .as_u64()
                .map(Some)
                .ok_or_else(|| self.wrong(name, "a whole number from 0")),
        }
    }

    pub(crate) fn opt_schema(&mut self, name: &str) -> Result<Option<Value>, WireError> {
        match self.optional(name) {
            None => Ok(None),
            Some(schema @ (Value::Object(_) | Value::Bool(_))) => Ok(Some(schema)),
            Some(_) => Err(self.wrong(name, "a JSON Schema")),
        }
    }

    pub(crate) fn opt_object(&mut self, name: &'static str) -> Result<Option<Self>, WireError> {
        match self.optional(name) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Self::new(map, name))),
            Some(_) => Err(self.wrong(name, "an object")),
        }
    }

    pub(crate) fn object(&mut self, name: &'static str) -> Result<Self, WireError> {
        self.require(&[name])?;
        self.opt_object(name)?
            .ok_or_else(|| self.wrong(name, "an object"))
    }

    pub(crate) fn opt_list(&mut self, name: &str) -> Result<Option<Vec<Value>>, WireError> {
        match self.optional(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(self.wrong(name, "a list")),
        }
    }

    /// A list of objects, each with its own fields.
    pub(crate) fn opt_objects(
        &mut self,
        name: &'static str,
    ) -> Result<Option<Vec<Self>>, WireError> {
        let Some(items) = self.opt_list(name)? else {
            return Ok(None);
        };
        let object = |item| match item {
            Value::Object(map) => Ok(Self::new(map, name)),
            _ => Err(self.wrong(name, "a list of objects")),
        };
        items
            .into_iter()
            .map(object)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    pub(crate) fn opt_strings(&mut self, name: &str) -> Result<Option<Vec<String>>, WireError> {
        let Some(items) = self.opt_list(name)? else {
            return Ok(None);
        };
        let string = |item| match item {
            Value::String(text) => Ok(text),
            _ => Err(self.wrong(name, "a list of strings")),
        };
        items
            .into_iter()
            .map(string)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    pub(crate) fn wrong(&self, name: &str, what: &str) -> WireError {
        WireError::new(
            RejectionCode::WrongType,
            format!("{} is not {what}", self.name(name)),
        )
    }

    /// What was not taken.
    pub(crate) fn rest(self) -> Map<String, Value> {
        let rest = self.fields.into_iter();
        rest.filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    fn has_twice(&self) -> bool {
        let kept = self.kept.iter().map(|(name, _)| name);
        let mut names: Vec<&String> = self.fields.iter().map(|(name, _)| name).collect();
        names.extend(kept);
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    }

    fn name(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Root;

        impl<'de> Visitor<'de> for Root {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Fields, A::Error> {
                let mut fields = Fields::new(Map::new(), "");
                fields.fields.reserve(USUAL);
                while let Some(name) = from.next_key::<String>()? {
                    if FREE_FIELDS.contains(&name.as_str()) {
                        fields.kept.push((name, from.next_value()?));
                    } else {
                        let CheckedValue(value) = from.next_value()?;
                        fields.fields.push((name, Some(value)));
                    }
                }
                if fields.has_twice() {
                    return Err(A::Error::custom("a key is there twice"));
                }
                Ok(fields)
            }
        }

        from.deserialize_map(Root)
    }
}

/// Scans a message and reads it as a `T`; for messages other than requests, whose faults need only a rough distinction.
pub(crate) fn parse_document<T: DeserializeOwned>(
    payload: &[u8],
    max_bytes: usize,
    exempt: &[&str],
) -> Result<T, WireError> {
    scan(payload, max_bytes, exempt)?;
    read_json(payload).map_err(|error| {
        // The text of a serde error can repeat a value; only its place is shown.
        let place = format!("does not fit the protocol at column {}", error.column());
        WireError::new(RejectionCode::WrongType, place)
    })
}
